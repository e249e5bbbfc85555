"""Beats of tiles while the engine stalls: none is lost, none twice, none late behind a stall."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from golden.soc.spec import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.path.operand_feed import OperandFeed
from hw.soc.schedule.sides import sides
from verif.soc.bus.partners import Part, Sink, Source, run

SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=2, n=8), data_width=64)
TWICE = CoprocessorSpec(engine=SystolicOsSpec(m=2, n=8), data_width=64, array_clock=2)
ROWS = 8


class Store(Part):
    """Answers reads a cycle later with a word of its own for each place; its rows come at once."""

    def __init__(self, dut: OperandFeed):
        self.dut, self.word, self.rows = dut, 0, 0
        self.ports = [dut.en, dut.o_part, dut.o_address, dut.o_slice]

    def drive(self, ctx: Any) -> None:
        ctx.set(self.dut.i_words, self.word)
        ctx.set(self.dut.i_stride, 1)
        ctx.set(self.dut.i_filled, self.rows < ROWS)
        self.rows += 1

    def see(self, cycle: int, values: Sequence[int]) -> None:
        enabled, *place = values
        if enabled:
            self.word = random.Random(str(place)).getrandbits(len(self.dut.i_words))


class Stalls(Sink):
    """Is never ready in the first cycles of each turn, and always in the others."""

    def __init__(self, dut: Any, stall: int, turn: int):
        super().__init__(dut.o, np.random.default_rng(0))
        self.stall, self.turn, self.cycle = stall, turn, 0

    def drive(self, ctx: Any) -> None:
        self.open = self.cycle % self.turn >= self.stall
        self.cycle += 1
        ctx.set(self.ready, self.open)


def beats(
    which: str,
    stall: int,
    turn: int,
    *,
    lean: bool = False,
    spec: CoprocessorSpec = SPEC,
    rate: float = 1.0,
) -> tuple[list[int], list[int]]:
    """Return the beats of some tiles, and their cycles."""
    dut = OperandFeed(spec, sides(spec)[which], lean=lean)
    draw, side, tiles, count = random.Random(3), dut.side, list[int](), 0
    layout: Any = dut.request
    for _ in range(60):
        codes = draw.randint(1, ROWS)
        tile: dict[int | str, Any] = {
            "address": draw.randrange(2),
            "codes": codes,
            "lines": draw.randint(1, side.across if side.down else side.banks),
            "last": draw.getrandbits(1),
        }
        tiles.append(layout.const(tile).as_bits())
        count += -(-codes // side.k)
    sink = Stalls(dut, stall, turn)
    source = Source(dut.i, tiles, np.random.default_rng(1), rate)
    run(dut, [Store(dut), source, sink], lambda: len(sink.items) == count, deadline=4000, more=20)
    assert len(sink.items) == count
    return sink.items, sink.cycles


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize(("stall", "turn"), [(1, 2), (1, 3), (2, 3), (3, 7), (20, 33)])
def test_operand_feed_stalls(which: str, stall: int, turn: int) -> None:
    free, cycles = beats(which, 0, 1)
    assert len(set(free)) > 10
    # The next beat is there in each cycle, across tiles.
    assert cycles == list(range(cycles[0], cycles[0] + len(free)))
    items, cycles = beats(which, stall, turn)
    assert items == free
    # Also behind a stall, however long it was.
    begin = cycles[0]
    assert cycles == [at for at in range(begin, cycles[-1] + 1) if at % turn >= stall]


@pytest.mark.parametrize("which", ["a", "b"])
def test_operand_feed_lean_stalls(which: str) -> None:
    assert beats(which, 2, 3, lean=True)[0] == beats(which, 0, 1)[0]


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize(("stall", "turn"), [(1, 2), (2, 3), (20, 33)])
def test_operand_feed_of_a_fast_clock_stalls(which: str, stall: int, turn: int) -> None:
    """The same beats, with a cycle or more between tiles that all wait."""
    free, cycles = beats(which, 0, 1, spec=TWICE)
    assert free == beats(which, 0, 1)[0]
    assert cycles[-1] - cycles[0] == len(free) - 1 + 59
    assert beats(which, stall, turn, spec=TWICE)[0] == free
    # Tiles that come late, too: what is known of each is its own.
    assert beats(which, stall, turn, spec=TWICE, rate=0.2)[0] == free
