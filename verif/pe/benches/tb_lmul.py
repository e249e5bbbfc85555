"""Bench of L-Mul: a code for each pair of codes."""

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
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.formats.integer import IntFormat
from golden.pe.lmul import lmul

SPEC = bench_spec()
FORMAT = SPEC.number
LATENCY = bench_parameters()["latency"]
EVERY = 1 << 16
"""Pairs up to which all are multiplied."""


class LmulBench(Bench):
    """Drives the unit's two streams."""

    def __init__(self, dut: Any, *more: Any) -> None:
        super().__init__(dut, *more)
        self.i = Source(dut, "i", ["a", "b"])
        self.o = Sink(dut, "o", ["product"])

    def send(self, a: np.ndarray, b: np.ndarray, stalls: Any = None) -> Any:
        """Start to send pairs."""
        patterns = [pack(codes[:, None], FORMAT.width) for codes in (a, b)]
        return self.i.send(list(zip(*patterns, strict=True)), stalls)

    async def check(
        self, a: np.ndarray, b: np.ndarray, sent: Any = None, taken: Any = None
    ) -> None:
        """Multiply pairs, and compare every code."""
        a, b = a[: limited(len(a))], b[: limited(len(a))]
        self.send(a, b, sent)
        await deadline(self.o.take(len(a), taken), 40 * len(a) + 1000, "products")
        (found,) = self.o.pop()
        codes = unpack(found, IntFormat(width=FORMAT.width, signed=False))[:, 0]
        expected = lmul(SPEC, a, b)
        wrong = np.flatnonzero(codes != expected)
        assert codes.shape == expected.shape
        assert not wrong.size, (
            f"{wrong.size} of {codes.size} differ; {a[wrong[0]]:#x} x {b[wrong[0]]:#x} is"
            f" {codes[wrong[0]]:#x} and must be {expected[wrong[0]]:#x}"
        )
        await self.o.silent(10)


def interesting() -> np.ndarray:
    """Return codes around zero, one, the ends of the format and what is no number."""
    least, most = 1 << FORMAT.mantissa_bits, (1 << FORMAT.width - 1) - 1
    one = FORMAT.bias << FORMAT.mantissa_bits
    near = [c + d for c in (0, least, one, one + least, FORMAT.max_code, most) for d in (-1, 0, 1)]
    bodies = np.unique([code for code in near if 0 <= code <= most])
    return np.concatenate([bodies, bodies | FORMAT.sign_code])


def pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs: any, near the ends of what products can be, and corners."""
    a, b = rng.integers(0, 1 << FORMAT.width, (2, count))
    # Where R is about 2^M or the greatest number.
    base = FORMAT.bias << FORMAT.mantissa_bits
    spread = 3 << FORMAT.mantissa_bits
    edge = rng.choice([1 << FORMAT.mantissa_bits, FORMAT.max_code], count)
    near = base + edge - (a & FORMAT.sign_code - 1) + rng.integers(-spread, spread, count)
    near = np.clip(near, 0, FORMAT.sign_code - 1) | (b & FORMAT.sign_code)
    b = np.where(rng.random(count) < 0.4, near, b)
    return a, b


@cocotb.test
async def test_matches_golden(dut: Any) -> None:
    """Multiply all pairs up to 8 x 8 bits; else corners with corners, and random pairs."""
    bench = await LmulBench(dut).start()
    if 1 << 2 * FORMAT.width <= EVERY:
        a, b = np.meshgrid(np.arange(1 << FORMAT.width), np.arange(1 << FORMAT.width))
    else:
        a, b = np.meshgrid(interesting(), interesting())
        await bench.check(*pairs(generator(1), 20000))
    await bench.check(a.reshape(-1), b.reshape(-1))


@cocotb.test
@cocotb.parametrize(sent=list(SCHEDULES), taken=list(SCHEDULES))
async def test_stalls(dut: Any, sent: str, taken: str) -> None:
    """Nothing is lost, doubled or swapped under stalls."""
    bench = await LmulBench(dut).start()
    rng = generator(2, list(SCHEDULES).index(sent), list(SCHEDULES).index(taken))
    await bench.check(*pairs(rng, 200), schedule(sent, rng), schedule(taken, rng))


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Nothing of before a reset comes after it."""
    bench = await LmulBench(dut).start()
    rng = generator(3)
    for trial in range(8):
        tasks = [bench.send(*pairs(rng, 50))]
        if trial % 2:
            tasks.append(bench.o.take(50))
        # Not by time, which simulators order among the edges of the clock as they like.
        for _ in range(int(rng.integers(1, 40))):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        bench = await bench.restart()
        await bench.check(*pairs(rng, 20))


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """A pair a cycle, and each product after the stated latency."""
    bench = await LmulBench(dut).start()
    await bench.check(*pairs(generator(4), 100))
    assert np.all(np.subtract(bench.o.cycles, bench.i.cycles) == LATENCY)
    assert np.all(np.diff(bench.o.cycles) == 1)
