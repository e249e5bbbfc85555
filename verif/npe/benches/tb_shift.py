"""Bench of the integer activations, which take rows and give rows as long."""

import importlib
from itertools import product
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import (
    SCHEDULES,
    Sink,
    Source,
    deadline,
    generator,
    limited,
    pack,
    schedule,
    unpack,
)
from carrysave.sim.operands import normal, uniform
from carrysave.sim.parameters import bench_parameters, bench_spec

SPEC = bench_spec()
DESIGN = bench_parameters()["design"]
LATENCY = bench_parameters()["latency"]
GOLDEN = importlib.import_module(type(SPEC).__module__)
LONGEST = min(SPEC.length, 80)


class ShiftBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", ["data", "last"])
        self.o = Sink(dut, "o", ["data", "last"])

    async def check(
        self, rows: list[np.ndarray], source: str = "flowing", sink: str = "flowing", seed: int = 0
    ) -> None:
        """Send rows, and compare every result with golden."""
        rows = rows[: limited(len(rows))]
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.i.send(beats(rows), stalls[0])
        taken = self.o.take(sum(map(len, rows)), stalls[1])
        # The slowest schedule moves in one cycle of five.
        await deadline(taken, 16 * sum(spent(row) for row in rows) + 1000, "results")
        self.compare(rows)
        await self.o.silent(5)

    def compare(self, rows: list[np.ndarray]) -> None:
        """Compare the results taken since the last call with golden."""
        data, last = self.o.pop()
        found = unpack(data, SPEC.out_format).reshape(-1)
        expected = np.concatenate([getattr(GOLDEN, DESIGN)(SPEC, row) for row in rows])
        ends = np.cumsum([len(row) for row in rows]).tolist()
        assert [place + 1 for place, mark in enumerate(last) if mark == "1"] == ends
        assert found.shape == expected.shape
        assert expected.size > 0
        wrong = np.flatnonzero(found != expected)
        assert not wrong.size, (
            f"{wrong.size} of {len(found)} results differ; result {wrong[0]} is {found[wrong[0]]}"
            f" and must be {expected[wrong[0]]}"
        )


def beats(rows: list[np.ndarray]) -> list[tuple[int, int]]:
    """Make the bit patterns of rows."""
    marks = [int(place == len(row) - 1) for row in rows for place in range(len(row))]
    return list(zip(pack(np.concatenate(rows)[:, None], SPEC.width), marks, strict=True))


def spent(row: np.ndarray) -> int:
    """Cycles that golden states for a row."""
    return GOLDEN.cycles(SPEC, len(row))


def draw(rng: np.random.Generator, length: int) -> np.ndarray:
    """Draw a row: uniform or normal, near the top or the bottom of the format."""
    fmt = SPEC.in_format
    row = [uniform, normal][rng.integers(2)](rng, fmt, length)
    row = row >> rng.integers(fmt.width)
    offset = rng.choice([0, fmt.low - row.min(), fmt.high - row.max()])
    return row + offset


@cocotb.test
async def test_all_values(dut: Any) -> None:
    """Every value, and every distance from the greatest, in rows of two lengths."""
    fmt = SPEC.in_format
    codes = np.arange(fmt.low, fmt.high + 1)
    rng = generator(10)
    if len(codes) > 1 << 10:
        codes = np.concatenate([codes[:200], codes[-200:], rng.choice(codes, 600)])
    bench = await ShiftBench(dut).start()
    size = max(1, LONGEST - 1)
    tops = [fmt.high, 0, -1, int(rng.integers(1, fmt.high + 1))]
    if size == 1 or LONGEST == 1:
        await bench.check([codes[at : at + 1] for at in range(len(codes))])
        return
    for top in tops:
        below = rng.permutation(codes[codes <= top])
        parts = [below[at : at + size] for at in range(0, len(below), size)]
        await bench.check([np.append(part, top) for part in parts])


@cocotb.test(skip=SPEC.width > 10)
async def test_all_rows(dut: Any) -> None:
    """Every row there can be, of the lengths of which there are few."""
    fmt = SPEC.in_format
    codes = range(fmt.low, fmt.high + 1)
    bench = await ShiftBench(dut).start()
    for length in range(1, LONGEST + 1):
        if len(codes) ** length > 1 << 10:
            break
        await bench.check([np.array(row) for row in product(codes, repeat=length)])


@cocotb.test
async def test_extremes_do_not_overflow(dut: Any) -> None:
    """Rows of one value, as long as they can be; and of two."""
    fmt = SPEC.in_format
    bench = await ShiftBench(dut).start()
    rows = [np.full(LONGEST, code) for code in (fmt.low, -1, 0, 1, fmt.high)]
    for code in (fmt.low, 0, fmt.high - 1):
        mixed = np.full(LONGEST, code)
        mixed[-1] = fmt.high
        rows += [mixed, mixed[::-1]]
    await bench.check(rows)


@cocotb.test
async def test_rows_of_all_lengths(dut: Any) -> None:
    """Rows of each length, a short one after a long one too."""
    rng = generator(20)
    bench = await ShiftBench(dut).start()
    lengths = [*range(1, min(LONGEST, 20) + 1), LONGEST, 1, 1, LONGEST]
    await bench.check([draw(rng, length) for length in lengths])


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Random rows under stalls on either side."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    rng = generator(seed)
    bench = await ShiftBench(dut).start()
    lengths = np.minimum(rng.geometric(0.15, 12), LONGEST)
    await bench.check([draw(rng, length) for length in lengths], source, sink, seed)


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset while a row comes, is worked at, and leaves; then all is as new."""
    rng = generator(200)
    bench = await ShiftBench(dut).start()
    for trial in range(30):
        rows = [draw(rng, min(5, LONGEST)) for _ in range(4)]
        sent = bench.i.send(beats(rows))
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 2 * spent(rows[0])))):
            await RisingEdge(dut.clk)
        sent.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        await bench.check([draw(rng, length) for length in (1, min(3, LONGEST))])


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """Rows take the cycles that golden states, whatever the values."""
    rng = generator(300)
    bench = await ShiftBench(dut).start()
    for length in sorted({1, 2, min(3, LONGEST), min(11, LONGEST), LONGEST} & {*range(1, 1000)}):
        if length > LONGEST:
            continue
        for _ in range(3):
            bench.i.cycles.clear()
            await bench.check([draw(rng, length)])
            assert bench.o.cycles[-1] - bench.i.cycles[0] + 1 == spent(np.zeros(length))
            if length == 1:
                assert bench.o.cycles[-1] - bench.i.cycles[0] == LATENCY


@cocotb.test
async def test_throughput(dut: Any) -> None:
    """A row begins in the cycle of the last result of the one before."""
    rng = generator(400)
    bench = await ShiftBench(dut).start()
    length = min(4, LONGEST)
    rows = [draw(rng, length) for _ in range(6)][: limited(6)]
    await bench.check(rows)
    due = [spent(rows[0]) - 1] * (len(rows) - 1)
    assert np.diff(bench.o.cycles[length - 1 :: length]).tolist() == due


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A result is offered to a receiver that is not ready, and is then still there."""
    bench = await ShiftBench(dut).start()
    row = draw(generator(500), 1)
    bench.i.send(beats([row]))
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting result")
    bench.compare([row])
    await bench.o.silent(5)
