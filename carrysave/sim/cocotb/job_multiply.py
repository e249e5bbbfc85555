"""Not a test but a job: multiply the tiles of operands.npz, write the rows to products.npy."""

from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.engine_driver import EngineDriver
from carrysave.sim.cocotb.streams import deadline
from carrysave.sim.parameters import bench_spec

BATCH = 8192
"""Beats between two reports of progress."""


@cocotb.test
async def multiply(dut: Any) -> None:
    """Send all tiles without a stall."""
    spec = bench_spec()
    operands = np.load("operands.npz")
    lengths, a, b = operands["lengths"], operands["a"], operands["b"]
    engine = await EngineDriver(dut, spec).start()
    ends = np.cumsum(lengths)
    products = []
    first = 0
    while first < len(lengths):
        start = ends[first] - lengths[first]
        tiles = max(1, int(np.searchsorted(ends, start + BATCH)) - first)
        beats = slice(start, ends[first + tiles - 1])
        engine.send_a(a[beats], lengths[first : first + tiles])
        engine.send_b(b[beats])
        # Digit-serial and weight-stationary engines keep a beat for some cycles.
        fill_cycles = 10 + max(spec.m, spec.k * spec.a_width)
        fill = spec.m + spec.n + spec.k + spec.accumulator_width
        patience = fill_cycles * (beats.stop - beats.start) + 20 * tiles * fill + 1000
        await deadline(engine.take(tiles), patience, "rows of C")
        products.append(engine.rows())
        first += tiles
        Path("progress").write_text(str(first))
    np.save("products.npy", np.concatenate(products))
