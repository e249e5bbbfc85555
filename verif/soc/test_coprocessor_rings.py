"""Rings of jobs of all kinds in Verilog: the order in memory is kept, and cycles are few."""

import json
from pathlib import Path
from typing import Any

import pytest

from golden.soc.blocking import cost, plan
from hw.catalog import Design
from verif.soc.test_coprocessor_depthwise_rtl import CASES as DEPTHWISE
from verif.soc.test_coprocessor_rtl import CASES, SMALL, brief, run_bench
from verif.soc.test_coprocessor_vector_rtl import CASES as OF_ROWS
from verif.support.cases import case_name, long

_SHAPES = [(8, 8, 8), (3, 5, 7), (12, 8, 8), (8, 24, 8), (8, 8, 20), (16, 16, 16), (24, 8, 4)]
RINGS: list[dict[str, Any]] = [{"sizes": [shape] * 3, "reads": ""} for shape in _SHAPES]
RINGS += [{"sizes": [(8, 8, 8)] * 12, "reads": "a"}, {"sizes": _SHAPES, "reads": ""}]
RINGS += [{"sizes": [(8, 8, 8)] * 6, "reads": name} for name in ("b", "bias")]
CASES_OF_ROWS = [*DEPTHWISE, *OF_ROWS]
EIGHT = {"engine": "systolic_os(m=8,n=8)", "data_width": 64}


@pytest.mark.parametrize(
    "parameters",
    [*CASES[:1], *long([SMALL | {"engine": "systolic_os(m=3,n=4)", "lean": True}])],
    ids=case_name,
)
def test_coprocessor_rtl_rings(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=2)
    if not parameters.get("lean"):
        options |= {"rings": RINGS, "latency_cycles": 20}
    bench = "verif.soc.benches.rings"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)


@pytest.mark.parametrize("parameters", [CASES_OF_ROWS[0], *long(CASES_OF_ROWS[1:])], ids=case_name)
def test_coprocessor_rtl_rings_of_vector_jobs(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = brief(request, transactions=2)
    bench = "verif.soc.benches.rings"
    run_bench(Design("coprocessor", parameters), bench, tmp_path, **options)


@pytest.mark.prove
@pytest.mark.parametrize("latency", [8, 20, 50])
def test_small_jobs_cost_little_besides_their_work(latency: int, tmp_path: Path) -> None:
    """A job of 8 x 8 x 8 that reads what the one before wrote."""
    design, count = Design("coprocessor", EIGHT), 12
    rings = [*RINGS, {"sizes": [(8, 8, 8)], "reads": ""}]
    bench = "verif.soc.benches.rings"
    run_bench(design, bench, tmp_path, rings=rings, latency_cycles=latency)
    took = json.loads((tmp_path / "rings.json").read_text())
    each = (took[len(_SHAPES)] - took[-1]) / (count - 1)
    blocks = plan(design.spec.stores(), 8, 8, 8, 8)
    assert latency > 20 or each <= 60 + cost(design.spec.stores(), blocks, 8, 8, 8, 8).cycles
