"""Places in a map: pixels that are kept, and moves from one to the next."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from hw.lib.shared_module import UNINITIALISED
from hw.soc.schedule.geometry import BYTES_WIDTH

__all__ = [
    "KERNEL_ROW", "LINE", "LINE_BEFORE", "PIXEL", "PIXEL_BEFORE", "PLACES", "SIDE", "TAP",
    "Move", "Place", "edge_of", "move_place", "moved",
]  # fmt: skip

PLACES = 8
TAP, KERNEL_ROW, PIXEL, LINE, PIXEL_BEFORE, LINE_BEFORE = range(6)
"""Places that are kept: the tap; the first taps of its kernel row, of the window, and of the first
window of its row; the last two as they were before the block."""
SIDE = 16
"""Bits of a coordinate inside of a map."""


class Place(data.StructLayout):
    """A pixel: its address, and its column or, of :data:`LINE` and :data:`KERNEL_ROW`, its row.

    Beyond the first edges the address is that of column or row 0. Both are two's complement, and
    stay at 2^16. The one that is not there is that of the place from which this one was reached.
    """

    def __init__(self, address_width: int):
        super().__init__({"address": address_width, "at": SIDE + 1})


class Move(NamedTuple):
    """A move from a place to another one, both of which are kept.

    Members
    -------
    source, along, to : which places: the address is that of the first one, the column or the row
        that of the second one.
    edge : the column or the row is that of the first edge.
    x, y : it is by a column, or by a row.
    walks, copies : it is done, as part of the walk, or as a copy.
    """

    source: Signal
    along: Signal
    to: Signal
    edge: Signal
    x: Signal
    y: Signal
    walks: Signal
    copies: Signal

    @classmethod
    def make(cls, prefix: str = "move") -> Self:
        """Make the signals."""
        places = {
            name: Signal(range(PLACES), name=f"{prefix}_{name}")
            for name in ("source", "along", "to")
        }
        names = ("edge", "x", "y", "walks", "copies")
        bits = {name: Signal(name=f"{prefix}_{name}") for name in names}
        return cls(**places, **bits)

    def copy(self, m: Module, source: int, to: int) -> None:
        """Copy a place."""
        m.d.comb += [self.source.eq(source), self.along.eq(source), self.to.eq(to)]
        m.d.comb += [self.edge.eq(0), self.copies.eq(1)]

    @property
    def down(self) -> Value:
        """Whether it is to a place that has a row, not a column."""
        return self.to[0]


def edge_of(window: Any, down: Value) -> Value:
    """Return the column, or the row, of the first tap of a map."""
    edge = Mux(down, window.top, window.left)
    return Cat(edge, edge.any().replicate(SIDE + 1 - len(edge)))


def moved(
    m: Module, old: data.View, moves: tuple[Value, Value], steps: tuple[Value, Value], sign: Value
) -> data.View:
    """Return the place a column or a row further, or the same.

    Parameters
    ----------
    old : a place.
    moves : whether it is a column, or a row.
    steps : distances of pixels, and of rows of the map.
    sign : of what is moved, if anything is.
    """
    new = data.View(old.shape(), Signal(old.shape().size, name="new"))
    m.d.comb += [
        new.address.eq(old.address + _passed(m, [one & ~sign for one in moves], steps)),
        new.at.eq(_counted(old.at, moves)),
    ]
    return new


def _passed(m: Module, moves: Iterable[Value], steps: tuple[Value, Value]) -> Value:
    """Return the distance of a move: before the first edges there is none."""
    distance = Signal(BYTES_WIDTH, name="distance")
    each = (Mux(one, step, 0) for one, step in zip(moves, steps, strict=True))
    m.d.comb += distance.eq(reduce(or_, each))
    return distance


def _counted(at: Value, moves: tuple[Value, Value]) -> Value:
    """Return the next column or row; far behind the last ones there is nothing to be read."""
    return (at + (reduce(or_, moves) & ~(at[-1] & ~at[-2])))[: len(at)]


def move_place(
    m: Module,
    move: Move,
    how: tuple[Value, Value],
    window: Any,
    base: Value,
    steps: tuple[Value, Value],
) -> data.View:
    """Move from a place that is kept to the next one, which is kept, too; return it.

    Its address is that of the move before: column and row go ahead, and say whether it moves.

    Parameters
    ----------
    move : the move.
    how : it is none, but the first place of a job; it is done in this cycle.
    window : :class:`~hw.soc.registers.window_layout.WindowLayout`.
    base : address of the map.
    steps : distances of pixels, and of rows of the map.
    """
    layout = Place(len(base))
    stored, new = (data.View(layout, Signal(layout.size, name=name)) for name in ("stored", "new"))
    edge, sign, before = edge_of(window, move.down), Signal(name="sign"), Signal(name="before")
    # Of what is moved from an edge, which is a column: known early.
    m.d.sync += before.eq(window.left.any())
    m.d.comb += [
        new.at.eq(_counted(Mux(move.edge, edge, stored.at), (move.x, move.y))),
        sign.eq(Mux(move.edge, before, stored.at[-1])),
    ]
    later, still = Move.make("later"), Signal(name="later_still")
    at_base = Signal(len(base), name="later_base", reset_less=True)
    with m.If(how[1]):
        m.d.sync += [one.eq(other) for one, other in zip(later, move, strict=True)]
        m.d.sync += [later.x.eq(move.x & ~sign), later.y.eq(move.y & ~sign)]
        m.d.sync += [still.eq(how[0]), at_base.eq(base)]
    passed = _passed(m, (later.x, later.y), steps)
    m.d.comb += new.address.eq(Mux(still, at_base, stored.address) + passed)
    for name, one, source in (("address", later, later.source), ("at", move, move.along)):
        places: Memory[int, Value] = Memory(
            shape=len(new[name]), depth=PLACES, init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules[f"places_{name}"] = places
        write, read = places.write_port(), places.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(source),
            stored[name].eq(read.data),
            write.addr.eq(one.to),
            write.data.eq(new[name]),
            write.en.eq((one.walks | one.copies) & how[1]),
        ]
    return new
