"""What the benches of the array of lanes have in common: to send tiles, and to check rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from carrysave.sim.cocotb.engine_driver import TRAFFIC
from carrysave.sim.cocotb.npe_driver import NpeDriver
from carrysave.sim.cocotb.npe_tiles import Rows, Tile, TileMaker, compare
from carrysave.sim.cocotb.streams import deadline, generator, limited, schedule
from carrysave.sim.parameters import bench_spec

__all__ = [
    "FILL",
    "LANE",
    "MAKER",
    "NUMBERS",
    "SPEC",
    "begin",
    "check",
    "codes",
    "finish",
    "start",
    "tile",
]

SPEC = bench_spec()
LANE = SPEC.element
MAKER = TileMaker(SPEC)
tile, codes, NUMBERS = MAKER.tile, MAKER.codes, MAKER.numbers
FILL = 2 * (SPEC.m + SPEC.n) + 20
"""Cycles within which an array of this size has to react."""

Seeded = np.random.Generator


def start(engine: NpeDriver, tiles: Sequence[Tile], seed: int, traffic: Sequence[str]) -> list[Any]:
    """Start to send tiles, under stalls."""
    return [
        engine.send_a(tiles, schedule(traffic[0], generator(seed, 1))),
        engine.send_b(tiles, schedule(traffic[1], generator(seed, 2))),
    ]


async def check(
    engine: NpeDriver, tiles: Sequence[Tile], seed: int, traffic: Sequence[str] = TRAFFIC[0]
) -> Rows:
    """Multiply tiles and compare every row of C with golden."""
    tiles = tiles[: limited(len(tiles))]
    start(engine, tiles, seed, traffic)
    return await finish(engine, tiles, schedule(traffic[2], generator(seed, 3)))


async def finish(engine: NpeDriver, tiles: Sequence[Tile], stalls: Any = None) -> Rows:
    """Take the rows of C of tiles that are being sent; nothing may follow them."""
    patience = 40 * (sum(part.a.shape[1] for part in tiles) + len(tiles) * FILL) + 1000
    await deadline(engine.take(len(tiles), stalls), patience, "rows of C")
    rows = engine.rows()
    compare(SPEC, tiles, rows)
    await engine.c.silent(FILL)
    return rows


async def begin(dut: Any, seed: int) -> tuple[NpeDriver, Seeded]:
    """Start the design; return its driver and a generator."""
    return await NpeDriver(dut, SPEC, generator(seed, 4)).start(), generator(seed)
