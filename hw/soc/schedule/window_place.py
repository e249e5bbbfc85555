"""Places in a map: pixels that are kept, and moves from one to the next."""

from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from hw.lib.shared_module import UNINITIALISED
from hw.soc.schedule.geometry import BYTES_WIDTH

__all__ = [
    "KERNEL_ROW", "LINE", "LINE_BEFORE", "PIXEL", "PIXEL_BEFORE", "PLACES", "SIDE", "TAP",
    "Move", "Place", "first_place", "move_place", "moved",
]  # fmt: skip

PLACES = 8
TAP, KERNEL_ROW, PIXEL, LINE, PIXEL_BEFORE, LINE_BEFORE = range(6)
"""Places that are kept: the tap; the first taps of its kernel row, of the window, and of the first
window of its row; the last two as they were before the block."""
SIDE = 16
"""Bits of a coordinate inside of a map."""


class Place(data.StructLayout):
    """A pixel: its address, column and row; beyond the first edges the address is that of 0.

    Coordinates are two's complement, and stay at 2^16.
    """

    def __init__(self, address_width: int):
        super().__init__({"address": address_width, "x": SIDE + 1, "y": SIDE + 1})


class Move(NamedTuple):
    """A move from a place to another one, both of which are kept.

    Members
    -------
    source, to : which places.
    x, y : it is by a column, or by a row.
    walks, copies : it is done, as part of the walk, or as a copy.
    """

    source: Signal
    to: Signal
    x: Signal
    y: Signal
    walks: Signal
    copies: Signal

    @classmethod
    def make(cls, prefix: str = "move") -> Self:
        """Make the signals."""
        places = {name: Signal(range(PLACES), name=f"{prefix}_{name}") for name in ("source", "to")}
        bits = {name: Signal(name=f"{prefix}_{name}") for name in ("x", "y", "walks", "copies")}
        return cls(**places, **bits)

    def copy(self, m: Module, source: int, to: int) -> None:
        """Copy a place."""
        m.d.comb += [self.source.eq(source), self.to.eq(to), self.copies.eq(1)]


def first_place(m: Module, window: Any, base: Value) -> data.View:
    """Return the place of the first tap of a map, whose address is `base`."""
    first = data.View(Place(len(base)), Signal(Place(len(base)).size, name="first"))
    for coordinate, edge in ((first.x, window.left), (first.y, window.top)):
        m.d.comb += coordinate.eq(Cat(edge, edge.any().replicate(SIDE + 1 - len(edge))))
    m.d.comb += first.address.eq(base)
    return first


def moved(
    m: Module,
    old: data.View,
    moves: tuple[Value, Value],
    steps: tuple[Value, Value],
    stored: data.View | None = None,
) -> data.View:
    """Return the place a column or a row further, or the same.

    Parameters
    ----------
    old : a place.
    moves : whether it is a column, or a row.
    steps : distances of pixels, and of rows of the map.
    stored : the place, if it moves, and known earlier.
    """
    new = data.View(old.shape(), Signal(old.shape().size, name="new"))
    distance = Signal(BYTES_WIDTH)
    place = old if stored is None else stored
    (by_column, by_row), (pixel, row) = moves, steps
    m.d.comb += [
        # Before the first edges, and far behind the last ones, there is nothing to be read.
        distance.eq(Mux(by_column & ~place.x[-1], pixel, 0) | Mux(by_row & ~place.y[-1], row, 0)),
        new.address.eq(old.address + distance),
        new.x.eq(old.x + (by_column & ~(place.x[-1] & ~place.x[-2]))),
        new.y.eq(old.y + (by_row & ~(place.y[-1] & ~place.y[-2]))),
    ]
    return new


def move_place(
    m: Module,
    move: Move,
    how: tuple[Value, Value],
    window: Any,
    base: Value,
    steps: tuple[Value, Value],
) -> data.View:
    """Move from a place that is kept to the next one, which is kept, too; return it.

    Parameters
    ----------
    move : the move.
    how : it is none, but the first place of a job; it is done in this cycle.
    window : :class:`~hw.soc.registers.window_layout.WindowLayout`.
    base : address of the map.
    steps : distances of pixels, and of rows of the map.
    """
    layout = Place(len(base))
    width = layout.size
    places: Memory[int, Value] = Memory(
        shape=width, depth=PLACES, init=[], attrs={UNINITIALISED: "1"}
    )
    m.submodules.places = places
    write, read = places.write_port(), places.read_port(domain="comb")
    old = data.View(layout, Signal(width, name="old"))
    first = first_place(m, window, base)
    stored = data.View(layout, read.data)
    new = moved(m, old, (move.x, move.y), steps, stored)
    m.d.comb += [
        read.addr.eq(move.source),
        old.eq(Mux(how[0], first, read.data)),
        write.addr.eq(move.to),
        write.data.eq(new),
        write.en.eq((move.walks | move.copies) & how[1]),
    ]
    return new
