"""Bench of depthwise jobs: every byte of memory is the twin's, and no other byte is read."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from carrysave.driver.registers import FIELDS
from carrysave.sim.cocotb.streams import generator, limited
from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import Error, Job, matrices
from golden.soc.depthwise import at_once
from golden.soc.depthwise_limits import cycles, fits
from golden.soc.window import Window
from verif.soc.benches import jobs
from verif.soc.benches.depthwise import any_depthwise, wrong_depthwise
from verif.soc.benches.tb_coprocessor_scratch import BASE, SPEC, Both, placed, start
from verif.soc.uvm.orders import moved

_WINDOW = {name: FIELDS[f"job_{name}"][0] for name in ("b_scales_hi", "a_scales_hi")}


async def run(both: Both, *ring: Job) -> None:
    """Run jobs; what is read is theirs, at most a beat more at each end."""
    before = len(both.memory.bursts)
    assert await both.run(*ring) is Error.NONE
    allowed: set[int] = set()
    for job in ring:
        for name, one in matrices(SPEC, job).items():
            if name != "c" or job.accumulate:
                allowed |= set((one.places().reshape(-1) // SPEC.bytes).tolist())
    if len(ring) > 1:
        first = 2 * jobs.SIZE // SPEC.bytes
        allowed |= {beat for beat in range(len(both.memory.data) // SPEC.bytes) if beat > first}
    for channel, address, beats in both.memory.bursts[before:]:
        if channel == "ar" and address < jobs.SIZE:
            read = {address // SPEC.bytes + beat for beat in range(beats)}
            assert read <= allowed, f"{sorted(read - allowed)} of {ring}"


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "long"))
async def test_any_depthwise(dut: Any, kind: str) -> None:
    """Any geometry, with biases and records or without, in memory or on chip, under stalls."""
    both, rng = await start(dut, 31, kind, 20), generator(32)
    both.memory.data[: jobs.SIZE] = rng.integers(0, 256, jobs.SIZE, np.uint8)
    for number in range(limited(60)):
        job = any_depthwise(SPEC, rng)
        await run(both, placed(rng, job) if number % 2 else job)


@cocotb.test
async def test_edges(dut: Any) -> None:
    """Maps of one pixel; windows wholly outside; large pads, and steps of taps."""
    both, rng = await start(dut, 33), generator(34)
    both.memory.data[: jobs.SIZE] = rng.integers(0, 256, jobs.SIZE, np.uint8)
    lanes = SPEC.vector.lanes if SPEC.vector is not None else 1
    for kernel, edge, across in (
        ((1, 1), (0, 0), 1),
        ((3, 3), (1, 1), 1),
        ((2, 2), (9, 9), 3),
        ((1, 4), (0, 255), 2),
        ((5, 7), (255, 0), 9),
    ):
        # Of the last one, most columns come behind the last window.
        for side, step in ((1, 1), (2, 3), (4, 1), (60, 1)):
            window = Window(
                height=side,
                width=side,
                across=across,
                channels=lanes - 1 or 1,
                pixel=lanes,
                kernel=kernel,
                first=edge,
                strides=(2, 15),
                dilations=(step, step),
                fill=77,
            )
            if fits(SPEC, window):
                await run(both, any_depthwise(SPEC, rng, window))


@cocotb.test(skip=SPEC.tap_rows == 1)
async def test_rows_read_once(dut: Any) -> None:
    """As many rows of windows as are summed at once, and more; kernels wider than the taps.

    Sums of two maps come between: they have the multipliers of one row.
    """
    both, rng = await start(dut, 41, "bursts"), generator(42)
    both.memory.data[: jobs.SIZE] = rng.integers(0, 256, jobs.SIZE, np.uint8)
    assert SPEC.vector is not None
    lanes, most = SPEC.vector.lanes, SPEC.tap_rows
    to = Requantisation(
        multiplier=np.array([1 << 30]), shift=np.array([44]), zero_point=np.array([1])
    )
    maps = Job(
        a=7, b=512, c=1024, m=3, n=lanes + 1, k=1, lda=40, ldb=44, ldc=48, vector="map_add",
        requantisation=to, zeros=(3, -5), factors=(9000, -5000),
    )  # fmt: skip
    ran = 0
    for stride in (1, 2):
        for kh in (stride + 1, stride * most - 1, stride * most, stride * most + 1):
            kernel = (kh, SPEC.taps + int(rng.integers(3)) - 1)
            window = Window(
                height=kh + 2,
                width=5,
                across=4,
                channels=lanes,
                pixel=lanes,
                kernel=kernel,
                first=(kh // 2, 1),
                strides=(stride, 1 + int(rng.integers(2))),
                fill=77,
            )
            if fits(SPEC, window):
                job = any_depthwise(SPEC, rng, window)
                for ring in [(job, maps)] if SPEC.follows_ring else [(job,), (maps,)]:
                    await run(both, *ring)
                ran += at_once(window, most)
    assert ran >= 4


@cocotb.test(skip=not SPEC.follows_ring)
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_rings(dut: Any, kind: str) -> None:
    """Jobs of one start that share windows and differ in addresses; among other jobs, too."""
    both, rng = await start(dut, 35, kind), generator(36)
    both.memory.data[: jobs.SIZE] = rng.integers(0, 256, jobs.SIZE, np.uint8)
    for number in range(limited(12)):
        job = any_depthwise(SPEC, rng)
        found = matrices(SPEC, job)
        if number % 3 == 2:
            others = jobs.any_job(SPEC, rng, 0.07), any_depthwise(SPEC, rng)
            ring = [job]
            for other in others:
                free = max(one.end for before in ring for one in matrices(SPEC, before).values())
                ring.append(moved(other, free))
            if max(one.end for one in matrices(SPEC, ring[-1]).values()) <= jobs.SIZE:
                await run(both, *ring, job)
            continue
        size = found["c"].end - found["c"].address
        free = max(one.end for name, one in found.items())
        places = list(range(free, jobs.SIZE - size, size + 3))[:4]
        await run(both, job, *(replace(job, c=c) for c in places))


@cocotb.test
async def test_refused(dut: Any) -> None:
    """What is wrong is told by its code, and nothing is read or written; the next job is right."""
    both, rng = await start(dut, 37), generator(38)
    both.memory.data[: jobs.SIZE] = rng.integers(0, 256, jobs.SIZE, np.uint8)
    good, wrong = wrong_depthwise(SPEC, rng, min(1 << SPEC.address_width, BASE))
    beats = both.memory.read_beats, both.memory.write_beats
    for error, job in wrong:
        assert await both.run(job) is error, job
    assert (both.memory.read_beats, both.memory.write_beats) == beats
    product = replace(good, window=None, vector=None, k=5, lda=64, ldb=64, b=4000, c=8000)
    for job in (good, product):
        assert await both.run(job) is Error.NONE
    # What golden has no words for: bits without a meaning, no channels.
    for name, value, error in (
        ("b_scales_hi", 0x1001111, Error.MODE),
        ("a_scales_hi", 5, Error.DIMENSION),
    ):
        await run(both, good)
        before = both.memory.data.copy()
        await both.host.write(_WINDOW[name], value)
        await both.host.write(0, 1)
        assert await both.host.wait() == error, (name, value)
        assert np.array_equal(both.memory.data, before)
    await run(both, good)


@cocotb.test(skip=not SPEC.counters or SPEC.outstanding < 4)
async def test_cycles(dut: Any) -> None:
    """Whole layers take what golden says, beside what a job's start and end take."""
    both, rng = await start(dut, 39, latency=3), generator(40)
    assert SPEC.vector is not None
    lanes = SPEC.vector.lanes
    for side, kernel, stride, groups in ((14, 3, 1, 3), (9, 5, 1, 2), (16, 3, 2, 2), (30, 3, 1, 1)):
        pads = kernel // 2
        window = Window(
            height=side, width=side, across=-(-side // stride), channels=groups * lanes,
            pixel=groups * lanes, kernel=(kernel, kernel), strides=(stride, stride),
            first=(pads, pads),
        )  # fmt: skip
        if not fits(SPEC, window):
            continue
        job = replace(any_depthwise(SPEC, rng, window), lda=window.row_bytes, ldc=window.channels)
        job = replace(job, a=0, c=8192, b=16384, bias=None, records=None, table=False)
        job = replace(job, m=window.across**2)
        await run(both, job)
        took = await both.host.read(FIELDS["counters_cycles_lo"][0])
        least = cycles(SPEC, job)
        cocotb.log.info("%s took %d, golden %d", window, took, least)
        assert -2 <= took - least <= max(160, 0.03 * least), (window, took, least)
