"""Bench of the vector unit: rows of every operation, in beats of several values."""

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
from golden.npe.vector import OPERATIONS
from golden.npe.vector_unit import cycles, vector_unit

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
BUILT = SPEC.operations.split(",")
LONGEST = min(SPEC.length, 5 * SPEC.lanes + 3)
Row = tuple[str, np.ndarray]


class VectorBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", ["data", "operation", "count", "last"])
        self.o = Sink(dut, "o", ["data", "exponent", "refused", "last"])

    async def check(
        self, rows: list[Row], source: str = "flowing", sink: str = "flowing", seed: int = 0
    ) -> None:
        """Send rows, and compare every code with golden."""
        rows = rows[: limited(len(rows))]
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        sent = [beat for row in rows for beat in beats(row)]
        self.i.send(sent, stalls[0])
        taken = self.o.take(len(sent), stalls[1])
        await deadline(taken, 5 * (5 * len(sent) + 250 * len(rows)), "codes")
        self.compare(rows)
        await self.o.silent(5)

    def compare(self, rows: list[Row]) -> None:
        """Compare the codes taken since the last call with golden."""
        data, exponents, refused, last = self.o.pop()
        assert set(refused) == {"0"}
        at = 0
        for operation, values in rows:
            count = -(-len(values) // SPEC.lanes)
            fmt = IntFormat(width=SPEC.out_width, signed=operation != "softmax")
            found = unpack(data[at : at + count], fmt).reshape(-1)
            codes, exponent = vector_unit(SPEC, operation, values)
            expected = np.pad(codes, (0, count * SPEC.lanes - len(codes)))
            assert found.tolist() == expected.tolist(), (operation, values.tolist())
            assert {int(bits, 2) for bits in exponents[at : at + count]} == {exponent}
            assert last[at : at + count] == ["0"] * (count - 1) + ["1"]
            at += count
        assert at == len(data) > 0


def beats(row: Row) -> list[tuple[int, int, int, int]]:
    """Make the bit patterns of a row; junk fills the last beat."""
    operation, values = row
    count = -(-len(values) // SPEC.lanes)
    rest = count * SPEC.lanes - len(values)
    filled = np.append(values, np.full(rest, SPEC.in_format.high))
    words = pack(filled.reshape(count, SPEC.lanes), SPEC.width)
    number = OPERATIONS.index(operation)
    return [
        (word, number, SPEC.lanes - 1 - rest, int(at == count - 1)) for at, word in enumerate(words)
    ]


def draw(rng: np.random.Generator, length: int) -> np.ndarray:
    """Draw a row, uniform or normal, of any spread, at any place of the format."""
    fmt = SPEC.in_format
    spread = 2.0 ** rng.uniform(-2, fmt.width - 1)
    drawn = rng.normal(0, spread, length) if rng.integers(2) else rng.uniform(0, spread, length)
    return np.clip(np.rint(drawn) + rng.choice([fmt.low, 0, fmt.high, -1]), fmt.low, fmt.high
                   ).astype(np.int64)  # fmt: skip


@cocotb.test
async def test_extremes(dut: Any) -> None:
    """Rows of one value and of two, as long as they can be, of every operation."""
    fmt = SPEC.in_format
    bench = await VectorBench(dut).start()
    rows = [np.full(LONGEST, code) for code in (fmt.low, -1, 0, 1, fmt.high)]
    for code in (fmt.low, 0, fmt.high - 1):
        mixed = np.full(LONGEST, code)
        mixed[-1] = fmt.high
        rows += [mixed, mixed[::-1]]
    await bench.check([(operation, row) for operation in BUILT for row in rows])


@cocotb.test
async def test_longest_rows(dut: Any) -> None:
    """Rows that fill the memory, equal, extreme and random."""
    fmt = SPEC.in_format
    bench = await VectorBench(dut).start()
    for operation in BUILT:
        rows = [np.full(SPEC.length, fmt.low), draw(generator(1), SPEC.length)]
        await bench.check([(operation, row) for row in rows])


@cocotb.test
async def test_rows_of_all_lengths(dut: Any) -> None:
    """Rows of each length, a short one after a long one too."""
    rng = generator(20)
    bench = await VectorBench(dut).start()
    lengths = [*range(1, LONGEST + 1), 1, 1, LONGEST]
    await bench.check([
        (operation, draw(rng, length)) for length in lengths for operation in BUILT
    ])  # fmt: skip


@cocotb.test
async def test_many_short_rows(dut: Any) -> None:
    """All differences and many sums."""
    rng = generator(25)
    bench = await VectorBench(dut).start()
    await bench.check([
        (operation, draw(rng, min(int(length), LONGEST)))
        for operation in BUILT for length in rng.geometric(0.15, 150)
    ])  # fmt: skip


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Random rows under stalls on either side."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    rng = generator(seed)
    bench = await VectorBench(dut).start()
    rows = [
        (str(rng.choice(BUILT)), draw(rng, int(rng.integers(1, LONGEST + 1)))) for _ in "12345678"
    ]
    await bench.check(rows, source, sink, seed)


@cocotb.test
async def test_refuses_operations_that_are_not_built(dut: Any) -> None:
    """Zeros come back, as many as values, and the next row is right."""
    rng = generator(250)
    bench = await VectorBench(dut).start()
    numbers = [OPERATIONS.index(operation) for operation in BUILT]
    for number in [number for number in range(8) if number not in numbers] * 2:
        for length in (1, LONGEST):
            row = (BUILT[0], draw(rng, length))
            sent = [(word, number, count, last) for word, _, count, last in beats(row)]
            bench.i.send(sent)
            await deadline(bench.o.take(len(sent)), 50 + 5 * len(sent), "codes")
            data, exponents, refused, last = bench.o.pop()
            assert {int(bits, 2) for bits in (*data, *exponents)} == {0}
            assert set(refused) == {"1"}
            assert last == ["0"] * (len(sent) - 1) + ["1"]
            await bench.check([(str(rng.choice(BUILT)), draw(rng, length))])


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset while a row comes, is worked at, and leaves; then all is as new."""
    rng = generator(200)
    bench = await VectorBench(dut).start()
    for _ in range(30):
        row = (str(rng.choice(BUILT)), draw(rng, LONGEST))
        sent = bench.i.send(beats(row))
        taken = bench.o.take(1000)
        for _ in range(int(rng.integers(1, 150))):
            await RisingEdge(dut.clk)
        sent.cancel()
        taken.cancel()
        bench = await bench.restart()
        await bench.check([(str(rng.choice(BUILT)), draw(rng, min(3, LONGEST)))])


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """Rows take the cycles that golden states for their values, one alone and one after another."""
    rng = generator(300)
    bench = await VectorBench(dut).start()
    lengths = sorted({1, 2, SPEC.lanes + 1, 3 * SPEC.lanes, LONGEST})
    alone = [
        [(operation, draw(rng, min(length, LONGEST)))]
        for length in lengths for operation in BUILT * 2
    ]  # fmt: skip
    same = [
        [(operation, draw(rng, length)) for _ in "12345"]
        for operation in BUILT for length in (1, LONGEST)
    ]  # fmt: skip
    mixed = [
        (str(rng.choice(BUILT)), draw(rng, int(rng.integers(1, longest + 1))))
        for longest in (LONGEST, 2, SPEC.length, LONGEST) for _ in range(15)
    ]  # fmt: skip
    for every in [*alone, *same, mixed]:
        rows = every[: limited(len(every))]
        bench.i.cycles.clear()
        await bench.check(rows)
        found = bench.o.cycles[-1] - bench.i.cycles[0] + 1
        assert found == cycles(SPEC, rows), rows
        assert len(rows) > 1 or found > LATENCY


@cocotb.test
async def test_rows_of_a_block(dut: Any) -> None:
    """Rows that come while others leave: two passes of a softmax, at little more than a beat."""
    count = SPEC.length if "softmax" in BUILT else 0
    if count >= 16 * SPEC.lanes:
        rng = generator(310)
        count = 16 * SPEC.lanes
        bench = await VectorBench(dut).start()
        rows: list[Row] = [("softmax", draw(rng, count)) for _ in range(16)]
        bench.i.cycles.clear()
        await bench.check(rows)
        found = bench.o.cycles[-1] - bench.i.cycles[0] + 1
        assert found <= 16 * 2 * (16 + 6) + 120
