"""Places in a map, by proof: an address is that of its coordinates, wherever these are of the map.

By induction: the first place is so, and each move leaves it so; all others are copies. A tap is
read only where its coordinates are of the map, so that no byte beyond it is.
"""

from functools import partial
from typing import Any

import pytest
from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data

from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.window_place import SIDE, Place, first_place, moved
from verif.support.formal import holds

WIDTH = 5
"""Bits of addresses and distances: all bits are alike, and products are hard to compare."""


def right(place: Any, base: Value, pixel: Value, row: Value, slip: int = 0) -> Value:
    """Return whether the address is that of the coordinates, each of which counts from 0 on."""
    x, y = (Mux(one[-1], 0, one)[:WIDTH] for one in (place.x, place.y))
    wanted = base + x * pixel + y * row + slip
    return place.address == wanted[:WIDTH]


def step(m: Module, *values: Value, slip: int = 0) -> Value:
    """Claim that a move of a place that is right leads to one that is right."""
    address, x, y, base, pixel, row, by_row = values
    old = data.View(Place(WIDTH), Signal(Place(WIDTH).size))
    m.d.comb += [old.address.eq(address), old.x.eq(x), old.y.eq(y)]
    new = moved(m, old, (~by_row, by_row), (pixel, row))
    # Coordinates from -255 on, and up to 2^16, where they stay.
    low, top = -256 & (1 << SIDE + 1) - 1, 1 << SIDE
    counted = [(one <= top) | (one >= low) for one in (old.x, old.y)]
    then = [(one <= top) | (one >= low) for one in (new.x, new.y)]
    # Behind 2^16 an address no longer counts.
    ends = (old.x == top) | (old.y == top) | (new.x == top) | (new.y == top)
    holds_on = right(new, base, pixel, row, slip) | ends
    given = right(old, base, pixel, row) & counted[0] & counted[1]
    return ~given | (holds_on & then[0] & then[1])


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
        first = first_place(m, window, base)
        # Its coordinates are 0 less the edges.
        edges = [(first.x, window.left), (first.y, window.top)]
        exact = [one == Mux(edge == 0, 0, (1 << SIDE + 1) - 256 + edge) for one, edge in edges]
        return right(first, base, pixel, row) & exact[0] & exact[1]

    assert holds(begin, WindowLayout().size, WIDTH, WIDTH, WIDTH)


def test_a_place_that_does_not_move_is_as_it_was() -> None:
    """Whatever is stored where it would have come from: so is the first one."""

    def stay(m: Module, address: Value, x: Value, y: Value, other: Value) -> Value:
        old, stored = (data.View(Place(WIDTH), Signal(Place(WIDTH).size)) for _ in range(2))
        m.d.comb += [old.address.eq(address), old.x.eq(x), old.y.eq(y)]
        m.d.comb += stored.as_value().eq(other)
        steps = Value.cast(3), Value.cast(5)
        new = moved(m, old, (Value.cast(0), Value.cast(0)), steps, stored)
        return new.as_value() == old.as_value()

    assert holds(stay, WIDTH, SIDE + 1, SIDE + 1, Place(WIDTH).size)
