"""The co-processor behind a serial line, in Verilator, by its driver through the pins."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.boards.board import BOARDS
from carrysave.sim.parameters import describe
from carrysave.sim.runner import run, sources_of, verify
from carrysave.sim.verilator import build
from hw.catalog import Design
from verif.support.cases import case_name, long

CASES: list[dict[str, Any]] = [
    {
        "engine": "systolic_os(m=2,n=4)",
        "data_width": 32,
        "address_width": 32,
        "divisor": 4,
        "memory_bytes": 16384,
        "sums": 64,
        "a_bytes": 128,
        "b_bytes": 128,
    },
    {**BOARDS["ice40_hx8k_b_evn"].parameters, "divisor": 4},
]
# A byte of the line takes longer than an access to this memory.
CASES.append(CASES[0] | {"memory": "external", "divisor": 5, "outstanding": 2, "watchdog": 1024})
WIDE = CASES[-1] | {"memory_bytes": 1 << 25}
"""Addresses have more bits than those of a frame's header."""
LONG: list[dict[str, Any]] = [
    {**BOARDS["icebreaker"].parameters, "divisor": 4},
    {"engine": "cube(m=2,n=3,k=4)", "data_width": 128, "divisor": 7, "memory_bytes": 65536},
    {
        "engine": "npe(m=2,n=2,formats=e2m1,e4m3,scale=e8m0,block=32,result=fp32)",
        "divisor": 4,
        "data_width": 32,
        "memory_bytes": 16384,
        "sums": 64,
        "a_bytes": 256,
        "b_bytes": 256,
        "bias": False,
        "requantise": False,
    },
    # Each row of a matrix takes 64 of the memory's bytes.
    {"engine": "systolic_os(m=2,n=4)", "divisor": 4, "data_width": 512, "memory_bytes": 1024},
    WIDE,
]


@pytest.mark.parametrize("parameters", [*CASES[:1], *long([*CASES, *LONG])], ids=case_name)
def test_coprocessor_uart_rtl_matches_golden(
    parameters: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Products and damaged frames alone, and few of these; all tests in `make prove`."""
    short = not request.node.get_closest_marker("prove")
    result = verify(
        Design("coprocessor_uart", parameters),
        seed=1,
        directory=tmp_path,
        bench_parameters={"transactions": 2, "wrong": 1} if short else {},
        tests="test_(products|damaged_frames|registers)$" if short else None,
    )
    assert result.ok, f"{result.failed}; see {result.log}"


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(2, 12))
def test_coprocessor_uart_rtl_forgets_damaged_frames(seed: int, tmp_path: Path) -> None:
    result = verify(
        Design("coprocessor_uart", CASES[0]), seed=seed, tests="damaged", directory=tmp_path
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert result.tests == 1


@pytest.mark.prove
def test_coprocessor_uart_rtl_survives_faults(tmp_path: Path) -> None:
    design = Design("coprocessor_uart", CASES[-1])
    result = run(
        build(sources_of(design, tmp_path, rules=True), design.module),
        "verif.soc.benches.tb_coprocessor_faults",
        parameters=describe(design),
        seed=1,
        directory=tmp_path,
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert result.tests == 8
