"""Bench of the encoder."""

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
    schedule,
    unpack,
)
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.formats.integer import IntFormat
from golden.npe.encoder import encoder
from verif.npe.benches.encodings import all_turns, any_length

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
CODES = IntFormat(width=SPEC.code_format.width, signed=False)
FIELDS = ["sum", *(["exponent"] if SPEC.exponent_width else []), "invalid"]
STOCHASTIC = SPEC.rounding == "stochastic"
MOST = 4000
"""Sums next to numbers and ties that are tried for one exponent."""


class Beats:
    """Sums with their exponents, some of them invalid."""

    def __init__(self, rng: np.random.Generator, sums: np.ndarray, exponents: np.ndarray | int):
        self.sums = sums
        self.exponents = np.broadcast_to(exponents, sums.shape)
        self.invalid = rng.random(sums.shape) < 0.05
        self.random = rng.integers(0, 1 << SPEC.random_width, sums.shape)

    @property
    def ports(self) -> list[tuple[int, ...]]:
        """Make bit patterns."""
        columns = [[int(value) % (1 << SPEC.width) for value in self.sums]]
        if SPEC.exponent_width:
            columns.append((self.exponents % (1 << SPEC.exponent_width)).tolist())
        return list(zip(*columns, self.invalid.astype(int).tolist(), strict=True))

    @property
    def codes(self) -> np.ndarray:
        """What golden makes of them, as bit patterns."""
        exponents = self.exponents if SPEC.exponent_width else None
        random = self.random if STOCHASTIC else None
        return encoder(SPEC, self.sums, self.invalid, exponents, random) % (1 << CODES.width)


class EncoderBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", FIELDS)
        self.random = Source(dut, "i_random", ["bits"]) if STOCHASTIC else None
        self.o = Sink(dut, "o", ["code"])

    def send(self, beats: Beats, count: int, stalls: Any = None, more: Any = None) -> list[Any]:
        """Send sums, and random bits on a schedule of their own; return the tasks."""
        sent = [self.i.send(beats.ports[:count], stalls)]
        if self.random is not None:
            bits = [(number,) for number in beats.random[:count].tolist()]
            sent.append(self.random.send(bits, more))
        return sent

    def codes(self) -> np.ndarray:
        """Return the codes taken since the last call."""
        (values,) = self.o.pop()
        return unpack(values, CODES).reshape(-1)

    async def check(self, beats: Beats, source: str, sink: str, seed: int) -> None:
        """Send sums, and compare every code with golden."""
        expected = beats.codes[: limited(len(beats.sums))]
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.send(beats, len(expected), stalls[0], schedule(source, generator(seed, 3)))
        await deadline(self.o.take(len(expected), stalls[1]), 40 * len(expected) + 1000, "codes")
        codes = self.codes()
        assert len(codes) == len(expected) > 0
        wrong = np.flatnonzero(codes != expected)
        assert not wrong.size, (
            f"{wrong.size} of {len(codes)} codes differ; that of {beats.ports[wrong[0]]} is"
            f" {codes[wrong[0]]:#x} and must be {expected[wrong[0]]:#x}"
        )
        await self.o.silent(LATENCY + 3)


def draw(rng: np.random.Generator, count: int) -> Beats:
    """Draw sums of all lengths, and exponents."""
    low, high = SPEC.exponent_bounds
    return Beats(rng, any_length(rng, SPEC, count), rng.integers(low, high, count, endpoint=True))


@cocotb.test
async def test_all_sums(dut: Any) -> None:
    """Every sum if there are at most 2^16, at a few exponents; random ones if there are more."""
    rng = generator(10)
    bench = await EncoderBench(dut).start()
    if SPEC.width > 16:
        await bench.check(draw(rng, 3000), "flowing", "flowing", 10)
        return
    half = 1 << (SPEC.width - 1)
    for exponent in {*SPEC.exponent_bounds, 0}:
        beats = Beats(rng, rng.permutation(np.arange(-half, half)), exponent)
        await bench.check(beats, "flowing", "flowing", 10)


@cocotb.test
async def test_ties_and_neighbours(dut: Any) -> None:
    """Sums next to every number and tie of the format, those of wide formats apart."""
    rng = generator(20)
    bench = await EncoderBench(dut).start()
    low, high = SPEC.exponent_bounds
    for exponent in {low, low // 2, 0, high}:
        sums = all_turns(rng, SPEC, exponent)
        if len(sums) > MOST:
            sums = rng.choice(sums, MOST, replace=False)
        await bench.check(Beats(rng, sums, exponent), "flowing", "flowing", 20)


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Random sums under stalls on either side."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    bench = await EncoderBench(dut).start()
    await bench.check(draw(generator(seed), 150), source, sink, seed)


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset with codes waiting and on their way; then all is as new."""
    rng = generator(200)
    bench = await EncoderBench(dut).start()
    for trial in range(16):
        sent = bench.send(draw(rng, 12), 12)
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 10))):
            await RisingEdge(dut.clk)
        for task in sent:
            task.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        await bench.check(draw(rng, 5), "flowing", "flowing", 200)


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """A code follows its sum after the stated number of cycles, and codes follow each other."""
    bench = await EncoderBench(dut).start()
    for count in (1, 20):
        bench.i.offers.clear()
        await bench.check(draw(generator(300), count), "flowing", "flowing", 300)
        count = limited(count)
        assert bench.o.cycles[-count] - bench.i.offers[0] == LATENCY
        assert set(np.diff(bench.o.cycles[-count:])) <= {1}


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A code is offered to a receiver that is not ready, and is then still there."""
    bench = await EncoderBench(dut).start()
    beats = draw(generator(400), 1)
    bench.send(beats, 1)
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting code")
    assert bench.codes().tolist() == beats.codes.tolist()
    await bench.o.silent(LATENCY + 3)
