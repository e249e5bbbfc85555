"""Bench of the LUT unit: programs of LPRE and LMMA."""

import dataclasses
from collections.abc import Sequence
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
from golden.formats.integer import IntFormat
from golden.lut.execute import Machine
from golden.lut.isa import Lmma, Lpre, encode
from golden.tpe.lut_unit import RESULTS, Traffic, lut_unit
from verif.support.vectors import corners

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
FMT = IntFormat(width=SPEC.a_width)
SUM = IntFormat(width=32)
SHORT = min(SPEC.k_max, 200)
"""Most activations of a row, but where rows are to be as long as they may be."""
KINDS = [weights for weights in SPEC.weights if weights != "t" or SPEC.planes >= 2]

Program = list[tuple[int, Traffic]]


class Programs:
    """Draws operations, and keeps what they leave behind."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.machine = Machine()
        self.made: dict[int, Lpre] = {}

    def run(self, operation: Lpre | Lmma) -> tuple[int, Traffic]:
        """Return an operation, and what goes through the streams for it."""
        word = encode(operation)
        (traffic,) = lut_unit(SPEC, [word], self.machine)
        return word, traffic

    def lpre(self, extreme: int | None = None, **how: Any) -> tuple[int, Traffic]:
        """Make tables of activations that are drawn, some of them corners; or of an extreme."""
        rng = self.rng
        operation = Lpre(**{
            "k": SPEC.group,
            "a": SPEC.activations,
            "table": "int",
            "rd": int(rng.integers(SPEC.registers)),
            "rs": int(rng.integers(64)),
            "m": int(rng.integers(1, SPEC.m + 1)),
            "depth": int(rng.integers(1, SHORT + 1)),
            **how,
        })
        shape = operation.m, operation.depth
        codes = uniform(rng, FMT, shape)
        edge = rng.random(shape) < 0.2
        codes[edge] = rng.choice(corners(FMT), edge.sum())
        if extreme is not None:
            codes[:] = extreme
        self.machine.a[operation.rs] = codes
        self.made[operation.rd] = operation
        return self.run(operation)

    def lmma(self, extreme: int | None = None, **how: Any) -> tuple[int, Traffic]:
        """Multiply some tables by weights that are drawn; or by the extreme, 0 or 1 of it."""
        rng = self.rng
        ra = int(rng.choice(list(self.made)))
        weights = how.get("weights", str(rng.choice(KINDS)))
        planes = 2 if weights == "t" else int(rng.integers(1, SPEC.planes + 1))
        operation = Lmma(**{
            "m": self.made[how.get("ra", ra)].m,
            "n": int(rng.integers(1, SPEC.n + 1)),
            "k": SPEC.group,
            "a": SPEC.activations,
            "table": "int",
            "weights": weights,
            "planes": planes,
            "acc": "int32",
            "result": str(rng.choice(RESULTS)),
            "ra": ra,
            **{name: int(rng.integers(64)) for name in ("rd", "rb", "rc")},
            **how,
        })
        fmt = IntFormat(width=operation.planes, signed=weights in ("s", "t"))
        low, high = (-1, 1) if weights == "t" else (fmt.low, fmt.high)
        shape = self.made[operation.ra].depth, operation.n
        codes = rng.integers(low, high, shape, endpoint=True)
        if extreme is not None:
            codes[:] = (low, high)[extreme]
        self.machine.b[operation.rb] = codes
        before = uniform(rng, SUM, (operation.m, operation.n))
        small = rng.random(before.shape) < 0.5
        self.machine.c[operation.rc] = np.where(small, before >> 24, before)
        return self.run(operation)

    def some(self, count: int) -> Program:
        """Draw operations; the first makes tables."""
        return [
            self.lpre() if not at or self.rng.random() < 0.3 else self.lmma() for at in range(count)
        ]


class UnitBench(Bench):
    """The unit with its clock running, reset, and its streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.op, self.a, self.b, self.c = (
            Source(dut, name, ["data"]) for name in ("i_op", "i_a", "i_b", "i_c")
        )
        self.o = Sink(dut, "o_c", ["data", "last"])

    def send(self, program: Program, stalls: Sequence[Any] = (None,) * 4) -> list[Any]:
        """Start to send operations, and what they take."""
        words = [(word,) for word, _ in program]
        streams = [
            [value for _, traffic in program for value in pack(getattr(traffic, name), width)]
            for name, width in (("a", SPEC.a_width), ("b", 1), ("before", SUM.width))
        ]
        return [
            self.op.send(words, stalls[0]),
            *(
                source.send([(value,) for value in values], stall)
                for source, values, stall in zip(
                    (self.a, self.b, self.c), streams, stalls[1:], strict=True
                )
            ),
        ]

    async def check(
        self, program: Program, stalls: Sequence[Any] = (None,) * 4, taken: Any = None
    ) -> None:
        """Run operations and compare every result with golden."""
        program = program[: limited(len(program))]
        tasks = self.send(program, stalls)
        count = sum(len(traffic.after) for _, traffic in program)
        beats = sum(len(traffic.a) + len(traffic.b) for _, traffic in program)
        patience = 60 * (beats + count + 40 * len(program)) + 1000
        await deadline(self.o.take(count, taken), patience, "results")
        data, last = self.o.pop()
        rows = unpack(data, SUM)
        at = 0
        for number, (_, traffic) in enumerate(program):
            own = slice(at, at + len(traffic.after))
            at = own.stop
            if own.stop == own.start:
                continue
            found = rows[own, : traffic.after.shape[1]]
            wrong = np.argwhere(found != traffic.after)
            assert not wrong.size, (
                f"operation {number}: {len(wrong)} of {found.size} differ; row {wrong[0][0]}"
                f" column {wrong[0][1]} is {found[tuple(wrong[0])]} and must be"
                f" {traffic.after[tuple(wrong[0])]}"
            )
            marks = [int(mark) for mark in last[own]]
            assert marks == [0] * (len(marks) - 1) + [1]
        assert at == len(rows)
        for task in tasks:
            await deadline(task, patience, "operands")
        assert not self.dut.o_error.value
        await self.o.silent(LATENCY + 3)


