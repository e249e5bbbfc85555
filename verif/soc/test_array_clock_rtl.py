"""An array at twice the clock of all else, in Verilator against golden: results, and cycles."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.compiler.target.target import Target
from carrysave.sim.runner import verify
from golden.soc.blocking import Blocks
from golden.soc.job import Job
from golden.soc.memory_timing import BLOCK_RAM, TO_ADDRESS
from golden.soc.ring_cycles import RingJob, ring_ends
from hw.catalog import Design
from verif.soc.test_coprocessor_depthwise_rtl import CASES as DEPTHWISE
from verif.soc.test_coprocessor_rings import EIGHT, RINGS
from verif.soc.test_coprocessor_rtl import SMALL, STREAMS, brief, run_bench
from verif.soc.test_coprocessor_uart_rtl import CASES as UART
from verif.soc.test_coprocessor_vector_rtl import CASES as OF_ROWS
from verif.support.cases import case_name, long

TWICE: dict[str, Any] = SMALL | {"engine": "systolic_os(m=4,n=4)", "array_clock": 2}
WINDOWS: dict[str, Any] = TWICE | {
    "windows": True,
    "table": True,
    "address_width": 32,
    "b_bytes": 1024,
    "scratch": 8192,
}
SCALES: dict[str, Any] = SMALL | {
    "engine": "npe(m=2,n=2,formats=int8,e2m1,e4m3,scale=e8m0,block=32,result=fp32)",
    "array_clock": 2,
    "bias": False,
    "requantise": False,
}
# Engines that stop, or have room for rows; tiles of one row; nothing that waits; blocks of a device
# that take a beat in two cycles.
ENGINES: list[dict[str, Any]] = [
    TWICE,
    TWICE | {"engine": "systolic_os(m=3,n=4,target=ecp5)", "code_bytes": 2, "requantisers": 2},
    TWICE | {"engine": "systolic_ws(m=3,n=4,k=5)", "sum_copies": 2, "requantisers": 2},
    TWICE | {"engine": "adder_tree(n=3,k=7)"},
    TWICE | {"lean": True, "narrow": True},
    TWICE | {"engine": "digit_column(m=2,n=4,k=2,a_signed=False)", "data_width": 128},
    TWICE | {"engine": "lut_core(m=2,n=4,lookups=2,folded=false,together=true)"},
]
# K shorter and longer than the rows of a tile take to leave.
JOBS = [[4, 4, 4], [5, 1, 7], [32, 64, 32], [24, 7, 24], [5, 200, 7]]


@pytest.mark.parametrize("parameters", [TWICE, *long(ENGINES[1:])], ids=case_name)
def test_products(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Few beats, and many, between which rows leave; each byte of memory."""
    bench = "verif.soc.benches.measure"
    design = Design("coprocessor", parameters)
    run_bench(design, bench, tmp_path, latency_cycles=8, jobs=JOBS)
    assert len(json.loads((tmp_path / "measured.json").read_text())) == len(JOBS)


@pytest.mark.prove
@pytest.mark.parametrize("parameters", ENGINES, ids=case_name)
def test_whatever_is_asked_for(parameters: dict[str, Any], tmp_path: Path) -> None:
    """Orders of all kinds, errors of memory, resets at any moment, jobs that overlap."""
    result = verify(
        Design("coprocessor", parameters),
        seed=1,
        directory=tmp_path,
        bench_parameters={"close": False, "overlaps": 5, "still": 2000},
    )
    assert result.ok, f"{result.failed}; see {result.log}"


@pytest.mark.prove
@pytest.mark.parametrize(
    ("parameters", "bench"),
    [
        (WINDOWS, "windows"),
        (SCALES, "formats"),
        (DEPTHWISE[0] | {"array_clock": 2}, "depthwise"),
        (OF_ROWS[0] | {"array_clock": 2}, "vector"),
    ],
    ids=["windows", "scales", "depthwise", "vector"],
)
def test_other_jobs(
    parameters: dict[str, Any], bench: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = f"verif.soc.benches.tb_coprocessor_{bench}"
    run_bench(Design("coprocessor", parameters), name, tmp_path, **brief(request, transactions=2))


@pytest.mark.prove
def test_streams(tmp_path: Path) -> None:
    design = Design("coprocessor_stream", STREAMS[0] | {"array_clock": 2})
    result = verify(design, seed=1, directory=tmp_path)
    assert result.ok, f"{result.failed}; see {result.log}"


@pytest.mark.prove
def test_serial_line(tmp_path: Path) -> None:
    """The block of boards, by its driver through the pins."""
    result = verify(
        Design("coprocessor_uart", UART[0] | {"array_clock": 2}),
        seed=1,
        directory=tmp_path,
        bench_parameters={"transactions": 2, "wrong": 1},
        tests="test_(products|damaged_frames|registers)$",
    )
    assert result.ok, f"{result.failed}; see {result.log}"


@pytest.mark.prove
@pytest.mark.parametrize("latency", [8, 20, 50])
def test_cycles(latency: int, tmp_path: Path) -> None:
    """Rings take the cycles that golden says, to 2 %; blocks are those that it chooses."""
    parameters = EIGHT | {"array_clock": 2}
    sizes = [(64, 64, 64), (32, 100, 32), (64, 33, 64), (96, 96, 96), (64, 9, 64), (5, 300, 7)]
    rings = [*RINGS, *({"sizes": [one], "reads": ""} for one in sizes)]
    bench = "verif.soc.benches.rings"
    run_bench(
        Design("coprocessor", parameters), bench, tmp_path, rings=rings, latency_cycles=latency
    )


@pytest.mark.prove
def test_a_large_product_keeps_the_array_busy(tmp_path: Path) -> None:
    """On 14 x 12 multipliers, a memory as fast as block RAM, and a bus of 128 bits: at 87 %.

    At 90 MHz, and 180 MHz of the array, that is more than 50 GOPS.
    """
    parameters: dict[str, Any] = {
        "engine": "systolic_os(m=14,n=12,target=ecp5,dsps=148)",
        "data_width": 128,
        "address_width": 32,
        "outstanding": 4,
        "sums": 2688,
        "a_bytes": 7168,
        "b_bytes": 6144,
        "requantisers": 2,
        "array_clock": 2,
    }
    design, size, blocks = Design("coprocessor", parameters), 256, Blocks(1, 2, 256, True)
    latency = BLOCK_RAM.latency - TO_ADDRESS
    run_bench(
        design,
        "verif.soc.benches.measure",
        tmp_path,
        latency_cycles=latency,
        jobs=[[size] * 3],
        blocks=[blocks.m, blocks.n, blocks.k, blocks.by_columns],
    )
    (took,) = (one["cycles"] for one in json.loads((tmp_path / "measured.json").read_text()))
    operations = 2 * size**3 / took
    assert operations >= 0.87 * 2 * 2 * 14 * 12
    assert operations * 90e6 > 50e9
    job = Job(
        a=0,
        b=1 << 16,
        c=1 << 17,
        m=size,
        n=size,
        k=size,
        lda=size,
        ldb=size,
        ldc=size,
        block_m=blocks.m,
        block_n=blocks.n,
        block_k=blocks.k,
        by_columns=True,
    )
    golden = ring_ends(design.spec, [RingJob(job)], BLOCK_RAM, Target(design).ring_build)[-1]
    assert abs(golden - took) <= 0.02 * took
