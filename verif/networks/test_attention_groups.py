"""Onnxruntime's attention of groups between quantisers: scores of codes are products."""

from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.attention import attention
from verif.networks.attending import ROWS, grouped
from verif.networks.test_attention import CAUSAL, check


@pytest.mark.parametrize(
    ("values", "how"),
    [
        ({}, {}),
        ({"local_window_size": 2}, {"seen": CAUSAL & ~np.tri(ROWS, k=-2, dtype=bool)}),
        ({"softcap": 0.5, "scale": 0.7}, {"cap": 0.5, "scale": 0.7}),
        ({"scale": 0.002}, {"scale": 0.002}),
        ({"scale": 0.0, "smooth_softmax": -1, "rotary_interleaved": 1}, {}),
    ],
)
def test_groups(values: dict[str, Any], how: dict[str, Any]) -> None:
    """They are causal; windows, caps and scales are onnxruntime's."""
    check(grouped(**values), ["a/scores"], **{"seen": CAUSAL, **how})


@pytest.mark.parametrize(
    "values",
    [
        {"less": 1},
        {"sink": True},
        {"smooth_softmax": 1},
        {"qk_output": 1},
        {"scale": -1.0},
        {"outputs": ["y", "key", "value"]},
    ],
)
def test_others_stay_on_the_host(values: dict[str, Any]) -> None:
    model = grouped(**values).model()
    if "outputs" in values:
        model.graph.output.add(name="key")
    graph = Graph(model)
    assert attention(graph) is graph
