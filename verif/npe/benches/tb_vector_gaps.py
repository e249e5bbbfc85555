"""Bench of the vector unit: rows that come any number of cycles after one another."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import deadline, generator
from verif.npe.benches.tb_vector_unit import BUILT, SPEC, Row, VectorBench, beats, draw, scaled

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
