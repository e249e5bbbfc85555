"""Drivers of an engine of several formats: tables of a pack, blocks, refusals, products."""

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.driver_modes import modes
from carrysave.ip import mode_tables
from carrysave.sim.cocotb.device_memory import Pool
from golden.npe.npe import NpeSpec
from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from verif.soc.driver import c_driver
from verif.soc.driver.software_device import SoftwareDevice
from verif.soc.driver.test_driver_c import REFUSALS

SMALL: dict[str, Any] = {
    "data_width": 64,
    "address_width": 40,
    "sums": 128,
    "a_bytes": 256,
    "b_bytes": 512,
}
SPECS = {
    "sl8": CoprocessorSpec(
        engine=NpeSpec(m=2, n=3, formats="int8,int4,posit4e1,e3m2,e4m3"), requantise=False, **SMALL
    ),
    "int8 by int4 at two codes a word": CoprocessorSpec(
        engine=NpeSpec(m=2, n=2, formats="int8,int4", w4a8=True), requantise=False, **SMALL
    ),
    "sl16, one word many codes": CoprocessorSpec(
        engine=NpeSpec(m=3, n=2, lane="sl16", formats="int4,posit8e0,int16"),
        requantise=False,
        **{**SMALL, "sums": 66},
    ),
    "rounded, a row of the tile wider than the bus": CoprocessorSpec(
        engine=NpeSpec(m=2, n=8, formats="int8,e2m1", result="e4m3"), **{**SMALL, "data_width": 32}
    ),
}
TABLE = """
#include "carrysave_modes.h"
const carrysave_mode *table(void) { return carrysave_modes; }
unsigned length(void) { return CARRYSAVE_MODES; }
"""


class Rig:
    """The C driver with the tables of a build, on that build in software."""

    def __init__(self, name: str, folder: Path) -> None:
        self.spec = SPECS[name]
        self.modes = modes(self.spec)
        (folder / mode_tables.C_NAME).write_text(mode_tables.c(self.modes))
        (folder / "table.c").write_text(TABLE)
        library = c_driver.load(c_driver.compile_driver(folder, folder / "table.c"))
        library.table.restype = ctypes.POINTER(c_driver.CMode)
        self.table = [library.table()[index] for index in range(library.length())]
        self.memory = np.zeros(1 << 14, np.uint8)
        self.pool = Pool(self.memory, np.random.default_rng(0), manual=True)
        self.hardware = SoftwareDevice(self.spec, self.memory)
        self.device = c_driver.CDevice(library, self.hardware, self.pool)

    def job(self, mode: c_driver.CMode, m: int, n: int, k: int, codes: bool) -> c_driver.CJob:
        made = c_driver.CJob()
        at = ctypes.byref(made), ctypes.byref(mode)
        self.device.call("job_init_mode", *at, m, n, k, codes)
        return made


@pytest.fixture(scope="module", params=SPECS)
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(request.param, tmp_path_factory.mktemp("driver"))


def test_c_modes_are_pythons(rig: Rig) -> None:
    assert len(rig.table) == len(rig.modes) > 3
    for (names, mode), found in zip(rig.modes.items(), rig.table, strict=True):
        assert (found.a.decode(), found.b.decode()) == names
        assert (found.a_bits, found.b_bits) == (mode.a.bits, mode.b.bits)
        for name in ("a_format", "b_format", "codes", "k_max", "exponent", "block"):
            assert getattr(found, name) == getattr(mode, name), name


