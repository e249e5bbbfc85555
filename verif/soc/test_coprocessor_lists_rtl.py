"""Products by lists of places, in Verilator against golden."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.compiler.decoder.compile import core_block
from hw.catalog import Design
from verif.soc.test_coprocessor_rtl import SMALL, brief, run_bench
from verif.support.cases import case_name, long

BENCH = "verif.soc.benches.tb_coprocessor_lists"
TOP = "verif.soc.benches.tb_coprocessor_top"
CYCLES = "verif.soc.benches.tb_coprocessor_list_cycles"
LISTS = SMALL | {"lists": 80}
CASES: list[dict[str, Any]] = [
    LISTS
    | {
        "engine": "systolic_os(m=4,n=4)",
        "vector": "vector_unit(operations=softmax,scale,lanes=4,length=64,width=16)",
        "gather": True,
        "top_k": 5,
    },
]
LONG: list[dict[str, Any]] = [
    # A beat has one place, a beat of the engine three codes of K; few registers.
    {
        "engine": "cube(m=3,n=5,k=3,b_width=6,k_max=300)",
        "data_width": 32,
        "sums": 60,
        "a_bytes": 128,
        "b_bytes": 256,
        "address_width": 32,
        "lean": True,
        "narrow": True,
        "lists": 100,
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
        "lists": 50,
    },
    # Codes of A of two bytes; several products of a column in a cycle, and packed rows of B.
    LISTS | {"engine": "systolic_os(m=3,n=4,a_width=16)", "scratch": 4096},
    LISTS | {"engine": "adder_tree(m=2,n=20,k=4,b_width=4)", "b_bytes": 2048, "sparse": True},
    LISTS
    | {
        "engine": "lut_core(m=1,n=16,b_width=4,group=2,lookups=4,folded=False,parallel=True)",
        "b_bytes": 2048,
        "data_width": 128,
        "table": True,
        "vector": "vector_unit(operations=rms_norm,silu,lanes=8,length=128,width=16,out_width=16)",
        "code_bytes": 2,
        "narrow": True,
        "top_k": 40,
    },
    LISTS
    | {
        "engine": "systolic_os(m=2,n=4)",
        "vector": "vector_unit(operations=silu,lanes=2,length=64,width=16,out_width=16)",
        "transpose": True,
        "code_bytes": 2,
        "top_k": 1,
    },
    LISTS | {"engine": "systolic_os(m=8,n=8)", "data_width": 256, "sums": 1024, "lists": 1},
]


@pytest.mark.parametrize("parameters", [*CASES, *long(LONG)], ids=case_name)
def test_coprocessor_lists_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # One build for both benches.
    benches = f"{BENCH},{TOP}" if parameters.get("top_k") else BENCH
    design = Design("coprocessor", parameters)
    run_bench(design, benches, tmp_path, **brief(request, transactions=3))


@pytest.mark.prove
@pytest.mark.parametrize(("share", "pause"), [(0.5, 0), (0.5, 3), (0.25, 3)])
def test_a_list_takes_its_share_of_b(share: float, pause: int, tmp_path: Path) -> None:
    """A row by a matrix: cycles are those of the rows that are read, but for a list's own."""
    engine = "lut_core(m=1,n=16,b_width=4,group=2,lookups=4,folded=False,parallel=True)"
    wide: dict[str, Any] = {"engine": engine, "data_width": 64, "b_bytes": 32768, "lists": 1024}
    run_bench(
        Design("coprocessor", wide),
        CYCLES,
        tmp_path,
        share=share,
        pause=pause,
        sizes=(1, 512, 576),
        transactions=1,
    )
    whole, part = json.loads((tmp_path / "beats.json").read_text())
    assert part["cycles"] <= 1.15 * share * whole["cycles"], (whole, part)


@pytest.mark.prove
@pytest.mark.parametrize(("pause", "most"), [(0, 0.75), (3, 0.65)])
def test_groups_of_a_decoder_by_lists(pause: int, most: float, tmp_path: Path) -> None:
    """A quarter of SmolLM2's last matrix of a feed-forward, half of it skipped, lists included."""
    design = core_block("lut_core", {"lists": "32", "data_width": "64"})
    run_bench(design, CYCLES, tmp_path, share=0.5, pause=pause, sizes=(32, 576), groups=12)
    took = json.loads((tmp_path / "groups.json").read_text())
    assert took["lists"]["cycles"] <= most * took["dense"]["cycles"], took
