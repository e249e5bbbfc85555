"""Bench of the multiply-accumulate PEs, whose sum comes as one row or two."""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.streams import SCHEDULES, cycle, deadline, generator, limited
from carrysave.sim.operands import normal, uniform
from carrysave.sim.parameters import bench_parameters
from golden.pe.mac import mac
from verif.pe.benches.mac_bench import (
    LATENCY,
    SPEC,
    MacBench,
    beats,
    ends,
    hold,
    pairs,
    serial,
    spent,
    wrap_length,
)
from verif.support.vectors import corners

STALLED = ["sparse", "bursts", "rare", "long"]
_SHORT, _LONG = 8000, 1 << 20
"""Products in a run that are sent beat by beat, and at most."""


@cocotb.test
async def test_operand_pairs(dut: Any) -> None:
    """Every pair of operands if there are at most 2^16, else all corners and random ones.

    Each pair stands in each of the k places of a beat as often.
    """
    rng = generator(10)
    if SPEC.a_width + SPEC.b_width <= 16:
        codes = [np.arange(f.low, f.high + 1) for f in (SPEC.a_format, SPEC.b_format)]
        a, b = (grid.reshape(-1) for grid in np.meshgrid(*codes))
    else:
        grids = np.meshgrid(corners(SPEC.a_format), corners(SPEC.b_format))
        a = np.concatenate([grids[0].reshape(-1), uniform(rng, SPEC.a_format, 8000)])
        b = np.concatenate([grids[1].reshape(-1), uniform(rng, SPEC.b_format, 8000)])
    order = rng.permutation(len(a))
    places = np.stack([np.roll(order, place) for place in range(SPEC.k)], axis=1)
    last = rng.random(len(a)) < 0.25
    last[-1] = True
    bench = await MacBench(dut).start()
    await bench.check(a[places], b[places], last, "flowing", "flowing", 10)


@cocotb.test(skip=SPEC.k == 1)
async def test_few_digits(dut: Any) -> None:
    """One place of a beat, or some, have the same power of two or corner, all others have 0.

    No digit of another place hides what becomes of these.

    Neither in the sum, nor in the cycles that golden states for it.
    """
    rng = generator(15)
    fmt = SPEC.a_format
    powers = [sign << bit for bit in range(fmt.width) for sign in (1, -1)]
    values = sorted({*powers, *corners(fmt)} & {*range(fmt.low, fmt.high + 1)})
    places = [*np.eye(SPEC.k, dtype=np.int64), *rng.integers(0, 2, (8, len(values), SPEC.k))]
    a = np.concatenate([np.array(values)[:, None] * row for row in places])
    bench = await MacBench(dut).start()
    b, last = uniform(rng, SPEC.b_format, a.shape), np.ones(len(a), bool)
    await bench.check(a, b, last, "flowing", "flowing", 15)
    due = spent(a, b, last)[: limited(len(a))]
    assert np.diff(bench.o.cycles).tolist() == due[1:].tolist()


@cocotb.test
async def test_extremes_do_not_overflow(dut: Any) -> None:
    """Runs of one extreme product, longer than the accumulator holds where that is feasible."""
    bench = await MacBench(dut).start()
    fa, fb = SPEC.a_format, SPEC.b_format
    longest = wrap_length() + 1 if wrap_length() < _SHORT else 1000
    for x, y in [(fa.low, fb.low), (fa.low, fb.high), (fa.high, fb.low), (fa.high, fb.high)]:
        lengths = np.array([1, 2, 3, longest, 1])
        total = lengths.sum()
        extremes = np.full((total, SPEC.k), x), np.full((total, SPEC.k), y)
        await bench.check(*extremes, ends(lengths), "flowing", "flowing", 20)


