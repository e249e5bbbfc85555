"""Rows that are joined in the unpacker: one row of pieces, at any byte each."""

from typing import Any

import numpy as np
import pytest
from amaranth import Value
from amaranth.sim import Simulator

from hw.soc.bus.unpacker import Unpacker
from verif.soc.bus.partners import words
from verif.soc.bus.test_packer import RATES, last


def any_rows(rng: np.random.Generator, beat: int) -> list[list[tuple[int, np.ndarray]]]:
    """Draw the parts of rows: the first byte's place in its beat, and the bytes."""
    return [
        [
            (
                int(rng.integers(beat)),
                rng.integers(0, 256, int(rng.integers(1, 3 * beat)), np.uint8),
            )
            for _ in range(int(rng.integers(1, 5)))
        ]
        for _ in range(300)
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("beat", [2, 8])
@pytest.mark.parametrize("rate", range(3))
def test_rows_that_join_are_one_row(beat: int, rate: int) -> None:
    """At any byte each; a piece leaves only when it is full, or the last of all."""
    rng = np.random.default_rng(rate)
    dut = Unpacker(beat, joins=True)
    rows = any_rows(rng, beat)
    parts = [(*part, number + 1 < len(row)) for row in rows for number, part in enumerate(row)]
    ends = rng.integers(0, 2, len(parts)).tolist()
    beats: list[int] = []
    for offset, octets, _ in parts:
        around = rng.integers(0, 256, -(offset + len(octets)) % beat, np.uint8)
        front = rng.integers(0, 256, offset, np.uint8)
        beats += last(words(np.concatenate([front, octets, around]), beat), 8 * beat)
    joined = [np.concatenate([octets for _, octets in row]) for row in rows]
    # A block ends with a row, if its last part says so.
    of_rows = [end for end, (*_, joins) in zip(ends, parts, strict=True) if not joins]
    found: list[np.ndarray] = []
    blocks: list[int] = []

    async def send(ctx: Any) -> None:
        for end, (offset, octets, joins) in zip(ends, parts, strict=True):
            ctx.set(dut.i_row.payload.offset, offset)
            ctx.set(dut.i_row.payload.bytes, len(octets))
            ctx.set(dut.i_joins, joins)
            ctx.set(dut.i_end, end)
            await offer(ctx, dut.i_row, RATES[rate][0])

    async def offer(ctx: Any, port: Any, often: float) -> None:
        while rng.random() > often:
            await ctx.tick()
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    async def feed(ctx: Any) -> None:
        for item in beats:
            ctx.set(Value.cast(dut.i.payload), item)
            await offer(ctx, dut.i, RATES[rate][1])

    async def take(ctx: Any) -> None:
        octets, port = list[int](), dut.o.payload
        while len(found) < len(rows):
            ctx.set(dut.o.ready, rng.random() < RATES[rate][2])
            _, _, valid, taken, piece = await ctx.tick().sample(dut.o.valid, dut.o.ready, port)
            if valid and taken:
                count = piece.rest + 1 if piece.last else beat
                octets += piece.data.to_bytes(beat, "little")[:count]
                if piece.last:
                    found.append(np.array(octets, np.uint8))
                    blocks.append(piece.end)
                    octets = []

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for bench in (send, feed, take):
        simulator.add_testbench(bench)
    simulator.run()
    assert all(map(np.array_equal, found, joined))
    assert blocks == of_rows
