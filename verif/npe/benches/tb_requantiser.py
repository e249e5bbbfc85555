"""Bench of the requantiser."""

from dataclasses import replace
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
from golden.npe.requantiser import Requantisation, requantiser
from verif.npe.benches.requantisations import draw, unit
from verif.support.vectors import corners

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
FIELDS = [
    "multiplier",
    "shift",
    "zero_point",
    *(["bias"] if SPEC.bias else []),
    "low",
    "high",
    "relu",
]


class RequantiserBench(Bench):
    """The design with its clock running, reset, and its three streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.config = Source(dut, "i_config", FIELDS)
        self.i = Source(dut, "i", ["data", "last"])
        self.o = Sink(dut, "o", ["data", "last"])

    async def configure(self, how: Requantisation) -> None:
        """Hand over a requantisation."""
        await deadline(self.config.send([item(how)]), 2000, "the requantisation")

    async def check(
        self, how: Requantisation, sums: np.ndarray, source: str, sink: str, seed: int
    ) -> None:
        """Send a tile, and compare every code with golden."""
        sums = sums[: limited(len(sums))]
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.i.send(rows(sums), stalls[0])
        await deadline(self.o.take(len(sums), stalls[1]), 40 * len(sums) + 1000, "codes")
        self.compare([(how, sums)])
        await self.o.silent(LATENCY + 3)

    def compare(self, tiles: list[tuple[Requantisation, np.ndarray]]) -> None:
        """Compare the codes taken since the last call with golden."""
        data, last = self.o.pop()
        codes = unpack(data, SPEC.out_format).reshape(-1, SPEC.n)
        expected = np.concatenate([requantiser(SPEC, sums, how) for how, sums in tiles])
        ends = np.cumsum([len(sums) for _, sums in tiles])
        assert [row + 1 for row, mark in enumerate(last) if mark == "1"] == ends.tolist()
        assert codes.shape == expected.shape
        assert expected.size > 0
        wrong = np.argwhere(codes != expected)
        assert not wrong.size, (
            f"{len(wrong)} of {codes.size} codes differ; {wrong[0]} is {codes[tuple(wrong[0])]}"
            f" and must be {expected[tuple(wrong[0])]}"
        )


def item(how: Requantisation) -> tuple[int, ...]:
    """Make the bit patterns of a requantisation."""
    low, high = how.limits(SPEC)
    fields = [
        (how.multiplier, SPEC.multiplier_width),
        (how.shift, SPEC.shift_format.width),
        (how.zero_point, SPEC.out_width),
        *([(how.bias, SPEC.width)] if how.bias is not None else []),
        (np.array([low]), SPEC.out_width),
        (np.array([high]), SPEC.out_width),
    ]
    return (*(pack(values[None], width)[0] for values, width in fields), int(how.relu))


def rows(sums: np.ndarray) -> list[tuple[int, int]]:
    """Make the bit patterns of a tile."""
    last = np.arange(len(sums)) == len(sums) - 1
    return list(zip(pack(sums, SPEC.width), last.astype(int).tolist(), strict=True))


def tile(rng: np.random.Generator, how: Requantisation, count: int) -> np.ndarray:
    """Draw rows of sums of every size, half of them so that codes are within the limits."""
    fmt = SPEC.sum_format
    sums = uniform(rng, fmt, (count, SPEC.n)) >> rng.integers(0, SPEC.width, (count, SPEC.n))
    edge = rng.random(sums.shape) < 0.1
    sums[edge] = rng.choice(corners(fmt), edge.sum())
    return fmt.wrap(np.where(rng.random(sums.shape) < 0.5, sums, unit(rng, SPEC, how, sums.shape)))


@cocotb.test
async def test_all_sums(dut: Any) -> None:
    """Every sum if there are at most 2^12, else all corners and random ones; many scales."""
    rng = generator(10)
    bench = await RequantiserBench(dut).start()
    for trial in range(24):
        how = draw(rng, SPEC, trial)
        await bench.configure(how)
        if SPEC.width <= 12:
            codes = np.arange(SPEC.sum_format.low, SPEC.sum_format.high + 1)
            sums = np.stack([rng.permutation(codes) for _ in range(SPEC.n)], axis=1)
        else:
            sums = tile(rng, how, 300)
        await bench.check(how, sums, "flowing", "flowing", 10)


@cocotb.test
async def test_every_shift(dut: Any) -> None:
    """Each shift with the greatest, the least normal and random multipliers."""
    rng = generator(20)
    bench = await RequantiserBench(dut).start()
    for shift in range(64):
        how = draw(rng, SPEC, shift, shift=shift)
        await bench.configure(how)
        await bench.check(how, tile(rng, how, 30), "flowing", "flowing", 20)


@cocotb.test
async def test_every_bit_overflows(dut: Any) -> None:
    """Products of which one bit alone is no copy of the sign, at every place, are too large."""
    rng = generator(25)
    bench = await RequantiserBench(dut).start()
    places = 1 << np.arange(SPEC.width, dtype=np.int64)
    highest = SPEC.multiplier_format.high.bit_length() - 1
    cases = [(0, power) for power in sorted({0, highest // 2, highest})]
    cases += [(1 << level, highest) for level in range(SPEC.shift_format.width)]
    for number, (shift, power) in enumerate(cases):
        how = replace(
            draw(rng, SPEC, number, shift=shift),
            multiplier=np.full(SPEC.scales, 1 << power, np.int64),
            zero_point=np.zeros(SPEC.scales, np.int64),
            low=SPEC.out_format.low,
            high=SPEC.out_format.high,
            relu=False,
        )
        sums = np.repeat(np.concatenate([places, ~places])[:, None], SPEC.n, axis=1)
        await bench.configure(how)
        less = 0 if how.bias is None else how.bias
        await bench.check(how, SPEC.sum_format.wrap(sums - less), "flowing", "flowing", 25)


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Tiles under stalls on either side; requantisations wait while rows flow."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    rng = generator(seed)
    bench = await RequantiserBench(dut).start()
    stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
    how = draw(rng, SPEC, 0)
    await bench.configure(how)
    tiles: list[tuple[Requantisation, np.ndarray]] = []
    for trial in range(12):
        sums = tile(rng, how, int(rng.geometric(0.15)))
        tiles.append((how, sums))
        sent = bench.i.send(rows(sums), stalls[0])
        taken = bench.o.take(len(sums), stalls[1])
        if trial % 3 == 0:
            # The next one is offered within the tile, or with the first row of the next.
            first = bench.i.count
            while bench.i.count == first:
                await RisingEdge(dut.clk)
            how = draw(rng, SPEC, trial)
            configured = bench.config.send([item(how)])
            await deadline(sent, 40 * len(sums) + 1000, "rows")
            if trial % 2:
                await deadline(configured, 40 * len(sums) + 1000, "the requantisation")
        await deadline(taken, 40 * len(sums) + 1000, "codes")
        if trial % 3 == 0 and not trial % 2:
            await deadline(configured, 100, "the requantisation")
    bench.compare(tiles)
    await bench.o.silent(LATENCY + 3)


@cocotb.test
async def test_requantisation_goes_first(dut: Any) -> None:
    """Offered together with a row between tiles, it is good for that row."""
    rng = generator(100)
    bench = await RequantiserBench(dut).start()
    tiles = []
    taken = bench.o.take(100)
    for trial in range(25):
        how = draw(rng, SPEC, trial)
        sums = tile(rng, how, 4)
        tiles.append((how, sums))
        bench.config.send([item(how)])
        await deadline(bench.i.send(rows(sums)), 100, "rows")
    await deadline(taken, 100, "codes")
    bench.compare(tiles)


@cocotb.test
async def test_no_row_before_a_requantisation(dut: Any) -> None:
    """After reset rows wait for the first requantisation."""
    rng = generator(150)
    bench = await RequantiserBench(dut).start()
    for _ in range(2):
        how = draw(rng, SPEC, 0)
        sums = tile(rng, how, 3)
        sent = bench.i.send(rows(sums))
        await bench.o.silent(2 * LATENCY + 5)
        assert bench.i.count == 0
        await bench.configure(how)
        taken = bench.o.take(3)
        await deadline(sent, 20, "rows")
        await deadline(taken, 20, "codes")
        bench.compare([(how, sums)])
        bench = await bench.restart()


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset within a tile, with codes waiting and on their way; then all is as new."""
    rng = generator(200)
    bench = await RequantiserBench(dut).start()
    for trial in range(24):
        how = draw(rng, SPEC, trial)
        await bench.configure(how)
        sent = bench.i.send(rows(tile(rng, how, 20)))
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 12))):
            await RisingEdge(dut.clk)
        sent.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        how = draw(rng, SPEC, trial)
        await bench.configure(how)
        await bench.check(how, tile(rng, how, 5), "flowing", "flowing", 200)


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """A row's codes follow it after the stated cycles, and rows flow one a cycle."""
    rng = generator(300)
    bench = await RequantiserBench(dut).start()
    how = draw(rng, SPEC, 0)
    await bench.configure(how)
    await bench.check(how, tile(rng, how, 40), "flowing", "flowing", 300)
    assert np.all(np.subtract(bench.o.cycles, bench.i.offers) == LATENCY)
    assert np.all(np.diff(bench.o.cycles) == 1)


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A row is offered to a receiver that is not ready, and is then still there."""
    rng = generator(400)
    bench = await RequantiserBench(dut).start()
    how = draw(rng, SPEC, 0)
    await bench.configure(how)
    sums = tile(rng, how, 1)
    bench.i.send(rows(sums))
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting row")
    bench.compare([(how, sums)])
    await bench.o.silent(LATENCY + 3)
