"""Bench of the vector unit: rows that come any number of cycles after one another."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import deadline, generator, limited
from golden.npe.vector_unit import cycles
from verif.npe.benches.tb_vector_unit import (
    BUILT,
    MOST,
    SPEC,
    Row,
    VectorBench,
    beats,
    draw,
    scaled,
)

GAPS = 64
"""Cycles from the end of a row to the begin of the next one: until that has left, at least."""


@cocotb.test
async def test_rows_after_any_gap(dut: Any) -> None:
    """The next row is there at any moment of what becomes of the one before."""
    rng = generator(400)
    bench = await VectorBench(dut).start()
    for gap in range(GAPS):
        for first in BUILT:
            rows: list[Row] = [
                (first, draw(rng, 2)),
                (BUILT[-1], draw(rng, 2)),
                (first, draw(rng, 3)),
            ]
            for _, values in rows:
                values[-1] = max(int(values[-1]) >> 1, 1)
            scalings = [scaled(rng, *row) for row in rows]
            sent = [beats(row, how) for row, how in zip(rows, scalings, strict=True)]
            taken = bench.o.take(sum(-(-len(x) // SPEC.lanes) for _, x in rows))
            await bench.i.send(sent[0])
            if gap:
                await ClockCycles(dut.clk, gap)
            await bench.i.send(sent[1] + sent[2])
            await deadline(taken, 2000, "codes")
            bench.compare(rows, scalings)


@cocotb.test(skip=SPEC.length == MOST)
async def test_rows_of_any_length(dut: Any) -> None:
    """Pairs of rows come behind rows that are longer than these may be, while they leave."""
    rng = generator(330)
    bench = await VectorBench(dut).start()
    for _ in range(limited(6)):
        operations = [str(rng.choice(BUILT)) for _ in range(12)]
        most = [SPEC.most(one) // int(rng.integers(1, 4)) for one in operations]
        rows = [
            (one, draw(rng, max(count, 1))) for one, count in zip(operations, most, strict=True)
        ]
        bench.i.cycles.clear()
        await bench.check(rows)
        found = bench.o.cycles[-1] - bench.i.cycles[0] + 1
        assert found == cycles(SPEC, rows), rows
