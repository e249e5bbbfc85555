"""The Verilog of the aligner against golden, on Verilator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.sim.runner import verify
from golden.formats.names import minifloat
from golden.npe.aligner import AlignerSpec, aligner
from hw.catalog import Design
from hw.npe.aligner import Aligner
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {"block": 12, "lanes": 4},
    {"format": "e4m3", "width": 8, "block": 8, "lanes": 8, "pipeline": 1},
    {"format": "bf16", "width": 8, "block": 6, "lanes": 2, "rounding": "rtz", "adder": "ripple"},
    {"format": "e5m2", "width": 13, "block": 4, "lanes": 1},
    {"format": "e4m3fnuz", "width": 5, "block": 9, "lanes": 3, "pipeline": 1},
    {"format": "fp32", "width": 16, "block": 8, "lanes": 4, "adder": "operator"},
    {"format": "fp16", "width": 16, "block": 64, "lanes": 16, "rounding": "rtz"},
    {"format": "e2m1", "width": 2, "block": 2, "lanes": 1},
    {"format": "e3m0", "width": 12, "block": 6, "lanes": 2},
    {"format": "e1m2", "width": 4, "block": 1, "lanes": 1},
    {"format": "e8m1finite", "width": 6, "block": 4, "lanes": 2},
    {"format": "e8m7ieee_b-5", "width": 9, "block": 4, "lanes": 2},
    {"format": "e8m7ieee_b4", "width": 9, "block": 4, "lanes": 2, "adder": "kogge_stone"},
    {"format": "e5m7ieee_b64", "width": 7, "block": 3, "lanes": 1},
    {"format": "e6m5ieee_b-60", "width": 7, "block": 3, "lanes": 1},
]


@pytest.mark.parametrize("parameters", brief(CASES, 2), ids=case_name)
def test_aligner_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("aligner", parameters), directory=tmp_path)
    assert result.ok, result


def test_aligner_gives_zeros_where_a_block_is_no_number() -> None:
    spec = AlignerSpec(width=8, block=2, lanes=1)
    values = [[1.0, np.inf, 1.5, -0.25, np.nan, 0.0, 2.0]]
    blocks = aligner(spec, minifloat("fp16").encode(np.array(values), saturate=False))
    assert blocks.scales.tolist() == [[255, 127, 255, 128]]
    assert blocks.codes.tolist() == [[0, 0, 96, -16, 0, 0, 64]]


def test_aligner_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be an AlignerSpec, not 8"):
        Aligner(8)  # type: ignore[arg-type]


def test_aligner_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="block must be a multiple of lanes, 3, not 32"):
        Design("aligner", {"lanes": 3})
    with pytest.raises(ValueError, match=r"width must be 2\.\.16 bits, not 17"):
        Design("aligner", {"width": 17})
