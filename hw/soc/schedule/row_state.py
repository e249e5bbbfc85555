"""The row that the loader requests, and the matrices whose rows come after it."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import NamedTuple, Self

from amaranth import Cat, Mux, Signal, Value
from amaranth.hdl import ShapeLike

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.destination import destinations
from hw.soc.schedule.geometry import BYTES_WIDTH, block_widths

__all__ = ["RowState", "chosen", "lowest"]


class RowState(NamedTuple):
    """The row that is requested, and those after it.

    Members
    -------
    at, after, step : its address, the next one's, and the bytes between them.
    to, left, length : its store, rows left with it, its bytes.
    waiting, following, current, held : a bit for each matrix: those that wait, the next one, the
        one that is requested, and those that are not there yet.
    begun, room : a row of the matrix has been requested; its store has a free buffer.
    moves, ends : the row is taken, as the matrix's last one.
    """

    at: Signal
    after: Signal
    step: Signal
    to: Signal
    left: Signal
    length: Signal
    waiting: Signal
    following: Signal
    current: Signal
    held: Signal
    begun: Signal
    room: Signal
    moves: Signal
    ends: Signal

    @classmethod
    def make(cls, spec: CoprocessorSpec, matrices: int) -> Self:
        """Make the signals."""
        widths = block_widths(spec)
        shapes: dict[str, ShapeLike] = {
            "at": spec.address_width,
            "after": spec.address_width,
            "step": BYTES_WIDTH,
            "to": range(destinations(spec)),
            "left": max(widths["rows"], widths["codes"]),
            "length": spec.length_width,
            **dict.fromkeys(("waiting", "following", "current", "held"), matrices),
        }
        return cls(**{name: Signal(shapes.get(name, 1), name=name) for name in cls._fields})

    @property
    def next(self) -> Value:
        """The next matrix, and those that wait after it."""
        return Cat(self.following, self.waiting)

    def choice(self, matrices: Value) -> Value:
        """Return what is to be :attr:`next` of some matrices: first those that are there."""
        there = matrices & ~self.held
        chosen = lowest(Mux(there.any(), there, matrices))
        return Cat(chosen, matrices & ~chosen)


def lowest(bits: Value) -> Value:
    """Keep the lowest bit that is set."""
    return Cat(bit & ~bits[:number].any() for number, bit in enumerate(bits))


def chosen(bits: Value, values: Iterable[Value]) -> Value:
    """Select a value by its bit; at most one of the bits is set."""
    return Value.cast(
        reduce(
            or_,
            (Mux(bit, value, 0) for bit, value in zip(bits, values, strict=True)),
        )
    )
