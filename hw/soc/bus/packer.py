"""Packer: words of rows to beats of rows at any byte alignment."""

from collections.abc import Sequence

from amaranth import Array, C, Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from golden.check import Integer
from hw.soc.bus.burst import Span
from hw.soc.bus.unpacker import rotate

__all__ = ["Packed", "Packer", "Word"]


class Word(data.StructLayout):
    """Word of a row, byte 0 lowest."""

    def __init__(self, word_bytes: int):
        super().__init__({"data": 8 * word_bytes})


class Packed(data.StructLayout):
    """Beat of a row: bytes outside the row have no ``strb`` and are 0; ``last`` ends the row."""

    def __init__(self, beat_bytes: int):
        super().__init__({"data": 8 * beat_bytes, "strb": beat_bytes, "last": 1})


class Packer(wiring.Component):
    """Aligns the words of rows in beats.

    A row takes ceil(bytes / `word_bytes`) words; extra bytes in the last one are ignored. A word
    wider than a beat is processed in pieces of a beat, the last piece being the rest of the word. A
    piece is rotated into place; a completed beat leaves, the rest is kept. A row costs one cycle
    per piece, and one more if its last piece reaches into another beat. With words of whole beats
    that is one cycle per beat of the row, across rows too; smaller words take one cycle each.
    Latency, piece to the beat it completes: 1 cycle. Stalls: ``o.ready`` reaches ``i.ready``, both
    and ``i.valid`` reach ``i_row.ready``, combinationally. A row's span must be valid at least one
    cycle before its first word is taken.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    *word_bytes : int
        What: of words of each kind, any numbers.
    length_width : int
        What: bits of a row's number of bytes.

    Members
    -------
    i_clear : In(1)
        Discards everything, also what is accepted in this cycle.
    i_kind : In
        Kind of the words; stable during a row.
    i_row : In(stream)
        :class:`hw.soc.bus.burst.Span`, one for each row.
    i : In(stream)
        :class:`Word`: the row's words, any kind from byte 0 on.
    o : Out(stream)
        :class:`Packed`: the row's beats.
    """

    i_clear: Signal
    i_kind: Signal
    i_row: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, *word_bytes: int, length_width: int = 32):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        for size in word_bytes:
            Integer("bytes of a word", 16, 1, 4096, "bytes").check("word_bytes", size)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.word_bytes = word_bytes
        super().__init__({
            "i_clear": In(1),
            "i_kind": In(range(len(word_bytes))),
            "i_row": In(stream.Signature(Span(beat_bytes, length_width))),
            "i": In(stream.Signature(Word(max(word_bytes)))),
            "o": Out(stream.Signature(Packed(beat_bytes))),
        })

    @property
    def latency(self) -> int:
        """Cycles from a piece of a word to the beat that it completes."""
        return 1

    @property
    def pieces(self) -> list[int]:
        """Pieces of a word of each kind."""
        return [-(-size // self.beat_bytes) for size in self.word_bytes]

    def elaborate(self, platform):
        m = Module()
        beat, row, out = self.beat_bytes, self.i_row.payload, self.o.payload
        most = min(beat, max(self.word_bytes))

        number = Signal(range(max(self.pieces)))
        known, move, taken, end = Signal(), Signal(), Signal(), Signal()
        # Remaining bytes of the row, minus one; a piece decrements the lower part.
        width = bits_for(most)
        low = Signal(width, reset_less=True)
        high = Signal(len(row.bytes) - width, reset_less=True)
        size, over = Signal(width), Signal(width + 1)
        final, whole = Signal(), Signal()
        tails = [size - (count - 1) * beat for size, count in zip(
            self.word_bytes, self.pieces, strict=True)]  # fmt: skip
        m.d.comb += [
            whole.eq(number == _of([count - 1 for count in self.pieces], self.i_kind)),
            size.eq(Mux(whole, _of(tails, self.i_kind), most)),
            over.eq(low + ~size + 1),
            final.eq((high == 0) & ~over[width]),
        ]

        # The lane where the next piece begins, and where the row begins in the current beat.
        at, front = (Signal(range(beat), name=name, reset_less=True) for name in ("at", "front"))
        after = Signal(range(2 * beat + 1))
        left, rest = Signal(), Signal(range(beat), reset_less=True)
        full = after >= beat
        spills = final & (after > beat)
        m.d.comb += [
            after.eq(at + Mux(final, low + 1, size)),
            move.eq(~self.o.valid | self.o.ready),
            # The rest of a row takes the place of the next piece.
            self.i.ready.eq(known & move & ~left & (final | whole)),
            taken.eq(self.i.valid & known & move & ~left),
            end.eq(taken & final),
            self.i_row.ready.eq(~known | end),
        ]
        with m.If(taken):
            m.d.sync += [
                at.eq(after),
                low.eq(over),
                high.eq(Mux(over[width], high, high - 1)),
                number.eq(Mux(final | whole, 0, number + 1)),
            ]
            with m.If(full):
                m.d.sync += front.eq(0)
        with m.If(self.i_row.ready):
            m.d.sync += [
                known.eq(self.i_row.valid),
                at.eq(row.offset),
                front.eq(row.offset),
                Cat(low, high).eq(row.bytes - 1),
            ]

        lanes = 1 << ceil_log2(most)
        words, turned = Signal(8 * beat * max(self.pieces)), Signal(8 * lanes)
        # A signal, lest every multiplexer of the rotation select the piece anew.
        piece = Signal(8 * beat)
        m.d.comb += [
            words.eq(self.i.payload.data),
            piece.eq(words.word_select(number, 8 * beat)),
            turned.eq(rotate(piece[: 8 * lanes], at, 8)),
        ]
        with m.If(move):
            m.d.sync += [
                self.o.valid.eq(left | (taken & (full | final))),
                out.last.eq(left | (final & ~spills)),
                left.eq(taken & spills),
                rest.eq(after),
            ]
        for lane in range(beat):
            byte = turned.word_select(lane % lanes, 8)
            kept = Signal(8, name=f"kept{lane}", reset_less=True)
            older, strobe = Signal(name=f"older{lane}"), Signal(name=f"strobe{lane}")
            # No row begins, and nothing is left, after the last lane.
            beyond, left_here, begun = (
                (at > lane, rest > lane, front <= lane)
                if lane < beat - 1
                else (C(0, 1), C(0, 1), C(1, 1))
            )
            m.d.comb += [
                older.eq(left | beyond),
                strobe.eq(Mux(left, left_here, begun & (after > lane))),
            ]
            with m.If(taken & (full | ~beyond)):
                m.d.sync += kept.eq(byte)
            with m.If(move):
                m.d.sync += [
                    out.data.word_select(lane, 8).eq(Mux(older, kept, byte) & strobe.replicate(8)),
                    out.strb[lane].eq(strobe),
                ]
        return ResetInserter(self.i_clear)(m)


def _of(values: Sequence[int], kind: Value) -> Value:
    """Choose a constant."""
    return Value.cast(Array(C(value) for value in values)[kind])
