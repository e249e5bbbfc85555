"""Packer: words of rows to beats of rows at any byte."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from golden.check import Integer
from hw.soc.burst import Span
from hw.soc.gather import Gather

__all__ = ["Packed", "Packer", "Word"]


class Word(data.StructLayout):
    """Word of a row, byte 0 lowest."""

    def __init__(self, word_bytes: int):
        super().__init__({"data": 8 * word_bytes})


class Packed(data.StructLayout):
    """Beat of a row: bytes without ``strb`` are not of the row, and zero; ``last`` ends the row."""

    def __init__(self, beat_bytes: int):
        super().__init__({"data": 8 * beat_bytes, "strb": beat_bytes, "last": 1})


class Packer(wiring.Component):
    """Puts the words of rows at their place in beats.

    A row takes ceil(bytes / `word_bytes`) words; what the last one has more is ignored. A word
    wider than a beat goes in by pieces of a beat, the last of them what is left of the word. A
    row costs one cycle for each piece with bytes of it, and one more if its last piece reaches
    into another beat. With words of whole beats that is one cycle for each beat of the row,
    across rows too; words smaller than a beat go in one per cycle. Latency, piece to the beat it
    completes: 1 cycle. Stalls: ``o.ready`` reaches ``i.ready``, both and ``i.valid`` reach
    ``i_row.ready``, combinationally. A row must be known, since the cycle before, when its first
    word is taken.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    word_bytes : int
        What: of a word, any number.

    Members
    -------
    i_clear : In(1)
        Forgets everything, and what is taken in this cycle too.
    i_row : In(stream)
        :class:`hw.soc.burst.Span`, one for each row.
    i : In(stream)
        :class:`Word`: the row's words.
    o : Out(stream)
        :class:`Packed`: the row's beats.
    """

    i_clear: Signal
    i_row: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, word_bytes: int):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        Integer("bytes of a word", 16, 1, 4096, "bytes").check("word_bytes", word_bytes)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.word_bytes = word_bytes
        super().__init__({
            "i_clear": In(1),
            "i_row": In(stream.Signature(Span(beat_bytes))),
            "i": In(stream.Signature(Word(word_bytes))),
            "o": Out(stream.Signature(Packed(beat_bytes))),
        })

    @property
    def latency(self) -> int:
        """Cycles from a piece of a word to the beat that it completes."""
        return 1

    @property
    def pieces(self) -> int:
        """Pieces of a word."""
        return -(-self.word_bytes // self.beat_bytes)

    def elaborate(self, platform):
        m = Module()
        beat = self.beat_bytes
        most = min(beat, self.word_bytes)
        # A lane is a byte and its strobe.
        lanes = 1 << ceil_log2(most)
        m.submodules.gather = gather = Gather(9, lanes, beat)
        row, piece, joined = self.i_row.payload, gather.i.payload, gather.o.payload

        number = Signal(range(self.pieces))
        known, taken, end = Signal(), Signal(), Signal()
        at = Signal(range(beat), reset_less=True)
        # Bytes of the row that are left, less one; a piece takes some of the lower part.
        width = bits_for(most)
        low = Signal(width, reset_less=True)
        high = Signal(len(row.bytes) - width, reset_less=True)
        size, over = Signal(width), Signal(width + 1)
        count = Signal(range(lanes + 1))
        final, whole = Signal(), Signal()
        m.d.comb += [
            whole.eq(number == self.pieces - 1),
            size.eq(Mux(whole, self.word_bytes - (self.pieces - 1) * beat, beat)),
            over.eq(low + ~size + 1),
            final.eq((high == 0) & ~over[width]),
            piece.start.eq(0),
            count.eq(Mux(final, low + 1, size)),
            piece.count.eq(count),
            piece.at.eq(at),
            piece.last.eq(final),
        ]

        # A second beat that waits has the place of what would follow.
        m.d.comb += [
            gather.i.valid.eq(self.i.valid & known & ~gather.o_two),
            taken.eq(gather.i.valid & gather.i.ready),
            end.eq(taken & final),
            self.i.ready.eq(known & ~gather.o_two & gather.i.ready & (final | whole)),
            self.i_row.ready.eq(~known | end),
        ]
        with m.If(taken):
            m.d.sync += [
                at.eq(0),
                low.eq(over),
                high.eq(Mux(over[width], high, high - 1)),
                number.eq(Mux(final | whole, 0, number + 1)),
            ]
        with m.If(self.i_row.ready):
            m.d.sync += [
                known.eq(self.i_row.valid),
                at.eq(row.offset),
                Cat(low, high).eq(row.bytes - 1),
            ]

        source, words = Signal(8 * lanes), Signal(8 * beat * self.pieces)
        bytes_out = [joined.data.word_select(byte, 9) for byte in range(beat)]
        m.d.comb += [
            words.eq(self.i.payload.data),
            source.eq(words.word_select(number, 8 * beat)),
            piece.data.eq(
                Cat(
                    Cat(source.word_select(byte, 8), 1) & (count > byte).replicate(9)
                    for byte in range(lanes)
                )
            ),
            self.o.valid.eq(gather.o.valid),
            gather.o.ready.eq(self.o.ready),
            self.o.payload.data.eq(Cat(lane[:8] for lane in bytes_out)),
            self.o.payload.strb.eq(Cat(lane[8] for lane in bytes_out)),
            self.o.payload.last.eq(joined.last),
        ]
        return ResetInserter(self.i_clear)(m)
