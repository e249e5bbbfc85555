"""Products whose B is packed, in Verilator against golden."""

import json
from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

SPARSE = SMALL | {"sparse": True}
WIDE: dict[str, Any] = {"data_width": 64, "b_bytes": 8192, "sparse": True}
CASES: list[dict[str, Any]] = [SPARSE | {"engine": "systolic_os(m=4,n=4)"}]
LONG: list[dict[str, Any]] = [
    # A beat has no more bytes than a mask, rows are of a few; few registers.
    {
        "engine": "cube(m=3,n=5,k=3,a_width=4,b_width=6,k_max=300)",
        "data_width": 32,
        "sums": 60,
        "a_bytes": 128,
        "b_bytes": 256,
        "address_width": 32,
        "lean": True,
        "narrow": True,
        "sparse": True,
    },
    # All left out that can be.
    {
        "engine": "systolic_os(m=2,n=3)",
        "data_width": 32,
        "sums": 64,
        "a_bytes": 128,
        "b_bytes": 128,
        "address_width": 20,
        "dimension_width": 12,
        "burst": 8,
        "outstanding": 1,
        "bias": False,
        "requantise": False,
        "accumulate": False,
        "ring": False,
        "counters": False,
        "narrow": True,
        "sparse": True,
    },
    # Words that are wider than a beat, and codes of half a byte.
    SPARSE | {"engine": "adder_tree(m=2,n=20,k=4,b_width=4)", "b_bytes": 2048},
    SPARSE | {"engine": "systolic_os(m=8,n=8)", "data_width": 256, "sums": 1024},
    SPARSE | {"engine": "npe(m=2,n=3,formats=int8,int4,accumulator_width=32)", "data_width": 128},
    SPARSE | {"engine": "adder_tree(m=2,n=4,k=3)", "codebook": "job16"},
    SPARSE | {
        "engine": "npe(m=2,n=2,formats=int8,e2m1,e4m3,scale=e8m0,block=32,result=fp32)",
        "bias": False,
        "requantise": False,
    },
]  # fmt: skip


@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_sparse_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=3)
    bench = "verif.soc.benches.tb_coprocessor_sparse"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)


@pytest.mark.prove
@pytest.mark.parametrize(("share", "ratio"), [(0.5, 0.625), (0.8, 0.325)])
def test_packed_b_takes_fewer_beats(share: float, ratio: float, tmp_path: Path) -> None:
    """A row by a matrix, of a memory that is slow: within 10 % of its bytes."""
    design = Design("coprocessor", {"engine": "adder_tree(m=1,n=8,k=8)"} | WIDE)
    bench, sizes = "verif.soc.benches.tb_coprocessor_sparse", (1, 256, 128)
    run_bench(design, bench, tmp_path, share=share, sizes=sizes, transactions=1)
    plain, packed = json.loads((tmp_path / "beats.json").read_text())
    # What is not B, alike for both: a row of A.
    others = plain["beats"] - plain["bytes"] / 8
    assert packed["bytes"] <= 1.02 * ratio * plain["bytes"]
    assert packed["beats"] - others <= 1.1 * packed["bytes"] / 8
    assert packed["cycles"] / plain["cycles"] <= 1.1 * packed["bytes"] / plain["bytes"]
