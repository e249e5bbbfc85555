"""Beats of rows, packed into words."""

from math import gcd

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer
from hw.soc.bus.burst import Beat
from hw.soc.bus.unpacker import Piece, rotate

__all__ = ["BeatGather"]


class BeatGather(wiring.Component):
    """Concatenates the pieces of a row, and splits the row into words.

    A row of `bytes` becomes ceil(bytes / `word_bytes`) words; bytes beyond it in the last word are
    undefined. Lanes (of the greatest byte count that divides beats and words) are written in place
    and leave as a whole word: if words are whole beats, data bits need only a clock enable.
    Latency, piece to the word it completes: 1 cycle. Throughput: one piece and one word per cycle,
    across rows too: a row has no more words than pieces. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally.

    Parameters
    ----------
    beat_bytes : int
        What: of a piece, a power of two.
    word_bytes : int
        What: of a word, any number from `beat_bytes` up.

    Members
    -------
    i : In(stream)
        :class:`hw.soc.bus.unpacker.Piece`.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Beat`: the words.
    o_end : Out(1)
        ``end`` of the row, with its last word.
    """

    i: stream.Interface
    o: stream.Interface
    o_end: Signal

    def __init__(self, beat_bytes: int, word_bytes: int):
        Integer("bytes of a word", 16, beat_bytes, 4096, "bytes").check("word_bytes", word_bytes)
        lane_bytes = gcd(beat_bytes, word_bytes)
        self.lane_width = 8 * lane_bytes
        self.lanes = beat_bytes // lane_bytes
        self.word_lanes = word_bytes // lane_bytes
        super().__init__({
            "i": In(stream.Signature(Piece(beat_bytes))),
            "o": Out(stream.Signature(Beat(8 * word_bytes))),
            "o_end": Out(1),
        })

    @property
    def latency(self) -> int:
        """Cycles from a piece to the word that it completes."""
        return 1

    def elaborate(self, platform):
        m = Module()
        piece, lanes, word = self.i.payload, self.lanes, self.word_lanes
        # Lanes of a word, then those of the next word that a piece can reach.
        count = word + lanes if lanes > 1 else word
        end, last = piece.end, piece.last
        buffer = [
            Signal(self.lane_width, name=f"lane{lane}", reset_less=True) for lane in range(count)
        ]
        one, two = Signal(), Signal()
        ended, ends = Signal(2, reset_less=True), Signal(2, reset_less=True)
        move, taken = Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq(one),
            self.o.payload.data.eq(Cat(buffer[:word])),
            self.o.payload.last.eq(ended[0]),
            self.o_end.eq(ends[0]),
            move.eq(~one | self.o.ready),
            self.i.ready.eq(move),
            taken.eq(self.i.valid & move),
        ]

        # `fill` lanes of the current word are filled.
        fill, total, rest = Signal(range(word)), Signal(range(word + lanes)), Signal(range(lanes))
        full, spills = Signal(), Signal()
        last_lanes = (piece.rest // (self.lane_width // 8)) + 1
        m.d.comb += [
            total.eq(fill + Mux(piece.last, last_lanes, lanes)),
            full.eq(total >= word),
            rest.eq(total - word),
            spills.eq(full & (rest != 0)),
        ]
        with m.If(taken):
            m.d.sync += fill.eq(Mux(last, 0, Mux(full, rest, total)))

        # With two words complete, the second moves to the place of the first, and the piece,
        # which cannot reach beyond the last lane, starts a third.
        position = Mux(two, word, fill)
        there, window = Signal(len(piece.data), name="turned"), Signal(count)
        m.d.comb += [
            there.eq(rotate(piece.data, position[: (lanes - 1).bit_length()], self.lane_width)),
            window.eq(C((1 << lanes) - 1) << position),
        ]
        with m.If(move):
            m.d.sync += [
                one.eq(two | (taken & (full | last))),
                two.eq(taken & Mux(two, full | last, spills & last)),
                ended.eq(Cat(Mux(two, ended[1], last & ~spills), last)),
                ends.eq(Cat(Mux(two, ends[1], end), end)),
            ]
            for lane, register in enumerate(buffer):
                if lane + word < count:
                    with m.If(one):
                        m.d.sync += register.eq(buffer[lane + word])
                with m.If(taken & window[lane]):
                    m.d.sync += register.eq(there.word_select(lane % lanes, self.lane_width))
        return m