def test_c_driver_plans_each_mode_as_the_golden_planner(rig: Rig) -> None:
    spec, rng = rig.spec, np.random.default_rng(7)
    differ = set()
    for mode, found in zip(rig.modes.values(), rig.table, strict=True):
        for _ in range(12):
            m, n, k = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
            codes = bool(spec.requantise and rng.integers(2))
            job = rig.job(found, m, n, k, codes)
            rig.device.call("plan", ctypes.byref(job))
            words = -(-k // mode.codes)
            stores = mode.stores(rig.device.info.stores)
            blocks = plan(stores, m, n, words, spec.code_bits if codes else 8 * spec.sum_bytes)
            assert (job.block_m, job.block_n, job.block_k, job.by_columns) == (
                blocks.m,
                blocks.n,
                blocks.k,
                blocks.by_columns,
            ), (m, n, k, mode)
            assert 0 <= 8 * job.lda - words * stores.a_bits < 8 * spec.bytes
            assert 0 <= 8 * job.ldb - n * stores.b_bits < 8 * spec.bytes
            assert rig.device.call("check", ctypes.byref(job)) == 0
            differ.add((stores.a_bits, stores.b_bits))
    assert len(differ) > 2


def test_c_driver_refuses_in_each_mode_as_the_golden_model(rig: Rig) -> None:
    """At the very limits of rows, addresses, sums and stores."""
    spec, rng, seen = rig.spec, np.random.default_rng(8), set()
    high = 1 << spec.address_width
    for pair, found in zip(rig.spec.inside.modes, rig.table, strict=True):
        mode = spec.inside.modes[pair]
        for _ in range(80):
            m, n, k = (int(rng.integers(1, 40)) for _ in range(3))
            words = -(-k // mode.codes)
            row = {"a": -(-words * mode.a_bits // 8), "b": -(-n * mode.b_bits // 8)}
            row["c"] = n * spec.sum_bytes
            end = {"a": m, "b": words, "c": m}
            job = Job(
                a=1000,
                b=2000,
                c=3000,
                m=m,
                n=n,
                k=k,
                lda=row["a"],
                ldb=row["b"],
                ldc=row["c"],
                a_format=pair[0],
                b_format=pair[1],
            )
            side, edge = str(rng.choice(["a", "b", "c"])), int(rng.integers(-1, 2))
            options: list[dict[str, Any]] = [
                {side: high - end[side] * row[side] + edge},
                {"ld" + side: row[side] + edge},
                {"m": (0, 1, (1 << 24) - 1, 1 << 24)[rng.integers(4)], "lda": 1 << 31},
                {"k": min(mode.k_max + edge, (1 << 24) - 1), "lda": 1 << 28},
                dict(zip(("block_m", "block_n", "block_k"), rng.integers(1, 20, 3), strict=True)),
            ]
            chosen = options[int(rng.integers(len(options)))]
            changes: dict[str, Any] = {key: int(value) for key, value in chosen.items()}
            job = replace(job, **changes)
            error = error_of(spec, job)
            seen.add(error)
            made = c_driver.CJob.of(job)  # type: ignore[arg-type]
            made.mode = found
            assert rig.device.call("check", ctypes.byref(made)) == REFUSALS[error], (job, error)
    assert seen >= {Error.NONE, Error.DIMENSION, Error.LEADING_DIMENSION, Error.WRAPS, Error.BLOCKS}


def test_c_driver_wants_a_mode(rig: Rig) -> None:
    job = c_driver.CJob()
    rig.device.call("job_init", ctypes.byref(job), 1, 1, 1, False)
    assert rig.device.call("check", ctypes.byref(job)) == REFUSALS[Error.MODE]
    other = c_driver.CMode(codes=1, a_bits=128, b_bits=4, k_max=9)
    assert rig.device.call("check", ctypes.byref(rig.job(other, 1, 1, 1, False))) == 10
    longest = min(rig.table, key=lambda mode: mode.k_max)
    if longest.k_max < (1 << 24) - 1:
        job = rig.job(longest, 1, 1, longest.k_max + 1, False)
        assert rig.device.call("check", ctypes.byref(job)) == REFUSALS[Error.K_TOO_LARGE]


def test_c_driver_multiplies_in_each_mode(rig: Rig) -> None:
    """Through caches: all that the device reads is cleaned, and nothing else is needed."""
    spec, rng = rig.spec, np.random.default_rng(9)
    for pair, mode, found in zip(spec.inside.modes, rig.modes.values(), rig.table, strict=True):
        m, n, k = 5, 4, 7
        a, b = (
            rng.integers(number.low, number.high, shape, endpoint=True)
            for number, shape in ((mode.a, (m, k)), (mode.b, (k, n)))
        )
        job = rig.job(found, m, n, k, False)
        held = []
        for name, rows, distance in (
            ("a", mode.a.pack(a), job.lda),
            ("b", mode.b.pack(mode.words(b)), job.ldb),
            ("c", np.zeros((m, 0), np.uint8), job.ldc),
        ):
            buffer = rig.pool((len(rows) * distance,), np.uint8)
            buffer[:] = 0
            buffer.reshape(len(rows), distance)[:, : rows.shape[1]] = rows
            setattr(job, name, buffer.device_address)
            held.append(buffer)
        rig.device.call("plan", ctypes.byref(job))
        assert rig.device.call("start", ctypes.byref(job)) == 0
        assert rig.device.call("wait", 0, None, None) == 0
        rig.device.call("finish", ctypes.byref(job), 1)
        numbers = rig.device.info.sums
        bytes_of_c = np.asarray(held[2]).reshape(m, -1)[:, : n * spec.sum_bytes]
        sums, invalid = spec.inside.multiply(a, b, pair)
        assert np.array_equal(numbers.unpack(bytes_of_c, n)[~invalid], sums[~invalid])
        assert not invalid.all()
        for buffer in held:
            buffer.freebuffer()
