"""Not a test but a job: multiply the tiles of tiles.pickle, write the rows to rows.pickle."""

import pickle
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.npe_driver import NpeDriver
from carrysave.sim.cocotb.streams import deadline, generator
from carrysave.sim.parameters import bench_spec

BATCH = 256
"""Tiles between two reports of progress."""


@cocotb.test
async def multiply(dut: Any) -> None:
    """Send all tiles without a stall; what the array must ignore is random."""
    spec = bench_spec()
    tiles = pickle.loads(Path("tiles.pickle").read_bytes())
    engine = await NpeDriver(dut, spec, generator()).start()
    parts = []
    for first in range(0, len(tiles), BATCH):
        part = tiles[first : first + BATCH]
        engine.send_a(part)
        engine.send_b(part)
        beats = sum(tile.a.shape[1] for tile in part)
        # A block of scaled codes and a tile take as long as their rows take to leave.
        patience = (10 + 2 * spec.m) * beats + 20 * len(part) * (spec.m + spec.n + 20) + 1000
        await deadline(engine.take(len(part)), patience, "rows of C")
        rows = engine.rows()
        assert not rows.overflow.any(), "a sum has more words than fit"
        parts.append(rows)
        Path("progress").write_text(str(first + len(part)))
    numbers, invalid = (
        np.concatenate([getattr(one, name) for one in parts]) for name in ("numbers", "invalid")
    )
    Path("rows.pickle").write_bytes(pickle.dumps((numbers, invalid)))
