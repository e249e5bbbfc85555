"""Addresses of rows of C, while bases of later jobs are written at any time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.result_addresses import ResultAddresses
from verif.soc.bus.partners import Part, Sink, Source, run

PARAMETERS: dict[str, Any] = {
    "engine": "systolic_os(m=2,n=4)",
    "data_width": 64,
    "sums": 64,
    "a_bytes": 128,
    "b_bytes": 128,
}
M, N = 7, 11
ROWS, COLUMNS = 2, 4
LDC = 1000
BASES = [0x1000, 0x9000, 0x20000, 0x40000, 0x70000]


def blocks(by_columns: bool) -> Iterator[tuple[int, int]]:
    """Yield the first row and column of each block, in order."""
    downs, acrosses = range(0, M, ROWS), range(0, N, COLUMNS)
    if by_columns:
        yield from ((down, across) for across in acrosses for down in downs)
    else:
        yield from ((down, across) for down in downs for across in acrosses)


class Setting(Part):
    """Holds the geometry that all jobs share while there is a block; else both are anything."""

    def __init__(self, dut: ResultAddresses, by_columns: bool, rng: np.random.Generator):
        self.dut, self.by_columns, self.rng = dut, by_columns, rng

    def drive(self, ctx: Any) -> None:
        values = {"by_columns": int(self.by_columns), "columns": COLUMNS, "ldc": LDC}
        if not ctx.get(self.dut.i.valid):
            values = {name: int(self.rng.integers(2)) for name in values}
            for name in ("rows", "last_row", "last_column"):
                ctx.set(self.dut.i.payload[name], int(self.rng.integers(2)))
        for name, value in values.items():
            ctx.set(self.dut.i_geometry[name], value)


class Jobs(Part):
    """Writes bases of C and of other matrices, and starts jobs, at most four at a time.

    A base waits while the memory is written; it comes after the sink, which says whether it is.
    """

    def __init__(self, dut: ResultAddresses, rng: np.random.Generator, sink: Sink, rows: int):
        self.dut, self.rng, self.sink, self.rows = dut, rng, sink, rows
        self.begun, self.known, self.come = 0, False, 0

    def drive(self, ctx: Any) -> None:
        dut, rng = self.dut, self.rng
        room = self.begun - len(self.sink.items) // self.rows < 4
        starts = self.known and room and rng.random() < 0.1
        writes = (
            room
            and not starts
            and self.begun < len(BASES)
            and rng.random() < 0.4
            and not ctx.get(dut.o_writes)
        )
        own = bool(rng.random() < 0.7)
        ctx.set(dut.i_start, starts)
        ctx.set(dut.i_base.valid, writes)
        ctx.set(dut.i_base.to, Destination.ADDEND if own else Destination.B)
        ctx.set(dut.i_base.address, BASES[self.begun] if own and writes else 0x555)
        if starts:
            self.begun, self.known = self.begun + 1, False
        elif writes and own:
            self.known = True
        leaves = self.come < self.begun * self.rows and self.come - len(self.sink.items) < 4
        ctx.set(dut.i_row, leaves)
        self.come += leaves


@pytest.mark.sample(5)
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize(
    ("seed", "lean"), [*((seed, False) for seed in range(4)), (4, True), (5, True)]
)
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_addresses_are_those_of_each_job(
    by_columns: bool, seed: int, lean: bool, rate: float
) -> None:
    """What is offered stays, whenever bases are written."""
    spec: CoprocessorSpec = Design("coprocessor", PARAMETERS).component().spec
    dut = ResultAddresses(spec, lean=lean)
    rng = np.random.default_rng(seed)
    wanted, done = [], []
    layout = dut.i.payload.shape()
    for base in BASES:
        for down, across in blocks(by_columns):
            rows, columns = min(ROWS, M - down), min(COLUMNS, N - across)
            last_row, last_column = down + ROWS >= M, across + COLUMNS >= N
            block = {
                "rows": rows,
                "columns": columns,
                "last_row": last_row,
                "last_column": last_column,
            }
            done.append(layout.const(block).as_bits())
            for row in range(rows):
                address = base + (down + row) * LDC + across * spec.sum_bytes
                final = last_row and last_column and row == rows - 1
                wanted.append((address, columns * spec.sum_bytes, final))
    sink = Sink(dut.o, rng, rate)
    jobs = Jobs(dut, rng, sink, M * len(range(0, N, COLUMNS)))
    setting = Setting(dut, by_columns, rng)
    run(
        dut,
        [Source(dut.i, done, rng, 0.9), setting, sink, jobs],
        lambda: len(sink.items) == len(wanted),
        deadline=20_000,
    )
    shape = dut.o.payload.shape()
    found = [shape.from_bits(item) for item in sink.items]
    assert [(row.address, row.bytes, bool(row.final)) for row in found] == wanted


def test_an_address_comes_a_cycle_after_its_row() -> None:
    dut = ResultAddresses(Design("coprocessor", PARAMETERS).component().spec)
    seen: list[int] = []

    async def bench(ctx: Any) -> None:
        block = {"rows": 2, "columns": 1, "last_row": 1, "last_column": 1}
        ctx.set(dut.i.payload, block)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i_start, 1)
        ctx.set(dut.o.ready, 1)
        for cycle in range(12):
            ctx.set(dut.i_row, cycle == 6)
            seen.append(ctx.get(dut.o.valid))
            await ctx.tick()
            ctx.set(dut.i_start, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [cycle == 7 for cycle in range(12)]