@cocotb.test
@cocotb.parametrize(sent=list(SCHEDULES), taken=list(SCHEDULES))
async def test_matches_golden(dut: Any, sent: str, taken: str) -> None:
    """Programs under stalls on all streams."""
    rng = generator(1, list(SCHEDULES).index(sent), list(SCHEDULES).index(taken))
    bench = await UnitBench(dut).start()
    stalls = [schedule(sent if at % 2 else taken, rng) for at in range(4)]
    await bench.check(Programs(rng).some(16), stalls, schedule(taken, rng))


@cocotb.test
@cocotb.parametrize(weights=KINDS)
async def test_all_widths_and_extremes(dut: Any, weights: str) -> None:
    """Each number of planes, and the greatest sums of each, in all formats of results."""
    rng = generator(2, KINDS.index(weights))
    bench = await UnitBench(dut).start()
    programs = Programs(rng)
    program = []
    for extreme in (None, FMT.low, FMT.high):
        program.append(programs.lpre(extreme, rd=0, depth=SHORT, m=SPEC.m))
        for planes in [2] if weights == "t" else range(1, SPEC.planes + 1):
            for result in RESULTS:
                how = {"weights": weights, "planes": planes, "result": result, "ra": 0}
                program += [programs.lmma(side, **how) for side in (None, 0, 1)]
    await bench.check(program)


@cocotb.test
async def test_longest_rows(dut: Any) -> None:
    """As many activations as a row may have, with the greatest sum, and weights of most bits."""
    bench = await UnitBench(dut).start()
    programs = Programs(generator(7))
    rd = SPEC.registers - 1
    how = {"ra": rd, "result": "int32", "planes": SPEC.planes}
    await bench.check([
        programs.lpre(FMT.low, rd=rd, depth=SPEC.k_max, m=SPEC.m),
        programs.lmma(0, weights="o", **how),
        programs.lmma(0, weights="s", **how),
        programs.lpre(rd=rd, depth=SPEC.k_max, m=SPEC.m),
        programs.lmma(weights="u", **how),
    ])


@cocotb.test
async def test_every_register(dut: Any) -> None:
    """Tables stay where they are while others are made, of other numbers of rows and beats."""
    rng = generator(3)
    bench = await UnitBench(dut).start()
    programs = Programs(rng)
    program = [programs.lpre(rd=rd) for rd in range(SPEC.registers)]
    for _ in range(2):
        program += [programs.lmma(ra=ra) for ra in rng.permutation(SPEC.registers).tolist()]
        program.append(programs.lpre())
    await bench.check(program)


