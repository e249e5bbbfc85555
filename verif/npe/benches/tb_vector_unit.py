"""Bench of the vector unit: rows of every operation, in beats of several values."""

from dataclasses import dataclass
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
from golden.npe.requantiser import Requantisation
from golden.npe.vector import OPERATIONS, PAIRS, SCALED
from golden.npe.vector_unit import cycles, vector_rows
from verif.support.vectors import scaling

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
BUILT = SPEC.built
LONGEST = min(5 * SPEC.lanes + 3, *(SPEC.most(operation) for operation in BUILT))
MOST = min(SPEC.most(operation) for operation in BUILT)
SCALING = ("multiplier", "shift", "zero_point", "low", "high") if SPEC.scales else ()
Row = tuple[str, np.ndarray]
Sent = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scaled:
    """How a row is requantised, and its other operand, if it has any."""

    to: Requantisation | None = None
    other: np.ndarray | None = None


class VectorBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.i = Source(dut, "i", ["data", "operation", "count", "last", *SCALING])
        self.o = Sink(dut, "o", ["data", "exponent", "refused", "last"])

    async def check(
        self, rows: list[Row], source: str = "flowing", sink: str = "flowing", seed: int = 0
    ) -> None:
        """Send rows, and compare every code with golden."""
        rows = rows[: limited(len(rows))]
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        rng = generator(seed, 3)
        scalings = [scaled(rng, *row) for row in rows]
        sent = [beat for row, how in zip(rows, scalings, strict=True) for beat in beats(row, how)]
        self.i.send(sent, stalls[0])
        taken = self.o.take(sum(-(-len(x) // SPEC.lanes) for _, x in rows), stalls[1])
        await deadline(taken, 5 * (20 * len(sent) + 250 * len(rows)), "codes")
        self.compare(rows, scalings)
        await self.o.silent(5)

    def compare(self, rows: list[Row], scalings: list[Scaled]) -> None:
        """Compare the codes taken since the last call with golden."""
        data, exponents, refused, last = self.o.pop()
        assert set(refused) == {"0"}
        at = 0
        for (operation, values), how in zip(rows, scalings, strict=True):
            count = -(-len(values) // SPEC.lanes)
            fmt = IntFormat(width=SPEC.out_width, signed=operation not in ("softmax", "exps"))
            found = unpack(data[at : at + count], fmt).reshape(-1)
            codes, powers = vector_rows(SPEC, operation, values, how.to, how.other)
            expected = np.pad(codes, (0, count * SPEC.lanes - len(codes)))
            assert found.tolist() == expected.tolist(), (operation, values.tolist(), how)
            each = np.repeat(powers, SPEC.block // SPEC.lanes if powers.ndim else count)[:count]
            right = (each % (1 << SPEC.exponent_width)).tolist()
            assert [int(bits, 2) for bits in exponents[at : at + count]] == right
            assert last[at : at + count] == ["0"] * (count - 1) + ["1"]
            at += count
        assert at == len(data) > 0


def beats(row: Row, how: Scaled) -> list[Sent]:
    """Make the bit patterns of a row, or of two; junk fills the last beat."""
    operation, values = row
    count = -(-len(values) // SPEC.lanes)
    rest = count * SPEC.lanes - len(values)
    number = OPERATIONS.index(operation)
    fields = [0] * len(SCALING)
    if how.to is not None:
        unit = SPEC.scaling
        formats = (unit.multiplier_format, unit.shift_format, *[unit.out_format] * 3)
        fields = [
            int(np.asarray(getattr(how.to, name)).item()) & ((1 << fmt.width) - 1)
            for name, fmt in zip(SCALING, formats, strict=True)
        ]
    sent: list[Sent] = []
    for operand in (values, how.other):
        if operand is not None:
            filled = np.append(operand, np.full(rest, SPEC.in_format.high))
            words = pack(filled.reshape(count, SPEC.lanes), SPEC.width)
            for at, word in enumerate(words):
                last = at == count - 1
                # Before the last beat none of this counts.
                more = fields if last else [0] * len(fields)
                sent.append((word, number if last else 7, SPEC.lanes - 1 - rest, last, *more))
    return sent


def scaled(rng: np.random.Generator, operation: str, values: np.ndarray) -> Scaled:
    """Draw how a row is requantised, and its other operand."""
    if operation not in SCALED:
        return Scaled()
    other = None
    if operation in PAIRS:
        other = draw(rng, len(values))
        if not rng.integers(3):
            other = np.full(len(values), rng.choice([SPEC.in_format.low, SPEC.in_format.high]))
    top = max(abs(values).max(), 1) * (1 if other is None else max(abs(other).max(), 1))
    if operation == "add":
        top = abs(values + other).max() + 1
    return Scaled(scaling(rng, SPEC.scaling, int(top)), other)


def draw(rng: np.random.Generator, length: int) -> np.ndarray:
    """Draw a row, uniform or normal, of any spread, at any place of the format."""
    fmt = SPEC.in_format
    spread = 2.0 ** rng.uniform(-2, fmt.width - 1)
    drawn = rng.normal(0, spread, length) if rng.integers(2) else rng.uniform(0, spread, length)
    return np.clip(
        np.rint(drawn) + rng.choice([fmt.low, 0, fmt.high, -1]), fmt.low, fmt.high
    ).astype(np.int64)


@cocotb.test
async def test_extremes(dut: Any) -> None:
    """Rows of one value and of two, as long as they can be, of every operation."""
    fmt = SPEC.in_format
    bench = await VectorBench(dut).start()
    rows = [np.full(LONGEST, code) for code in (fmt.low, -1, 0, 1, fmt.high)]
    for code in (fmt.low, 0, fmt.high - 1):
        mixed = np.append(np.full(LONGEST - 1, code), fmt.high)
        rows += [mixed, mixed[::-1]]
    await bench.check([(operation, row) for operation in BUILT for row in rows])


@cocotb.test
async def test_longest_rows(dut: Any) -> None:
    """Rows that fill the memory, equal, extreme and random."""
    fmt = SPEC.in_format
    bench = await VectorBench(dut).start()
    for operation in BUILT:
        most = SPEC.most(operation)
        rows = [np.full(most, fmt.low), draw(generator(1), most)]
        await bench.check([(operation, row) for row in rows])


@cocotb.test
async def test_rows_of_all_lengths(dut: Any) -> None:
    """Rows of each length, a short one after a long one too."""
    rng = generator(20)
    bench = await VectorBench(dut).start()
    lengths = [*range(1, LONGEST + 1), 1, 1, LONGEST]
    await bench.check([(operation, draw(rng, length)) for length in lengths for operation in BUILT])


@cocotb.test
async def test_many_short_rows(dut: Any) -> None:
    """All differences and many sums."""
    rng = generator(25)
    bench = await VectorBench(dut).start()
    await bench.check([
        (operation, draw(rng, min(int(length), LONGEST)))
        for operation in BUILT
        for length in rng.geometric(0.15, 150)
    ])


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
@cocotb.parametrize(length=sorted({max(1, LONGEST // 2), LONGEST}))
async def test_rows_wait_behind_one_that_stands_still(dut: Any, length: int) -> None:
    """Many rows come at once, and none takes the place of one that has not left."""
    rng = generator(260 + length)
    bench = await VectorBench(dut).start()
    rows = [(str(rng.choice(BUILT)), draw(rng, length)) for _ in range(30)]
    await bench.check(rows, sink="long", seed=260 + length)


@cocotb.test
async def test_refuses_operations_that_are_not_built(dut: Any) -> None:
    """Zeros come back, as many as values, and the next row is right."""
    rng = generator(250)
    bench = await VectorBench(dut).start()
    built = {OPERATIONS.index(operation) for operation in BUILT}
    for number in [*({*range(1 << SPEC.operation_width)} - built)] * 2:
        for length in (1, LONGEST):
            row = (BUILT[0], draw(rng, length))
            junk = [1] * len(SCALING)
            sent = [
                (word, number, count, last, *junk)
                for word, _, count, last, *_ in beats(row, Scaled())
            ]
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
        sent = bench.i.send(beats(row, scaled(rng, *row)))
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
        for length in lengths
        for operation in BUILT * 2
    ]
    same = [
        [(operation, draw(rng, length)) for _ in "12345"]
        for operation in BUILT
        for length in (1, LONGEST)
    ]
    mixed = [
        (str(rng.choice(BUILT)), draw(rng, int(rng.integers(1, min(longest, LONGEST) + 1))))
        for longest in (LONGEST, 2, MOST, LONGEST)
        for _ in range(15)
    ]
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
