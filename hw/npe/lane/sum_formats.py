"""State of a whole sum: its formats, and its overflow flag."""

from collections.abc import Callable

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.lane import LaneSpec

__all__ = ["SumFormats"]


class SumFormats(wiring.Component):
    """Latches a sum's formats, and counts its words to flag overflow.

    Parameters
    ----------
    spec : LaneSpec
        What: formats, and the maximum words per sum for each pair of them.
    k_max_words : function
        What: that maximum instead, from two formats; None: do not count.

    Members
    -------
    accept, last : In(1)
        Words are accepted; they are the last ones of their sum.
    i_a, i_b : In
        Formats of the words; those of a sum's first words count.
    o_a, o_b : Out
        Formats of the sum, in the same cycle.
    o_overflow : Out(1)
        More words than fit have been accepted in this sum, before this cycle.
    """

    accept: Signal
    last: Signal
    i_a: Signal
    i_b: Signal
    o_a: Signal
    o_b: Signal
    o_overflow: Signal

    def __init__(self, spec: LaneSpec, k_max_words: Callable[[int, int], int | None] | None = None):
        self.spec = spec
        self.k_max_words = spec.k_max_words if k_max_words is None else k_max_words
        width = spec.format_width
        super().__init__({
            "accept": In(1),
            "last": In(1),
            "i_a": In(width),
            "i_b": In(width),
            "o_a": Out(width),
            "o_b": Out(width),
            "o_overflow": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        first = Signal(init=1)
        a, b = (Signal(len(self.i_a), name=name, reset_less=True) for name in ("a", "b"))
        m.d.comb += [self.o_a.eq(Mux(first, self.i_a, a)), self.o_b.eq(Mux(first, self.i_b, b))]

        # Words that may still follow.
        words: dict[int, list[str]] = {}
        width = len(a)
        for x, y in self.spec.pairs:
            k_max_words = self.k_max_words(x, y)
            if k_max_words is not None:
                words.setdefault(k_max_words - 1, []).append(f"{y:0{width}b}{x:0{width}b}")
        more = Signal(range(max(words, default=0) + 1))
        with m.Switch(Cat(self.i_a, self.i_b)):
            for count, pairs in words.items():
                with m.Case(*pairs):
                    m.d.comb += more.eq(count)
        left = Signal.like(more, reset_less=True)
        # Until the first words are accepted, these follow the inputs: no enable.
        m.d.sync += [a.eq(self.o_a), b.eq(self.o_b)]
        if words:
            # After an overflow, the counter wraps around.
            m.d.sync += left.eq(Mux(first, more, left - self.accept))
        with m.If(self.accept):
            m.d.sync += first.eq(self.last)
            if words:
                m.d.sync += self.o_overflow.eq(~first & (self.o_overflow | (left == 0)))
        return m