def refused() -> list[int]:
    """List what is no operation of this unit's, of tables in register 0 of all rows but one."""
    lpre = Lpre(k=SPEC.group, a=SPEC.activations, table="int", rd=0, rs=0, m=1, depth=1)
    rows = max(SPEC.m - 1, 1)
    lmma = Lmma(
        m=rows,
        n=1,
        k=SPEC.group,
        a=SPEC.activations,
        table="int",
        weights="s",
        planes=1,
        acc="int32",
        result="int32",
        rd=0,
        ra=0,
        rb=0,
        rc=0,
    )
    other = "int16" if SPEC.activations == "int8" else "int8"
    group = 2 if SPEC.group > 2 else 3
    changes: list[Any] = [
        *((lpre, {"k": group}), (lpre, {"a": other}), (lpre, {"table": "int8"})),
        *((lpre, {"m": SPEC.m + 1}), (lmma, {"k": group}), (lmma, {"a": other})),
        *((lmma, {"m": SPEC.m}), (lmma, {"result": "fp32"}), (lmma, {"result": "fp16"})),
        (lmma, {"table": "int8", "acc": "fp32", "result": "fp32"}),
    ]
    for operation, name, most in (
        (lpre, "depth", SPEC.k_max + 1),
        (lpre, "rd", SPEC.registers),
        (lmma, "n", SPEC.n + 1),
        (lmma, "planes", SPEC.planes + 1),
        (lmma, "ra", SPEC.registers),
    ):
        # The greatest that the field holds may be the unit's own.
        try:
            changes.append((dataclasses.replace(operation, **{name: most}), {}))
        except ValueError:
            assert name in ("depth", "rd", "n", "planes", "ra")
    if SPEC.m == 1:
        changes = [change for change in changes if change != (lmma, {"m": 1})]
    if SPEC.registers > 1:
        changes.append((lmma, {"ra": SPEC.registers - 1}))
    words = [encode(dataclasses.replace(operation, **change)) for operation, change in changes]
    # No opcode, another one, bits behind the fields, trits of three planes.
    words += [0, encode(lmma) ^ 1, encode(lpre) | 1 << 63, encode(lmma) | 1 << 63]
    return [*words, encode(lmma) | 3 << 25 | 2 << 28]


@cocotb.test
async def test_refuses(dut: Any) -> None:
    """What is not its own stops the unit, with nothing taken and nothing given."""
    rng = generator(4)
    bench = await UnitBench(dut).start()
    words = refused()
    for word in words[: limited(len(words))]:
        programs = Programs(rng)
        good = [programs.lpre(rd=0, m=max(SPEC.m - 1, 1)), programs.lmma(ra=0)]
        await bench.check(good)
        tasks = [bench.op.send([(word,), (word,)])]
        taken = [source.send([(0,)]) for source in (bench.a, bench.b, bench.c)]
        for _ in range(LATENCY + 8):
            await RisingEdge(dut.clk)
        assert dut.o_error.value, f"{word:#x} must be refused"
        assert bench.op.count == 1 + limited(len(good))
        assert not any(task.done() for task in taken)
        await bench.o.silent(LATENCY + 3)
        for task in (*tasks, *taken):
            task.cancel()
        bench = await bench.restart()
        await RisingEdge(dut.clk)
        assert not dut.o_error.value


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Nothing of before a reset comes after it, and no tables are left."""
    rng = generator(5)
    bench = await UnitBench(dut).start()
    for trial in range(limited(12)):
        programs = Programs(rng)
        tasks = bench.send(programs.some(6))
        if trial % 2:
            tasks.append(bench.o.take(100))
        for _ in range(int(rng.integers(1, 60))):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        bench = await bench.restart()
        if trial % 3 == 2:
            late = bench.op.send([(programs.lmma()[0],)])
            for _ in range(6):
                await RisingEdge(dut.clk)
            assert dut.o_error.value
            late.cancel()
            bench = await bench.restart()
        await bench.check(Programs(rng).some(5))


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """A beat of activations, or of a plane of weights, a cycle; and the first result on time."""
    bench = await UnitBench(dut).start()
    programs = Programs(generator(6))
    program = [programs.lpre(rd=0, depth=SHORT, m=SPEC.m), programs.lmma(ra=0)]
    await bench.check(program)
    assert np.all(np.diff(bench.a.cycles) == 1)
    # A plane waits for the rows of the one before.
    if SPEC.core.drain * SPEC.k <= SHORT and limited(2) == 2:
        assert np.all(np.diff(bench.b.cycles) == 1)
        assert bench.o.cycles[0] - bench.b.cycles[-1] == LATENCY
