"""What benches of multiply-accumulate PEs share: streams, the comparison with golden, operands."""

import importlib
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge, Timer

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import (
    PERIOD_NS,
    Sink,
    Source,
    deadline,
    generator,
    limited_beats,
    pack,
    schedule,
    unpack,
)
from carrysave.sim.operands import uniform
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.pe.mac import mac

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]


class MacBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        rows = ["sum", "carry"] if hasattr(dut, "o_carry") else ["sum"]
        self.i = Source(dut, "i", ["a", "b", "last"])
        self.o = Sink(dut, "o", rows)

    def sums(self) -> np.ndarray:
        """Return the sums taken since the last call."""
        rows = [unpack(values, SPEC.sum_format) for values in self.o.pop()]
        return SPEC.sum_format.wrap(sum(rows[1:], rows[0])).reshape(-1)

    async def check(
        self, a: np.ndarray, b: np.ndarray, last: np.ndarray, source: str, sink: str, seed: int
    ) -> None:
        """Send operand pairs, of which the last ends a sum, and compare every sum with golden."""
        count = limited_beats(last)
        a, b, last = a[:count], b[:count], last[:count]
        expected = mac(SPEC, a, b, last)
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.i.send(beats(a, b, last), stalls[0])
        taken = self.o.take(len(expected), stalls[1])
        # The slowest schedule moves in one cycle of five.
        busy = 16 * int(spent(a, b, last).sum())
        await deadline(taken, busy + 200 * len(expected) + 1000, "sums")
        sums = self.sums()
        assert len(sums) == len(expected) > 0
        wrong = np.flatnonzero(sums != expected)
        assert not wrong.size, (
            f"{wrong.size} of {len(sums)} sums differ; sum {wrong[0]} is {sums[wrong[0]]}"
            f" and must be {expected[wrong[0]]}"
        )
        await self.o.silent(LATENCY + 3)


def beats(a: np.ndarray, b: np.ndarray, last: np.ndarray) -> list[tuple[int, int, int]]:
    """Make bit patterns of operand pairs."""
    return list(
        zip(
            pack(SPEC.a_patterns(a), SPEC.a_code_width),
            pack(b, SPEC.b_width),
            last.astype(int).tolist(),
            strict=True,
        )
    )


def spent(a: np.ndarray, b: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Cycles that golden states for each beat; after those that are `last`, for their sum too."""
    cycles = importlib.import_module(type(SPEC).__module__).cycles
    return cycles(SPEC, a, b, last)


def ends(lengths: np.ndarray) -> np.ndarray:
    """Mark the last pair of each run."""
    last = np.zeros(lengths.sum(), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    return last


def pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw uniform operands for some beats."""
    shape = count, SPEC.k
    return uniform(rng, SPEC.a_format, shape), uniform(rng, SPEC.b_format, shape)


def serial() -> bool:
    """Return whether some beats take several cycles, or wait for others."""
    a, b = pairs(np.random.default_rng(0), 64)
    return bool(spent(a, b, np.zeros(64, bool)).max() > 1)


def wrap_length() -> int:
    """Return how many of the greatest products are beyond twice what the accumulator holds."""
    fa, fb = SPEC.a_format, SPEC.b_format
    return (2 << SPEC.accumulator_width) // max(1, abs(fa.low * fb.low), fa.high * fb.high)


async def hold(source: Source, beat: tuple[int, ...], count: int) -> None:
    """Send a beat `count` times, to a design that takes one in each cycle.

    Nothing is run at an edge: a million of them take as long as the simulator does.
    """
    for port, value in zip(source.payload, beat, strict=True):
        port.value = value
    source.valid.value = 1
    # The last edge is waited for as such: a time of one may come before it or after it.
    await Timer(count * PERIOD_NS - PERIOD_NS // 2, "ns")
    await RisingEdge(source.clk)
    source.idle()
