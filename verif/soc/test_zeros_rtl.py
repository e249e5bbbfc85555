"""The co-processor in Verilator whose blocks of B have zero points, against its golden model."""

from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, run_bench
from verif.support.cases import case_name

ZEROS: list[dict[str, Any]] = [
    # Words of the store hold the zero points of several tiles; sums are added to, and requantised.
    SMALL | {"engine": "npe(m=2,n=2,formats=int8,int4,zeros=true,block=8,accumulator_width=32)"},
    # Tiles whose rows of int4 are no whole bytes, so that a block has two at least.
    SMALL
    | {
        "engine": "npe(m=2,n=3,formats=int8,int4,zeros=true,block=4,accumulator_width=32)",
        "data_width": 32,
        "bias": False,
        "requantise": False,
    },
    SMALL
    | {
        "engine": "npe(m=2,n=2,formats=int8,int4,zeros=true,scale=e5m3,block=16,result=fp32)",
        "bias": False,
        "requantise": False,
    },
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", ZEROS, ids=case_name)
def test_coprocessor_rtl_with_zero_points(parameters: dict[str, Any], tmp_path: Path) -> None:
    bench = "verif.soc.benches.tb_coprocessor_formats"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, still=2000, transactions=2)
