"""Bench of the aligner."""

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
from golden.npe.aligner import aligner
from verif.npe.benches.float_codes import numbers, with_infinities

SPEC = bench_spec()
FORMAT = SPEC.number
LATENCY = bench_parameters()["latency"]
KINDS = ("codes", "near", "extremes", "specials", "small")

Rows = list[np.ndarray]


def beats_of(rows: Rows) -> list[tuple[int, int]]:
    """Make beats, each row filled up with zeros."""
    found = []
    for row in rows:
        whole = np.pad(row, (0, -row.size % SPEC.lanes)).reshape(-1, SPEC.lanes)
        patterns = pack(whole, FORMAT.width)
        found += [(pattern, int(at == len(patterns) - 1)) for at, pattern in enumerate(patterns)]
    return found


def expected(rows: Rows) -> list[tuple[list[int], int, int, int]]:
    """Compute integers, scale, end and last of each beat."""
    found = []
    for row in rows:
        whole = np.pad(row, (0, -row.size % SPEC.lanes))
        blocks = aligner(SPEC, whole[None])
        data = blocks.codes.reshape(-1, SPEC.lanes).tolist()
        for at, integers in enumerate(data):
            last = int(at == len(data) - 1)
            scale = int(blocks.scales[0, at // SPEC.beats])
            found.append((integers, scale, int(last or at % SPEC.beats == SPEC.beats - 1), last))
    return found


def draw(rng: np.random.Generator, kind: str, lengths: np.ndarray) -> Rows:
    """Draw rows: any numbers; near each other; corners; what is no number; mostly subnormals."""
    rows = []
    for length in lengths.tolist():
        if kind == "small":
            codes = rng.integers(0, 1 << FORMAT.mantissa_bits, length)
            codes >>= rng.integers(0, FORMAT.mantissa_bits + 1)
            sign = rng.integers(0, 2, length) * FORMAT.sign_code
            rows.append(codes | np.where(codes > 0, sign, 0))
        else:
            codes = numbers(rng, FORMAT, length, kind)
            # So that some blocks are numbers alone.
            finite = np.where(np.isfinite(FORMAT.to_float(codes)), codes, 0)
            if kind == "specials":
                finite = with_infinities(rng, FORMAT, finite) if len(rows) % 2 else codes
            rows.append(finite)
    return rows


class AlignerBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", ["data", "last"])
        self.o = Sink(dut, "o", ["data", "scale", "end", "last"])

    async def check(self, rows: Rows, sent: Any = None, taken: Any = None) -> None:
        """Send rows, and compare every beat with golden."""
        rows = rows[: limited(len(rows))]
        due = expected(rows)
        self.i.send(beats_of(rows), sent)
        await deadline(self.o.take(len(due), taken), 60 * len(due) + 1000, "integers")
        data, *rest = self.o.pop()
        integers = unpack(data, IntFormat(width=SPEC.width)).tolist()
        got = list(zip(integers, *([int(x, 2) for x in side] for side in rest), strict=True))
        assert len(got) == len(due) > 0
        for number, (one, other) in enumerate(zip(got, due, strict=True)):
            assert one == other, f"beat {number} is {one} and must be {other}"
        await self.o.silent(LATENCY + 3)


def lengths(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw lengths of rows: within a block, of whole blocks, and of some and a part."""
    kinds = rng.integers(0, 3, count)
    part = rng.integers(1, SPEC.block + 1, count)
    whole = SPEC.block * rng.integers(1, 4, count)
    return np.where(kinds == 0, part, np.where(kinds == 1, whole, whole + part))


@cocotb.test
async def test_every_code(dut: Any) -> None:
    """Every code of a short format, next to each power of two; else random codes."""
    bench = await AlignerBench(dut).start()
    codes = np.arange(1 << FORMAT.width) if FORMAT.width <= 8 else None
    if codes is None:
        codes = generator(1).integers(0, 1 << FORMAT.width, 512)
        codes[::7] &= FORMAT.sign_code | (1 << FORMAT.mantissa_bits) - 1
    if SPEC.block == 1:
        await bench.check([codes])
        return
    # In a block of two or more, the first one says where the others are aligned to.
    tops = np.arange(0, FORMAT.max_code + 1, 1 << FORMAT.mantissa_bits)
    tops = tops[-1 :: -max(1, len(tops) // 12)]
    size = SPEC.block - 1
    whole = np.pad(codes, (0, -codes.size % size)).reshape(-1, size)
    rows = [np.concatenate([[top], part]) for top in tops for part in whole]
    await bench.check(rows[:: max(1, len(rows) // 600)])


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def test_matches_golden(dut: Any, kind: str) -> None:
    """Rows of all lengths."""
    rng = generator(20, KINDS.index(kind))
    bench = await AlignerBench(dut).start()
    await bench.check(draw(rng, kind, lengths(rng, 40)))


@cocotb.test
@cocotb.parametrize(sent=list(SCHEDULES), taken=list(SCHEDULES))
async def test_stalls(dut: Any, sent: str, taken: str) -> None:
    """Nothing is lost, doubled or swapped under stalls; blocks of all lengths."""
    rng = generator(30, list(SCHEDULES).index(sent), list(SCHEDULES).index(taken))
    bench = await AlignerBench(dut).start()
    rows = draw(rng, "near", lengths(rng, 12)) + draw(rng, "codes", np.ones(6, dtype=int))
    await bench.check(rows, schedule(sent, rng), schedule(taken, rng))


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset within a block, with blocks waiting and on their way; then all is as new."""
    rng = generator(200)
    bench = await AlignerBench(dut).start()
    for trial in range(24):
        # What is left over would show in exponents.
        tasks = [bench.i.send(beats_of(draw(rng, "specials", lengths(rng, 8))))]
        if trial % 3:
            tasks.append(bench.o.take(1000))
        for _ in range(int(rng.integers(1, 12))):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + SPEC.beats + 3)
        await bench.check(draw(rng, "near", lengths(rng, 3)))


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """Whole blocks flow a beat a cycle; the first integers follow the last beat of a block."""
    rng = generator(300)
    bench = await AlignerBench(dut).start()
    await bench.check(draw(rng, "near", np.full(6, 3 * SPEC.block)))
    taken, given = np.array(bench.i.cycles), np.array(bench.o.cycles)
    assert np.all(np.diff(taken) == 1)
    assert np.all(np.diff(given) == 1)
    assert given[0] - taken[SPEC.beats - 1] == LATENCY


@cocotb.test
async def test_room_for_two_blocks(dut: Any) -> None:
    """Two blocks are taken while nothing leaves but what registers hold, and are still there."""
    rng = generator(400)
    bench = await AlignerBench(dut).start()
    rows = draw(rng, "near", np.full(5, SPEC.block))
    sent = bench.i.send(beats_of(rows))
    for _ in range(8 * SPEC.beats + LATENCY):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    assert 2 * SPEC.beats <= bench.i.count <= 2 * SPEC.beats + LATENCY
    due = expected(rows)
    await deadline(bench.o.take(len(due)), 20 * len(due), "what waits")
    await deadline(sent, 10, "what was not taken")
    data = bench.o.pop()[0]
    assert unpack(data, IntFormat(width=SPEC.width)).tolist() == [row for row, *_ in due]
