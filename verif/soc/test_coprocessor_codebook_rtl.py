"""Codes of a table in Verilog, constant or of a job, of 1 to 4 bits; and numbers with masks."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name

CASES: list[dict[str, Any]] = [
    SMALL | {"engine": "adder_tree(m=2,n=4,k=3)", "codebook": "job16"},
    SMALL | {"engine": "adder_tree(m=2,n=4,k=3,b_width=6)", "codebook": "mirror16"},
    SMALL | {"engine": "adder_tree(m=2,n=4,k=3)", "codebook": "nf4"},
    SMALL | {"engine": "systolic_os(m=3,n=4)", "codebook": "sign"},
    # Words of 21 codes, and numbers of 5 bits, of the bytes of a table.
    {
        "engine": "cube(m=2,n=3,k=21,b_width=5)",
        "codebook": "job8",
        "data_width": 64,
        "sums": 256,
        "a_bytes": 1024,
        "b_bytes": 1024,
    },
    {
        "engine": "cube(m=2,n=2,k=2,b_width=3,b_signed=false)",
        "codebook": "job4",
        "lean": True,
        "narrow": True,
        "address_width": 24,
        **SMALL,
        "data_width": 32,
    },
    # Words of masks and numbers: 12 along K of a byte, 20 of 4 bits, 64 of two.
    SMALL | {"engine": "adder_tree(m=2,n=4,k=12,sparsity=2:4)"},
    SMALL
    | {"engine": "cube(m=3,n=2,k=20,b_width=3,sparsity=2:4)", "data_width": 128, "lean": True},
    {
        "engine": "ternary_core(m=2,n=2,k=40,sparsity=1:4)",
        **SMALL,
        "a_bytes": 1024,
        "b_bytes": 1024,
        "requantise": False,
        "narrow": True,
    },
    # A table is less than a beat; there is one job at a time.
    {
        "engine": "cube(m=2,n=2,k=2)",
        "codebook": "job16",
        "ring": False,
        "narrow": True,
        "address_width": 40,
        **SMALL,
        "data_width": 256,
    },
]


@pytest.mark.prove
@pytest.mark.parametrize("parameters", CASES, ids=case_name)
def test_coprocessor_of_codes_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Tables change from job to job of a ring, whose next job is loaded while one runs."""
    options = brief(request, overlaps=2, close=False)
    design = Design("coprocessor", parameters)
    result = verify(design, seed=1, bench_parameters=options, directory=tmp_path)
    assert result.ok, f"{result.failed}; see {result.log}"


@pytest.mark.prove
@pytest.mark.parametrize("codebook", ["job8", "none", "nf4"])
def test_codes_of_a_table_take_fewer_beats(codebook: str, tmp_path: Path) -> None:
    """A row by a matrix, within 5 % of what B takes of the bus, and 2 % of golden's cycles."""
    bits = {"none": 8, "nf4": 4, "job8": 64 / 21}[codebook]
    parameters = {"engine": "adder_tree(m=1,n=8,k=21)", "b_bytes": 16384, "codebook": codebook}
    design, (m, k, n) = Design("coprocessor", {"data_width": 64} | parameters), (1, 504, 256)
    rings = [{"sizes": [(m, k, n)], "reads": ""}]
    bench = "verif.soc.benches.rings"
    run_bench(design, bench, tmp_path, rings=rings, latency_cycles=20, transactions=2)
    took, *_ = json.loads((tmp_path / "rings.json").read_text())
    beats = k * n * bits / 64
    assert beats <= took <= 1.05 * beats + 250
