"""Where rows of C leave an array, and what stops the array: its common clock enable."""

from typing import Any

from amaranth import Module, Mux, Signal, Value, ValueCastable
from amaranth.hdl import ValueLike

__all__ = ["Enable", "RowExit", "is_large", "near"]

LARGE = 8192
"""Bits of sums and operands in an array, from which its clock enable is a register."""

_SLICE = 64
"""Bits of a row that share a copy of the clock enable."""


def is_large(elements: int, bits: int) -> bool:
    """Return whether an array is so large that its clock enable is a register.

    Parameters
    ----------
    elements : of the array.
    bits : that each of them holds: its sum, and the codes of B that are its own.
    """
    return elements * bits >= LARGE


class Enable(ValueCastable):
    """A clock enable that is a register, of which any part of an array may have a copy.

    Parameters
    ----------
    m : where the copies are.
    wait, go : the enable is 1 in the next cycle if `go` is, or if it is 1 and `wait` is not.
    """

    def __init__(self, m: Module, wait: Value, go: Value):
        self._m = m
        self._wait, self._go = wait, go
        self._copies = 0
        self._first = self.near()

    @property
    def next(self) -> Value:
        """What it is in the next cycle."""
        return self._go | (self._first & ~self._wait)

    def near(self) -> Signal:
        """Make a copy.

        Each follows from itself, or synthesis would make one register of all.
        """
        copy = Signal(init=1, name=f"move{self._copies}")
        self._copies += 1
        self._m.d.sync += copy.eq(self._go | (copy & ~self._wait))
        return copy

    def shape(self) -> int:
        """One bit."""
        return 1

    def as_value(self) -> Value:
        """Return the first copy."""
        return self._first


def near(move: ValueLike) -> Value:
    """Return a copy of a clock enable for a part of an array; itself, if it is no register."""
    return move.near() if isinstance(move, Enable) else Value.cast(move)


class RowExit:
    """Offers the rows of C of an array, and makes its common clock enable.

    A row that is not taken stops the array: a small one in the same cycle, so that ``o_c.ready``
    reaches all registers. A large one stops a cycle later: its enable is a register, and the row is
    held here, while the next one is already where rows leave the array. No row waits when it need
    not, and latency and throughput are the same.

    Parameters
    ----------
    m, o_c : where, and the stream of rows.
    late : bool
        How: the array stops a cycle later.

    Members
    -------
    valid, payload
        The row that leaves the array, from registers that move with `move`.
    move, moves
        Clock enable of the array; what it is in the next cycle, if the array stops late.
    """

    valid: Signal
    payload: Any
    move: ValueLike
    moves: Value

    def __init__(self, m: Module, o_c: Any, *, late: bool):
        self.valid, self.payload = o_c.valid, o_c.payload
        if not late:
            self.move = move = Signal()
            m.d.comb += move.eq(~o_c.valid | o_c.ready)
            return
        self.valid, row = Signal(name="row_valid"), Signal.like(o_c.payload, name="row")
        self.payload = row
        self.move = enable = Enable(m, self.valid, o_c.ready)
        self.moves = enable.next
        m.d.comb += o_c.valid.eq(self.valid | ~near(enable))
        arrived, offered = Value.cast(row), Value.cast(o_c.payload)
        for start in range(0, len(arrived), _SLICE):
            part = arrived[start : start + _SLICE]
            held = Signal(len(part), name=f"held{start}", reset_less=True)
            moves = enable.near()
            with m.If(moves):
                m.d.sync += held.eq(part)
            m.d.comb += offered[start : start + _SLICE].eq(Mux(moves, part, held))
