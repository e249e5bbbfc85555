"""Queues against a list: order, what both ends say, and how soon an entry leaves."""

from collections import deque
from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat
from amaranth.sim import Simulator

from hw.lib.fifo import Fifo
from verif.soc.bus.invariant import always, say_their_levels

CASES = [(depth, False) for depth in (1, 2, 3, 4, 5, 8)]
CASES += [(depth, True) for depth in (2, 3, 4, 5)]


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.3), (0.3, 0.9), (1.0, 1.0)])
@pytest.mark.parametrize(("depth", "registered"), CASES)
def test_fifo_is_a_list(depth: int, registered: bool, rates: tuple[float, float]) -> None:
    fifo, rng = Fifo(8, depth, registered=registered), np.random.default_rng(depth)
    entries: deque[int] = deque()
    moved = 0

    async def bench(ctx: Any) -> None:
        nonlocal moved
        for _ in range(300):
            gives, takes = (bool(rng.random() < rate) for rate in rates)
            entry = int(rng.integers(256))
            ctx.set(fifo.i.valid, gives)
            ctx.set(fifo.i.payload, entry)
            ctx.set(fifo.o.ready, takes)
            # An entry is there from the next cycle on; a full queue takes nothing.
            assert ctx.get(fifo.o_level) == len(entries)
            assert ctx.get(fifo.o.valid) == bool(entries)
            room = ctx.get(fifo.i.ready)
            assert room == (len(entries) < depth)
            if entries:
                assert ctx.get(fifo.o.payload) == entries[0]
            if takes and entries:
                entries.popleft()
                moved += 1
            if gives and room:
                entries.append(entry)
            await ctx.tick()

    simulator = Simulator(fifo)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert moved > 50


@pytest.mark.parametrize("depth", [1, 2, 3, 8, 16])
def test_fifo_says_its_level(depth: int) -> None:
    """Whatever comes: proofs about what has queues rest on this."""
    fifo = Fifo(1, depth)
    assert always(fifo, lambda _: (Cat(say_their_levels(fifo)).all(), C(1)), cycles=2)
