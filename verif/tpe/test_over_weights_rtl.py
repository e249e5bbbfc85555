"""The Verilog of the engine with tables over weights against golden, on Verilator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.sim.runner import verify
from golden.lut.over_weights import over_weights
from golden.tpe import over_weights as engine
from golden.tpe.over_weights import OverWeightsEngineSpec
from hw.catalog import Design
from hw.tpe.over_weights import OverWeights
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    {"m": 3, "n": 3, "group": 3, "a_width": 4, "b_width": 5, "k_max": 50, "reuse": 2},
    {"k_max": 1000},
    {"m": 1, "n": 1, "group": 1, "a_width": 2, "b_width": 2, "k_max": 1, "reuse": 0},
    {"m": 2, "n": 2, "group": 4, "a_signed": False, "a_width": 3, "k_max": 41, "reuse": 16},
    {"m": 5, "n": 2, "group": 2, "b_signed": False, "k_max": 300, "reuse": 1},
    {
        "m": 4,
        "n": 3,
        "group": 5,
        "a_signed": False,
        "b_signed": False,
        "a_width": 4,
        "b_width": 3,
        "k_max": 60,
        "reuse": 8,
        "adder": "ripple",
    },
    {"m": 4, "n": 1, "group": 6, "a_width": 16, "b_width": 16, "k_max": 2000, "reuse": 64},
    {"m": 5, "n": 4, "group": 1, "a_width": 5, "k_max": 30, "reuse": 2, "adder": "operator"},
]


@pytest.mark.parametrize("parameters", long(CASES, *range(1, len(CASES))), ids=case_name)
def test_over_weights_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("over_weights", parameters), directory=tmp_path)
    assert result.ok, result


def test_over_weights_engine_equals_its_tables() -> None:
    spec = OverWeightsEngineSpec(m=5, n=3, group=3, k_max=40, reuse=4)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (5, 32)), rng.integers(-128, 128, (32, 3))
    sums, reads = over_weights(spec.tables, a, b)
    assert np.array_equal(engine.over_weights(spec, a, b), sums)
    assert engine.reads(spec, [(a, b), (a[:, :3], b[:3])]) > reads


def test_over_weights_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be an OverWeightsEngineSpec, not 8"):
        OverWeights(8)  # type: ignore[arg-type]


def test_over_weights_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="reuse must be 0 or a power of two up to 16, not 3"):
        Design("over_weights", {"reuse": 3})
    with pytest.raises(ValueError, match=r"group must be 1\.\.6 weights, not 7"):
        Design("over_weights", {"group": 7})
