"""Whether a job reads what the one before it writes, by the ranges of their matrices."""

from collections.abc import Sequence

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.soc.schedule.destination import OF_A, Destination

__all__ = ["JobOverlap"]

_OF_C = (Destination.ADDEND,)


class JobOverlap(wiring.Component):
    """Compares matrices that are read with the C of the job before, from first to last byte.

    Ranges that meet may still have no byte in common, where rows are apart: then a job waits for
    nothing.

    Parameters
    ----------
    matrices : sequence of Destination
        What: the matrices of a job, in the order in which their ends are known; ADDEND is C.
    width : int
        What: bits of an address.

    Members
    -------
    i_start : In(1)
        The next job is looked at.
    en : In(1)
        The matrix ``i_step`` begins, and the end of the one before is known.
    i_step, i_first, i_last, i_used : In
        Its number and address; the last byte of the one before, and whether the job has that one.
    o_a, o_others : Out(1)
        Two cycles after the last end: A, or its scales, is written by the job before; anything
        else that the job reads is.
    """

    i_start: Signal
    en: Signal
    i_step: Signal
    i_first: Signal
    i_last: Signal
    i_used: Signal
    o_a: Signal
    o_others: Signal

    def __init__(self, matrices: Sequence[Destination], width: int):
        self.matrices = tuple(matrices)
        super().__init__({
            "i_start": In(1),
            "en": In(1),
            "i_step": In(range(len(matrices) + 1)),
            "i_first": In(width),
            "i_last": In(width),
            "i_used": In(1),
            "o_a": Out(1),
            "o_others": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        width = len(self.i_first)
        first, last, first_before, last_before = (
            Signal(width, name=name, reset_less=True)
            for name in ("first", "last", "first_before", "last_before")
        )
        # Whether the matrix that begins starts before C's end; the one before meets C.
        low, meets, of_a, of_c = (Signal(name=name) for name in ("low", "meets", "of_a", "of_c"))
        ends_c = self._at(_OF_C, 1)
        late = Signal()
        m.d.sync += late.eq(self.en)
        with m.If(self.en):
            m.d.sync += [
                low.eq(self.i_first <= last_before),
                meets.eq(low & self.i_used & (self.i_last >= first_before)),
                of_a.eq(self._at(OF_A, 1)),
                of_c.eq(ends_c),
            ]
            with m.If(self._at(_OF_C, 0)):
                m.d.sync += first.eq(self.i_first)
            with m.If(ends_c):
                m.d.sync += last.eq(self.i_last)
        with m.If(late):
            m.d.sync += self.o_a.eq(self.o_a | (meets & of_a))
            m.d.sync += self.o_others.eq(self.o_others | (meets & ~of_a & ~of_c))
        with m.If(self.i_start):
            m.d.sync += [self.o_a.eq(0), self.o_others.eq(0)]
            m.d.sync += [first_before.eq(first), last_before.eq(last)]
        return m

    def _at(self, some: Sequence[Destination], after: int) -> Value:
        """Return whether the step is that of some matrices, or so many after it."""
        steps = (number + after for number, to in enumerate(self.matrices) if to in some)
        return self.i_step.matches(*steps)
