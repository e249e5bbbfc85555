"""Bench of the generator of tables."""

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
from carrysave.sim.operands import uniform
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.tpe.lut_tables import lut_tables
from verif.support.vectors import corners

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]


def draw(rng: np.random.Generator, beats: int) -> np.ndarray:
    """Draw beats of activations, some of them corners."""
    codes = uniform(rng, SPEC.a_format, (beats, SPEC.m * SPEC.k))
    edge = rng.random(codes.shape) < 0.3
    codes[edge] = rng.choice(corners(SPEC.a_format), edge.sum())
    return np.maximum(codes, -SPEC.greatest)


def every_group() -> np.ndarray:
    """Make beats of all groups of activations, or of 2^14 of them."""
    bits = SPEC.group * SPEC.a_width
    if bits <= 16:
        codes = np.arange(1 << bits)[:, None] >> SPEC.a_width * np.arange(SPEC.group)
        codes = SPEC.a_format.wrap(codes & (1 << SPEC.a_width) - 1)
    else:
        codes = uniform(generator(1), SPEC.a_format, (1 << 14, SPEC.group))
    codes = np.maximum(codes, -SPEC.greatest)
    return np.resize(codes, (-(-len(codes) // (SPEC.m * SPEC.lookups)), SPEC.m * SPEC.k))


class TablesBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", ["data", "last"])
        self.o = Sink(dut, "o", ["data", "last"])

    def send(self, codes: np.ndarray, last: np.ndarray, stalls: Any = None) -> Any:
        """Start to send beats."""
        values = pack(codes, SPEC.a_width)
        return self.i.send(list(zip(values, last.tolist(), strict=True)), stalls)

    async def check(self, codes: np.ndarray, sent: Any = None, taken: Any = None) -> None:
        """Send beats, some of them the last, and compare every entry with golden."""
        codes = codes[: limited(len(codes))]
        last = generator(2).integers(0, 2, len(codes))
        due = lut_tables(SPEC, codes)
        self.send(codes, last, sent)
        await deadline(self.o.take(len(due), taken), 60 * len(due) + 1000, "tables")
        data, marks = self.o.pop()
        found = unpack(data, SPEC.code_format)
        assert found.shape == due.shape
        assert found.size
        wrong = np.argwhere(found != due)
        assert not wrong.size, f"{len(wrong)} of {found.size} entries differ, first {wrong[0]}"
        assert [int(mark) for mark in marks] == last.tolist()
        await self.o.silent(LATENCY + 3)


@cocotb.test
async def test_every_group(dut: Any) -> None:
    """All groups of activations, as far as they are at most 2^16."""
    bench = await TablesBench(dut).start()
    await bench.check(every_group())


@cocotb.test
@cocotb.parametrize(sent=list(SCHEDULES), taken=list(SCHEDULES))
async def test_stalls(dut: Any, sent: str, taken: str) -> None:
    """Nothing is lost, doubled or swapped under stalls."""
    rng = generator(10, list(SCHEDULES).index(sent), list(SCHEDULES).index(taken))
    bench = await TablesBench(dut).start()
    await bench.check(draw(rng, 60), schedule(sent, rng), schedule(taken, rng))


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Nothing of before a reset comes after it."""
    rng = generator(20)
    bench = await TablesBench(dut).start()
    for trial in range(12):
        tasks = [bench.send(draw(rng, 9), np.ones(9, dtype=int))]
        if trial % 2:
            tasks.append(bench.o.take(100))
        for _ in range(int(rng.integers(1, 6))):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        bench = await bench.restart()
        if trial % 3 == 2:
            await bench.o.silent(LATENCY + 3)
        await bench.check(draw(rng, 5))


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """Tables are offered to a receiver that is not ready."""
    bench = await TablesBench(dut).start()
    codes = draw(generator(25), 1)
    bench.send(codes, np.ones(1, dtype=int))
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 10, "tables")
    data, _ = bench.o.pop()
    assert np.array_equal(unpack(data, SPEC.code_format), lut_tables(SPEC, codes))


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """A beat a cycle, and its tables a cycle later."""
    bench = await TablesBench(dut).start()
    await bench.check(draw(generator(30), 50))
    taken, given = np.array(bench.i.cycles), np.array(bench.o.cycles)
    assert np.all(np.diff(taken) == 1)
    assert np.all(given - taken == LATENCY)
