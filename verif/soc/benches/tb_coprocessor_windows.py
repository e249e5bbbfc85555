"""Bench of windows of a map: every byte of memory is the twin's, and no other byte is read."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np

from carrysave.driver.registers import FIELDS
from carrysave.sim.cocotb.streams import generator, limited
from golden.soc.code_table import CODES
from golden.soc.coprocessor import Error, Job, matrices
from golden.soc.window import Window
from verif.soc.benches import jobs
from verif.soc.benches.jobs import requantisation
from verif.soc.benches.tb_coprocessor_scratch import BASE, SPEC, Both, placed, start
from verif.soc.benches.windows import any_windowed, touched

_WORDS = {name: FIELDS[f"job_{name}"][0] for name in ("b_scales_hi", "a_scales_hi")}


async def run(both: Both, *ring: Job) -> None:
    """Run jobs; what is read is theirs, at most a beat more at each end."""
    before = len(both.memory.bursts)
    assert await both.run(*ring) is Error.NONE
    allowed = set().union(*(touched(SPEC, job) for job in ring))
    if len(ring) > 1:
        first = 2 * jobs.SIZE // SPEC.bytes
        allowed |= {beat for beat in range(len(both.memory.data) // SPEC.bytes) if beat > first}
    for channel, address, beats in both.memory.bursts[before:]:
        if channel == "ar" and address < jobs.SIZE:
            read = {address // SPEC.bytes + beat for beat in range(beats)}
            assert read <= allowed, f"{sorted(read - allowed)} of {ring}"


@cocotb.test
@cocotb.parametrize(kind=("flowing", "bursts", "long"))
async def test_any_windows(dut: Any, kind: str) -> None:
    """Any geometry, blocks and order, in memory or on chip, whatever memory stalls."""
    both, rng = await start(dut, 21, kind, 20), generator(22)
    for number in range(limited(60)):
        job = any_windowed(SPEC, rng)
        await run(both, placed(rng, job) if number % 2 else job)


@cocotb.test
async def test_whole_windows(dut: Any) -> None:
    """Blocks of whole windows: kernel rows at once, pixels that are apart, beats of fill alone."""
    both, rng = await start(dut, 31, latency=2), generator(32)
    for channels, apart in ((SPEC.bytes, 0), (3, 0), (3, 2), (SPEC.bytes, 1)):
        window = Window(
            height=5, width=5, across=5, channels=channels, pixel=channels + apart, kernel=(2, 2),
            first=(1, 1), fill=77,
        )  # fmt: skip
        job = replace(any_windowed(SPEC, rng, window), accumulate=False)
        await run(both, replace(job, block_m=1, block_n=1, block_k=window.taps))


@cocotb.test
async def test_windows_beyond_the_map(dut: Any) -> None:
    """Maps of one pixel; windows wholly outside; the last rows of a job beyond the edges."""
    both, rng = await start(dut, 23), generator(24)
    one: dict[str, Any] = {
        "height": 1,
        "width": 1,
        "across": 3,
        "channels": 5,
        "pixel": 5,
        "fill": 77,
    }
    for kernel, edge in (((1, 1), (0, 0)), ((3, 3), (1, 1)), ((2, 2), (9, 9)), ((1, 4), (0, 255))):
        window = Window(kernel=kernel, first=edge, strides=(2, 15), **one)
        for _ in range(limited(4)):
            job = any_windowed(SPEC, rng, window)
            await run(both, job)
            await run(both, replace(job, by_columns=True, accumulate=False))


@cocotb.test(skip=not SPEC.follows_ring)
@cocotb.parametrize(kind=("flowing", "bursts"))
async def test_alike(dut: Any, kind: str) -> None:
    """Jobs of one start that share their windows and differ in addresses; and unlike ones."""
    both, rng = await start(dut, 25, kind), generator(26)
    for number in range(limited(12)):
        job = any_windowed(SPEC, rng)
        found = matrices(SPEC, job)
        if number % 3 == 2:
            await run(both, job, any_windowed(SPEC, rng), jobs.any_job(SPEC, rng, 0.07))
            continue
        size = found["c"].end - found["c"].address
        if job.c + 5 * size > jobs.SIZE:
            continue
        # Maps overlap; results do not.
        free = max(one.end for name, one in found.items())
        # So are tables.
        tables = (8 * job.n + CODES) * job.table
        ring = [job]
        for at in range(1, 6):
            c = free + (at - 1) * (size + tables)
            if c + size + tables <= jobs.SIZE:
                records = c + size if job.table else job.records
                ring.append(replace(job, a=max(job.a - at, 0), c=c, records=records))
        await run(both, *ring)


def tables_refused(good: Job, high: int) -> list[Job]:
    """List jobs whose table is wrong."""
    how = requantisation(generator(29))
    last = high - 8 * good.n
    job = replace(good, requantisation=how, records=last, table=True)
    wrong = [replace(job, records=None), replace(job, records=None, requantisation=None)]
    if SPEC.table:
        wrong += [replace(job, records=last - more) for more in (0, CODES - 1)]
        wrong += [replace(job, records=64, c_bytes=2)] * SPEC.sizes
    else:
        wrong.append(replace(job, records=64))
    return wrong


@cocotb.test
async def test_refused(dut: Any) -> None:
    """What is wrong with windows is told by its code, and nothing is read or written."""
    both, rng = await start(dut, 27), generator(28)
    window = Window(height=5, width=6, across=6, channels=3, pixel=4, kernel=(3, 2), first=(1, 0))
    good = replace(any_windowed(SPEC, rng, window), accumulate=False)
    end = matrices(SPEC, good)["a"].end
    high = min(1 << SPEC.address_width, BASE)

    def of(**changes: Any) -> Job:
        return replace(good, window=replace(window, **changes))

    wrong = [
        of(pixel=2),
        *(of(**{name: steps}) for name in ("strides", "dilations") for steps in ((0, 1), (1, 0))),
        replace(good, k=good.k + 1),
        replace(good, k=good.k - 1),
        replace(good, lda=window.row_bytes - 1),
        of(pixel=1 << 31),
        of(pixel=(1 << 32) - 1),
        replace(good, a=high - (end - good.a) + 1),
        replace(good, block_m=0),
        replace(good, block_k=0),
        replace(good, block_k=1000),
        replace(good, block_k=1 << 16),
        replace(good, block_k=(1 << 32) - 1),
        of(channels=4, kernel=(200, 250)),
        *tables_refused(replace(good, accumulate=False), high),
    ]
    beats = both.memory.read_beats, both.memory.write_beats
    for job in wrong:
        assert await both.run(job) is not Error.NONE, job
    assert (both.memory.read_beats, both.memory.write_beats) == beats
    # What golden has no words for: bits without a meaning, no channels.
    for name, value, error in (
        ("b_scales_hi", 0x1001111, Error.MODE),
        ("a_scales_hi", 5, Error.DIMENSION),
    ):
        await both.host.start(good)
        assert await both.host.wait() == Error.NONE
        before = both.memory.data.copy()
        await both.host.write(_WORDS[name], value)
        await both.host.write(0, 1)
        assert await both.host.wait() == error, (name, value)
        assert np.array_equal(both.memory.data, before)
    await run(both, good)