@cocotb.test(skip=serial() or limited(_SHORT) < _SHORT or not _SHORT <= wrap_length() <= _LONG)
async def test_long_runs_wrap(dut: Any) -> None:
    """As many of one extreme product as wrap a wide accumulator, where a beat takes a cycle."""
    bench = await MacBench(dut).start()
    await RisingEdge(dut.clk)  # the bubble that empties the element
    fa, fb, count = SPEC.a_format, SPEC.b_format, wrap_length() // SPEC.k + 1
    for x, y in [(fa.low, fb.low), (fa.low, fb.high), (fa.high, fb.low), (fa.high, fb.high)]:
        a, b = (np.full((count + 1, SPEC.k), value) for value in (x, y))
        last = ends(np.array([count + 1]))
        more, final = beats(a[-2:], b[-2:], last[-2:])
        await hold(bench.i, more, count)
        bench.i.send([final])
        await deadline(bench.o.take(1), LATENCY + 100, "sum")
        assert bench.sums().tolist() == mac(SPEC, a, b, last).tolist()


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Random runs, single pairs back to back among them, under stalls on either side."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    rng = generator(seed)
    bench = await MacBench(dut).start()
    for draw in (uniform, normal):
        lengths = np.concatenate([rng.geometric(0.1, 20), np.ones(15, int), rng.geometric(0.5, 20)])
        a = draw(rng, SPEC.a_format, (lengths.sum(), SPEC.k))
        b = draw(rng, SPEC.b_format, (lengths.sum(), SPEC.k))
        edge = rng.random(a.shape) < 0.1
        a[edge] = rng.choice(corners(SPEC.a_format), edge.sum())
        b[edge] = rng.choice(corners(SPEC.b_format), edge.sum())
        await bench.check(a, b, ends(lengths), source, sink, seed)


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset within a run, with a sum waiting, and with one on its way; then all is as new."""
    rng = generator(200)
    bench = await MacBench(dut).start()
    for trial in range(24):
        lengths = rng.geometric(0.3, 12)
        a, b = pairs(rng, lengths.sum())
        sent = bench.i.send(beats(a, b, ends(lengths)))
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 12))):
            await RisingEdge(dut.clk)
        sent.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        lengths = np.array([1, 3, 1])
        a, b = pairs(rng, 5)
        await bench.check(a, b, ends(lengths), "flowing", "flowing", 200)


@cocotb.test
async def test_latency(dut: Any) -> None:
    """A sum follows the first beat of its run after the stated number of cycles."""
    bench = await MacBench(dut).start()
    await bench.check(*pairs(generator(300), 1), ends(np.array([1])), "flowing", "flowing", 300)
    for length in (1, 2, 5):
        a, b = pairs(generator(300), length)
        last = ends(np.array([length]))
        bench.i.offers.clear()
        await bench.check(a, b, last, "flowing", "flowing", 300)
        stated = spent(a, b, np.zeros_like(last)).sum() - 1 + LATENCY
        assert bench.o.cycles[-1] - bench.i.offers[0] == stated


@cocotb.test(skip=bench_parameters()["design"] not in ("mac", "opt1", "opt2"))
async def test_first_pair_after_reset(dut: Any) -> None:
    """It is taken when the bubble that empties the element has passed, and not later."""
    bench = await MacBench(dut).start()
    for _ in range(3):
        bench = await bench.restart()
        since = cycle()
        a, b = pairs(generator(350), 1)
        await bench.check(a, b, ends(np.array([1])), "flowing", "flowing", 350)
        assert bench.i.cycles[0] - since <= 2


@cocotb.test
async def test_throughput(dut: Any) -> None:
    """Sums follow each other as golden states, even if each beat is a sum of its own."""
    bench = await MacBench(dut).start()
    for length in (1, 7):
        a, b = pairs(generator(400), 20 * length)
        last = ends(np.full(20, length))
        await bench.check(a, b, last, "flowing", "flowing", 400)
        count = limited(20)
        runs = spent(a, b, last).reshape(20, length).sum(axis=1)[:count]
        assert np.diff(bench.o.cycles[-count:]).tolist() == runs[1:].tolist()


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A sum is offered to a receiver that is not ready, and is then still there."""
    bench = await MacBench(dut).start()
    ones, last = np.ones((1, SPEC.k), int), np.array([True])
    bench.i.send(beats(ones, ones, last))
    for _ in range(spent(ones, ones, last).sum() + LATENCY + 2):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting sum")
    assert bench.sums().tolist() == mac(SPEC, ones, ones, last).tolist()
    await bench.o.silent(LATENCY + 3)
