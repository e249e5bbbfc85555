"""Which way of attention is taken, and what each refuses by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.heads import HOST, ONE_PASS, ROWS
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.program.head_ways import AUTO, HeadWays, sentences
from verif.networks.attending import Coded
from verif.networks.attention_ways import target


def whole() -> Coded:
    """Return a model without a mask."""
    return Coded(kind=np.int8).add("Attention", q_num_heads=2, kv_num_heads=2)


def causal() -> Coded:
    """Return a model with a mask."""
    return Coded().add("Attention", q_num_heads=2, kv_num_heads=2, is_causal=1)


def _chosen(coded: Coded, way: str, **given: Any) -> HeadWays:
    on = target(**given)
    ways = HeadWays(on, way)
    lower(Graph(coded.model()), on, attention=ways)
    return ways


def test_fewer_cycles_are_chosen() -> None:
    """Where the co-processor has shares; else the rest of attention is in floats, as before."""
    coded = whole()
    (one,) = _chosen(coded, AUTO).facts()
    assert one["way"] == min(one["cycles"], key=one["cycles"].get)
    (text,) = sentences([one])
    assert text.startswith(f"attention 'a': {one['way']}; one-pass takes ")
    alone = {"operations": "add,exps,divide"}
    (one,) = _chosen(coded, AUTO, unit=alone).facts()
    assert one["way"] == ONE_PASS
    assert "softmax and scale" in one["reasons"][ROWS]
    (one,) = _chosen(coded, AUTO, shares="false").facts()
    assert (one["way"], one["cycles"]) == (HOST, {})
    assert not [*sentences([one])]
    (one,) = _chosen(coded, HOST).facts()
    assert one["way"] == HOST


REFUSED: dict[str, tuple[str, dict[str, Any], Callable[[], Coded]]] = {
    "softcap must be 0, not 50": (
        ONE_PASS,
        {},
        lambda: Coded().add("Attention", q_num_heads=2, kv_num_heads=2, softcap=50.0),
    ),
    "the co-processor must have exps and divide": (
        ONE_PASS,
        {"unit": {"operations": "softmax,add,scale"}, "shares": "false"},
        whole,
    ),
    "a mask takes add": (
        ONE_PASS,
        {"unit": {"operations": "exps,divide"}},
        causal,
    ),
    "the vector unit must be signed": (
        ROWS,
        {"unit": {"signed": "false"}, "shares": "false"},
        whole,
    ),
    "must have a vector unit": (
        ROWS,
        {"vector": "none", "shares": "false"},
        whole,
    ),
    "zero points of keys must bring scores by 64 at most": (
        ONE_PASS,
        {},
        lambda: Coded().add("Attention", q_num_heads=2, kv_num_heads=2, scale=100.0),
    ),
    "LONG_ROW": (
        ROWS,
        {"unit": {"length": "4", "block": "4"}},
        whole,
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_is_refused_by_name(text: str) -> None:
    """If it is asked for; else the host has it, as before."""
    way, given, make = REFUSED[text]
    with pytest.raises(ValueError, match=f"'a': attention cannot be {way}.*{text}"):
        _chosen(make(), way, **given)
    (one,) = _chosen(make(), AUTO, **given).facts()
    assert one["way"] != way
