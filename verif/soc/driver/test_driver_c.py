"""The C driver: every standard, and the same checks, blocks and refusals as the golden model."""

import ctypes
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.ip import driver_sources
from carrysave.sim.cocotb.device_memory import Pool
from golden.lut.trits import pack_trits
from golden.soc.blocking import Blocks, plan
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from verif.soc.driver import c_driver
from verif.soc.driver.c_driver_stream import stream_sources
from verif.soc.driver.driver_rig import SCRATCH, SPECS
from verif.soc.driver.software_device import SoftwareDevice

REFUSALS = {
    Error.NONE: 0,
    Error.DIMENSION: 8,
    Error.K_TOO_LARGE: 9,
    Error.MODE: 10,
    Error.LEADING_DIMENSION: 11,
    Error.WRAPS: 12,
    Error.BLOCKS: 13,
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    c_driver.write_driver(folder)
    stream_sources(folder)
    driver_sources.c(folder, uart=True)
    return folder


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "standard", ["c -std=c99", "c -std=c17", "c++ -std=c++98 -Wno-long-long", "c++ -std=c++17"]
)
def test_c_driver_compiles_without_a_warning(sources: Path, standard: str) -> None:
    """As it is, with volatile pointers to registers."""
    command = [
        "cc",
        "-x",
        *standard.split(),
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
        "-c",
        "-o",
        "/dev/null",
    ]
    for source in sources.glob("carrysave*.c"):
        done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_c_driver_compiles_without_a_vector_unit(tmp_path: Path) -> None:
    """With the header of a build that has none: its registers are not in it."""
    c_driver.write_driver(tmp_path, vector=False)
    assert "VECTOR_FORMAT" not in (tmp_path / "carrysave_coprocessor.h").read_text()
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-c"]
    files = map(str, c_driver.sources(tmp_path))
    done = subprocess.run(
        [*command, *files], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_c_driver_runs_on_pointers(sources: Path) -> None:
    """Without any configuration, registers are memory at the base."""
    program = sources / "main.c"
    program.write_text("""
#include "carrysave.h"
#include "carrysave_coprocessor.h"
#include <stdio.h>
#define WIDTH(side) 8u << CARRYSAVE_COPROCESSOR__NUMBERS__##side##_WIDTH_bp
int main(void)
{
    static carrysave_coprocessor_t map;
    carrysave device;
    carrysave_counters counters;
    int first = carrysave_open(&device, &map, NULL);
    map.MAGIC = CARRYSAVE_COPROCESSOR__MAGIC__VALUE_reset;
    int second = carrysave_open(&device, &map, NULL);
    map.ABI = 1;
    map.TILE_M = 6;
    map.HASH_HI = 7;
    map.COUNTERS.MACS_HI = 5;
    int third = carrysave_open(&device, &map, NULL); /* most of what it says is 0 */
    map.TILE_N = map.TILE_K = map.K_MAX = map.OUTSTANDING = 1;
    map.A_BITS = map.B_BITS = map.C_BITS = 8;
    map.NUMBERS = WIDTH(A) | WIDTH(B) | WIDTH(C) | WIDTH(SUM);
    map.ADDRESS_WIDTH = map.DATA_WIDTH = 32;
    map.DIMENSION_WIDTH = 24;
    map.SUM_BYTES = 4;
    map.SUMS = map.A_BYTES = map.B_BYTES = 1024;
    int fourth = carrysave_open(&device, &map, NULL); /* this memory never ends a reset */
    carrysave_read_counters(&device, &counters);
    printf("%d %d %d %d %u %u %u", first, second, third, fourth, (unsigned)device.info.tile_m,
           (unsigned)(device.info.hash >> 32), (unsigned)(counters.macs >> 32));
    return 0;
}
""")
    files = map(str, (program, *c_driver.sources(sources)))
    command = ["cc", "-std=c99", "-Wall", "-Werror", *files]
    subprocess.run([*command, "-o", str(sources / "main")], check=True)
    done = subprocess.run([sources / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == "1 2 18 6 6 7 5"


def opened(library: Any, spec: CoprocessorSpec, **features: bool) -> c_driver.CDevice:
    memory = np.zeros(64, np.uint8)
    pool = Pool(memory, np.random.default_rng(0), manual=True)
    return c_driver.CDevice(library, SoftwareDevice(spec, memory, **features), pool)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [*SPECS, "twice"])
def test_c_driver_plans_as_the_golden_planner(library: Any, name: str) -> None:
    spec = SPECS[name] if name in SPECS else replace(SPECS["int8"], array_clock=2)
    device = opened(library, spec)
    rng = np.random.default_rng(7)
    for _ in range(40):
        m, n, k = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
        for codes in (False, True) if spec.requantise else (False,):
            job = c_driver.CJob()
            device.call("job_init", ctypes.byref(job), m, n, k, codes)
            device.call("plan", ctypes.byref(job))
            bits = spec.code_bits if codes else 8 * spec.sum_bytes
            blocks = plan(spec.stores(), m, n, k, bits) if spec.blocks else Blocks(0, 0, 0)
            found = job.block_m, job.block_n, job.block_k, job.by_columns
            assert found == (blocks.m, blocks.n, blocks.k, blocks.by_columns), (m, n, k)
            assert job.lda % spec.bytes == 0
            assert 0 <= 8 * job.lda - k * spec.a_bits < 8 * spec.bytes
            assert 0 <= 8 * job.ldb - n * spec.b_bits < 8 * spec.bytes
            c_bytes = spec.code_bits // 8 if codes else spec.sum_bytes
            assert 0 <= job.ldc - n * c_bytes < spec.bytes
            assert (job.low, job.high) == ((-128, 127) if codes else (0, 0))


@pytest.mark.parametrize("name", ["int8", "int4 x uint6", "lean", "scratch", "trits", "mirrored"])
def test_c_driver_refuses_as_the_golden_model(library: Any, name: str) -> None:
    """Also at the very limits of addresses, of what is on chip, of sizes and stores."""
    spec = (SPECS | {"scratch": SCRATCH})[name]
    device = opened(library, spec)
    rng, seen = np.random.default_rng(8), set()
    high, book = 1 << spec.address_width, spec.inside.expander.table_bytes
    for _ in range(1000):
        m, n, k = (int(rng.integers(1, 40)) for _ in range(3))
        row = {
            "a": -(-k * spec.a_bits // 8),
            "b": -(-n * spec.b_bits // 8),
            "c": n * spec.sum_bytes,
        }
        job = Job(
            a=1000,
            b=2000,
            c=3000,
            m=m,
            n=n,
            k=min(k, spec.inside.modes[0, 0].k_max),
            lda=row["a"],
            ldb=row["b"],
            ldc=row["c"],
        )
        end = {"a": job.m, "b": -(-job.k // spec.b_deep), "c": job.m}
        side = str(rng.choice(["a", "b", "c"]))
        edge = int(rng.integers(-1, 2))
        options: list[dict[str, Any]] = [
            {side: high - end[side] * row[side] + edge},
            *(
                [
                    {side: spec.scratch_base + edge},
                    {side: spec.scratch_base - end[side] * row[side] + edge},
                ]
                * (spec.scratch > 0)
            ),
            *([{"b_scales": high - book + edge}] * (book > 0)),
            {"ld" + side: row[side] + edge},
            {"m": (0, 1, (1 << 24) - 1, 1 << 24)[rng.integers(4)], "lda": 1 << 31},
            {"k": spec.inside.modes[0, 0].k_max + edge, "lda": 1 << 20},
            {"bias": high - n * spec.sum_bytes + edge},
            {"bias": 0, "accumulate": True},
            {"row_factors": high - 2 * m + edge, "accumulate": True},
            dict(zip(("block_m", "block_n", "block_k"), rng.integers(0, 20, 3), strict=True)),
        ]
        chosen = options[int(rng.integers(len(options)))]
        changes: dict[str, Any] = {key: int(value) for key, value in chosen.items()}
        job = replace(job, **changes)
        error = error_of(spec, job)
        seen.add(error)
        alike: Any = replace(job, requantisation=None)
        made = c_driver.CJob.of(alike)
        assert device.call("check", ctypes.byref(made)) == REFUSALS[error], (changes, error)
    assert seen >= set(REFUSALS) - {Error.MODE if spec.blocks else Error.BLOCKS}


def test_c_driver_checks_requantisation(library: Any) -> None:
    device = opened(library, SPECS["int8"], per_column=False, accumulate=False)
    good = {
        "requantise": True,
        "multiplier": (1 << 31) - 1,
        "shift": 63,
        "zero_point": -128,
        "low": -128,
        "high": 127,
        "m": 1,
        "n": 1,
        "k": 1,
        "lda": 1,
        "ldb": 1,
        "ldc": 1,
    }

    def status(**changes: Any) -> int:
        return device.call("check", ctypes.byref(c_driver.CJob(**{**good, **changes})))

    assert status() == status(relu=True, zero_point=127) == 0
    wrong: list[dict[str, int]] = [
        {"multiplier": 1 << 31},
        {"shift": 64},
        {"zero_point": 128},
        {"low": -129},
        {"high": 128},
        {"low": 1, "high": 0},
        {"relu": True, "zero_point": 5, "high": 4},
    ]
    for changes in wrong:
        assert status(**changes) == 14, changes
    for name in ("per_column", "accumulate"):
        assert status(**{name: True}) == 10
    for mode in ({"a_format": 16}, {"b_format": 16}):
        assert status(mode=c_driver.CMode(**mode)) == 10
    assert status(c_bytes=1) == 10
    device = opened(library, replace(SPECS["int8"], code_bytes=2))
    assert status(c_bytes=1) == status(c_bytes=2, ldc=2) == 0
    assert status(c_bytes=2, ldc=1) == 11
    ends = {"low": -1 << 15, "high": (1 << 15) - 1, "zero_point": -1 << 15}
    assert status(c_bytes=2, ldc=2, **ends) == 0
    for c_bytes in (0, 1):
        assert status(c_bytes=c_bytes, **ends) == 14
    assert status(c_bytes=2, ldc=2, high=1 << 15) == 14
    assert status(c_bytes=3, ldc=4) == status(c_bytes=1, requantise=False, ldc=4) == 10
    record = ctypes.create_string_buffer(8)
    library.carrysave_record(0x12345678, 40, -3, record)
    assert record.raw == bytes.fromhex("78563412 28 00 fdff")
    assert b"k_max" in library.carrysave_status_text(9)


def test_c_driver_packs_weights_as_the_golden_model(library: Any) -> None:
    patterns = np.array(list(product((-1, 0, 1), repeat=5)), np.int8)
    five = ctypes.c_int8 * 5
    library.carrysave_trits.restype = ctypes.c_uint8
    found = [library.carrysave_trits(five(*row)) for row in patterns.tolist()]
    assert found == pack_trits(patterns.T)[0].tolist()


def test_c_driver_keeps_rings_at_whole_beats(library: Any) -> None:
    device = opened(library, SPECS["int8"])
    job = c_driver.CJob(m=1, n=1, k=1, lda=1, ldb=1, ldc=4)
    place = ctypes.create_string_buffer(128)

    def start(count: int, address: int) -> int:
        return device.call("start_ring", ctypes.byref(job), count, place, address)

    assert start(0, 0) == start(1, 4) == start(2, (1 << 64) - 128) == 15
