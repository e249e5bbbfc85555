"""The Verilog of lookups in tables of floats against golden, on Verilator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.sim.runner import verify
from golden.formats.names import minifloat
from golden.lut.float_table import FloatLookupSpec, float_lookup_matmul
from golden.lut.table import fold, keys
from golden.npe.float_lut import FloatLutSpec, float_lut
from hw.catalog import Design
from hw.npe.float_lut import FloatLut
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    {"columns": 2, "group": 3},
    {},
    {"columns": 1, "group": 2, "planes": 8, "a_format": "bf16", "pipeline": 3},
    {
        "columns": 2,
        "group": 5,
        "planes": 1,
        "a_format": "e5m2",
        "sum_format": "bf16",
        "pipeline": 0,
    },
    {"columns": 3, "group": 4, "sum_format": "fp16", "adder": "ripple", "pipeline": 1},
    {"columns": 2, "group": 2, "planes": 4, "a_format": "e3m2ieee", "sum_format": "e3m2ieee"},
]


@pytest.mark.parametrize("parameters", long(CASES, *range(1, len(CASES))), ids=case_name)
def test_float_lut_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("float_lut", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize("order", ["inner", "outer"])
def test_float_lut_adds_in_either_order(order: str) -> None:
    """Beats of all planes of a group, or of all groups of a plane, are products of matrices."""
    group, planes, columns = 4, 3, 5
    spec = FloatLutSpec(columns=columns, group=group, planes=planes)
    rng = np.random.default_rng(1)
    a = minifloat("fp16").encode(rng.normal(size=(1, 6 * group)))
    weights = rng.integers(0, 1 << planes, (6 * group, columns))
    folded = fold(weights, group)
    places = [(plane, at) for at in range(6) for plane in range(planes)]
    if order == "outer":
        places = [(plane, at) for plane in reversed(range(planes)) for at in range(6)]
    found = [keys(folded, group, plane) for plane in range(planes)]
    lines = [found[plane][0][at] | found[plane][1][at] << group - 1 for plane, at in places]
    sums = float_lut(
        spec,
        np.stack([a[0, group * at : group * (at + 1)] for _, at in places]),
        np.stack(lines),
        np.array([plane for plane, _ in places]),
        np.arange(len(places)) == len(places) - 1,
    )
    whole = FloatLookupSpec(group=group, planes=planes, lookups=1, order=order)
    assert np.array_equal(sums, float_lookup_matmul(whole, a, weights))


def test_float_lut_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a FloatLutSpec, not 8"):
        FloatLut(8)  # type: ignore[arg-type]


def test_float_lut_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"columns must be 1\.\.64 columns, not 65"):
        Design("float_lut", {"columns": 65})
    with pytest.raises(ValueError, match="a_format must be the name of a minifloat format"):
        Design("float_lut", {"a_format": "e4m3"})
