"""Places in a map, by proof: an address is that of column and row, wherever these are of the map.

By induction: the first place is so, and each move leaves it so; all others are copies. A place has
one of both, the other is that of the place from which it was reached. A tap is read only where both
are of the map, so that no byte beyond it is.
"""

from functools import partial
from typing import Any

import pytest
from amaranth import C, Module, Mux, Signal, Value
from amaranth.lib import data

from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.window_place import SIDE, Place, edge_of, moved
from verif.support.formal import holds

WIDTH = 5
"""Bits of addresses and distances: all bits are alike, and products are hard to compare."""


def right(address: Value, at: tuple[Value, Value], base: Value, *steps: Value) -> Value:
    """Return whether the address is that of column and row, each of which counts from 0 on."""
    (x, y), (pixel, row) = (Mux(one[-1], 0, one)[:WIDTH] for one in at), steps
    wanted = base + x * pixel + y * row
    return address == wanted[:WIDTH]


def step(m: Module, *values: Value, slip: int = 0) -> Value:
    """Claim that a move of a place that is right leads to one that is right."""
    address, at, other, base, pixel, row, by_row = values
    old = data.View(Place(WIDTH), Signal(Place(WIDTH).size))
    m.d.comb += [old.address.eq(address), old.at.eq(at)]
    new = moved(m, old, (~by_row, by_row), (pixel, row), old.at[-1])

    def both(one: Value) -> tuple[Value, Value]:
        return Mux(by_row, other, one), Mux(by_row, one, other)

    # From -255 on, and up to 2^16, where they stay.
    low, top = -256 & (1 << SIDE + 1) - 1, 1 << SIDE
    counted = [(one <= top) | (one >= low) for one in (at, other)]
    then = (new.at <= top) | (new.at >= low)
    # Behind 2^16 an address no longer counts.
    ends = (at == top) | (other == top) | (new.at == top)
    holds_on = right((new.address + slip)[:WIDTH], both(new.at), base, pixel, row) | ends
    given = right(address, both(at), base, pixel, row) & counted[0] & counted[1]
    return ~given | (holds_on & then)


SIZES = (WIDTH, SIDE + 1, SIDE + 1, WIDTH, WIDTH, WIDTH, 1)


@pytest.mark.prove
def test_a_move_leaves_the_address_that_of_the_coordinates() -> None:
    assert holds(step, *SIZES)


def test_a_move_of_a_byte_more_does_not() -> None:
    assert not holds(partial(step, slip=1), *SIZES)


def test_the_first_place_is_that_of_the_map() -> None:
    """Beyond the first edges, by up to 255 pixels, or at them."""

    def begin(m: Module, words: Value, base: Value, pixel: Value, row: Value) -> Value:
        window: Any = data.View(WindowLayout(), words)
        edges = edge_of(window, C(0, 1)), edge_of(window, C(1, 1))
        # They are 0 less the edges.
        pairs = zip(edges, (window.left, window.top), strict=True)
        exact = [one == Mux(edge == 0, 0, (1 << SIDE + 1) - 256 + edge) for one, edge in pairs]
        return right(base, edges, base, pixel, row) & exact[0] & exact[1]

    assert holds(begin, WindowLayout().size, WIDTH, WIDTH, WIDTH)


def test_a_place_that_does_not_move_is_as_it_was() -> None:
    """Whatever sign there would be."""

    def stay(m: Module, place: Value, sign: Value) -> Value:
        old = data.View(Place(WIDTH), place)
        new = moved(m, old, (C(0, 1), C(0, 1)), (C(3), C(5)), sign)
        return new.as_value() == place

    assert holds(stay, Place(WIDTH).size, 1)
