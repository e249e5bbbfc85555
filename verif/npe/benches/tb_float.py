"""Bench of the floating-point units: one code for each run of beats."""

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
    limited_beats,
    schedule,
)
from carrysave.sim.parameters import bench_parameters, bench_spec
from verif.npe.benches.float_codes import KINDS
from verif.npe.benches.float_units import Columns, unit

UNIT = unit(bench_spec())
LATENCY = bench_parameters()["latency"]


def ends(lengths: np.ndarray) -> np.ndarray:
    """Mark the last beat of each run."""
    last = np.zeros(lengths.sum(), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    return last


class FloatBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", UNIT.fields)
        self.o = Sink(dut, "o", ["sum"])

    async def check(
        self, columns: Columns, last: np.ndarray, source: str, sink: str, seed: int
    ) -> None:
        """Send beats and compare every result with golden."""
        count = limited_beats(last)
        columns, last = tuple(column[:count] for column in columns), last[:count]
        expected = UNIT.golden(columns, last)
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.i.send(UNIT.beats(columns, last), stalls[0])
        taken = self.o.take(len(expected), stalls[1])
        # The slowest schedule moves in one cycle of five.
        await deadline(taken, 16 * len(last) + 200 * len(expected) + 1000, "sums")
        sums = np.array([int(bits, 2) for bits in self.o.pop()[0]], dtype=object)
        assert len(sums) == len(expected) > 0
        wrong = np.flatnonzero(sums != expected)
        assert not wrong.size, (
            f"{wrong.size} of {len(sums)} sums differ; sum {wrong[0]} is {sums[wrong[0]]:#x}"
            f" and must be {expected[wrong[0]]:#x}"
        )
        await self.o.silent(LATENCY + 3)

    async def draw(
        self, lengths: np.ndarray, kind: str, seed: int, source: str = "flowing", sink: str = ""
    ) -> None:
        """Check runs of drawn beats."""
        columns = UNIT.draw(generator(seed), lengths, kind)
        await self.check(columns, ends(lengths), source, sink or source, seed)


@cocotb.test
async def test_single_beats(dut: Any) -> None:
    """Every pair of operands, or of scales, as a sum of its own, where there are at most 2^16."""
    columns = UNIT.everything()
    bench = await FloatBench(dut).start()
    if columns is None:
        await bench.draw(np.ones(3000, dtype=int), "extremes", 10)
    else:
        last = np.ones(len(columns[0]), dtype=bool)
        await bench.check(columns, last, "flowing", "flowing", 10)


@cocotb.test
async def test_infinities_are_no_numbers(dut: Any) -> None:
    """An infinity added to the number that its bits would cancel."""
    found = UNIT.infinities()
    if found is not None:
        bench = await FloatBench(dut).start()
        await bench.check(*found, "flowing", "flowing", 15)


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def test_matches_golden(dut: Any, kind: str) -> None:
    """Random runs, short and long."""
    bench = await FloatBench(dut).start()
    lengths = np.concatenate([
        generator(20).geometric(share, count) for share, count in ((0.4, 400), (0.05, 60))
    ])
    await bench.draw(np.append(lengths, 400), kind, 20 + KINDS.index(kind))


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_stalls(dut: Any, source: str, sink: str) -> None:
    """Random runs, single beats back to back among them, under stalls on either side."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    bench = await FloatBench(dut).start()
    lengths = np.concatenate([
        generator(seed).geometric(0.2, 12),
        np.ones(12, dtype=int),
        np.full(3, 4),
    ])
    await bench.draw(lengths, "near", seed, source, sink)


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset within a run, with a sum waiting, and with one on its way; then all is as new."""
    rng = generator(200)
    bench = await FloatBench(dut).start()
    for trial in range(24):
        lengths = rng.geometric(0.3, 12)
        # NaN would show in whatever it is left in.
        sent = bench.i.send(UNIT.beats(UNIT.draw(rng, lengths, "specials"), ends(lengths)))
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 12))):
            await RisingEdge(dut.clk)
        sent.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        await bench.draw(np.array([1, 3, 1]), "near", 200 + trial)


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """A sum follows the last beat of its run after the stated cycles, and sums flow."""
    bench = await FloatBench(dut).start()
    for length in (1, 2, 5):
        bench.i.cycles.clear()
        bench.o.cycles.clear()
        await bench.draw(np.full(20, length), "near", 300)
        taken, given = np.array(bench.i.cycles), np.array(bench.o.cycles)
        count = limited(20)
        assert np.diff(taken).tolist() == [1] * (count * length - 1)
        assert (given - taken[length - 1 :: length]).tolist() == [LATENCY] * count


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A sum is offered to a receiver that is not ready, and is then still there."""
    bench = await FloatBench(dut).start()
    one = np.array([1])
    columns = UNIT.draw(generator(400), one, "near")
    bench.i.send(UNIT.beats(columns, ends(one)))
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting sum")
    assert [int(bits, 2) for bits in bench.o.pop()[0]] == UNIT.golden(columns, ends(one)).tolist()
    await bench.o.silent(LATENCY + 3)
