"""Bench of the monitor of an array of lanes: tiles in all formats, and a twin that is another."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge, with_timeout

from carrysave import testing
from carrysave.sim.cocotb.npe_driver import NpeDriver
from carrysave.sim.cocotb.npe_tiles import TileMaker
from hw.catalog import Design

DESIGNS = {
    design.module: design
    for design in (
        Design("npe", {"m": 2, "n": 2, "formats": "int8,e4m3"}),
        *(
            Design(
                "npe",
                {
                    "m": 2,
                    "n": 3,
                    "formats": "int4,e2m1",
                    "result": "fp32",
                    "block": 4,
                    "scale": scale,
                },
            )
            for scale in ("e8m0", "e4m3")
        ),
    )
}


def design_of(dut: Any) -> Design:
    return DESIGNS[dut._name]


@cocotb.test
async def tiles_of_all_formats(dut: Any) -> None:
    design, rng = design_of(dut), testing.generator()
    watch = testing.watch(design, dut, clk=dut.clk)
    lanes = await NpeDriver(dut, design.spec, rng).start()
    maker = TileMaker(design.spec)
    tiles = [maker.tile(rng, int(rng.integers(1, 20)), rate=0.1) for _ in range(30)]
    lanes.send_a(tiles, testing.schedule("bursts", rng))
    lanes.send_b(tiles)
    await with_timeout(lanes.take(len(tiles), testing.schedule("rare", rng)), 1, "ms")
    await RisingEdge(dut.clk)
    watch.check(tiles=len(tiles))
    for (seen, rows), sent in zip(watch.products, tiles, strict=True):
        assert seen.pair == sent.pair
        assert np.array_equal(seen.a[:, : sent.a.shape[1]], sent.a)
        assert np.array_equal(seen.b[: len(sent.b)], sent.b)
        assert rows.numbers.shape == (design.spec.m, design.spec.n)


@cocotb.test
async def another_twin_is_noticed(dut: Any) -> None:
    design, rng = design_of(dut), testing.generator(1)
    other = replace(design.spec, formats="int8,posit8e0")
    task = testing.NpeMonitor(dut, other, clk=dut.clk).start()
    lanes = await NpeDriver(dut, design.spec, rng).start()
    tiles = [TileMaker(design.spec).tile(rng, 5, pair=pair, rate=0) for pair in ((0, 0), (1, 0))]
    lanes.send_a(tiles)
    lanes.send_b(tiles)
    lanes.take(2)
    with pytest.raises(AssertionError, match=r"tile 1 is not the twin's: .* of 4 numbers differ"):
        await with_timeout(task, 10, "us")
