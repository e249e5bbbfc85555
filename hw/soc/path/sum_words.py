"""Rows of sums, word by word."""

from typing import Any

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SumWords", "cut_sums", "load_words"]


class SumWords(wiring.Component):
    """Cuts a row into words of a beat, one per cycle, up to the last one that has columns of C.

    Queues and multiplexers behind it are as wide as a word, not as a row.

    Parameters
    ----------
    words, width : int
        What: words of a row, 2 or more, and bits of a word.

    Members
    -------
    i : In
        The row.
    i_load, i_needed : In(1), In
        In the cycle before a row is there; which of its words but the first have columns of C.
    en : In(1)
        The word is taken.
    o, o_last : Out, Out(1)
        The word; it is the last one.
    """

    i: Signal
    i_load: Signal
    i_needed: Signal
    en: Signal
    o: Signal
    o_last: Signal

    def __init__(self, words: int, width: int):
        self.words = words
        super().__init__({
            "i": In(words * width),
            "i_load": In(1),
            "i_needed": In(words - 1),
            "en": In(1),
            "o": Out(width),
            "o_last": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        number, needed = Signal(range(self.words)), Signal(self.words - 1)
        m.d.comb += [
            self.o.eq(self.i.word_select(number, len(self.o))),
            self.o_last.eq(~needed[0]),
        ]
        with m.If(self.i_load):
            m.d.sync += [number.eq(0), needed.eq(self.i_needed)]
        with m.Elif(self.en):
            m.d.sync += [number.eq(number + 1), needed.eq(Cat(needed[1:], C(0, 1)))]
        return m


def load_words(m: Module, writer: Any, leaves: Value, at_piece: Value, inside: Value) -> None:
    """Say which words the next piece of a row has, where it does not leave at once.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    leaves : the piece leaves its row.
    at_piece : a bit for each piece: it is that one.
    inside : a bit for each column of the row: it is one of C.
    """
    if writer.words is None:
        return
    spec, across = writer.spec, writer.across
    firsts = [word * spec.bytes // spec.sum_bytes for word in range(1, writer.sum_words)]
    needed = (
        Cat(at & inside[piece * across + first] for piece, at in enumerate(at_piece)).any()
        for first in firsts
    )
    m.d.comb += [writer.words.i_load.eq(leaves), writer.words.i_needed.eq(Cat(needed))]


def cut_sums(
    m: Module, writer: Any, numbers: list[Value], ready: Value, valid: Value
) -> tuple[Value, Value]:
    """Return sums as they are in memory, all or a word of them, and whether they are taken.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    numbers : the sums.
    ready, valid : what is returned can be taken; the job's sums are there.
    """
    spec, wide = writer.spec, []
    for number, value in enumerate(numbers):
        total = value[: spec.inside.sum_width]
        wide.append(Signal(8 * spec.sum_bytes, name=f"sum{number}"))
        m.d.comb += wide[-1].eq(total.as_signed() if spec.inside.signed else total)
    if writer.words is None:
        return Cat(wide), ready
    m.submodules.sum_words = words = writer.words
    m.d.comb += [words.i.eq(Cat(wide)), words.en.eq(ready & valid)]
    return words.o, ready & words.o_last
