"""Pieces of rows, put together to words."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.soc.burst import Beat

__all__ = ["Gather", "Piece"]


class Piece(data.StructLayout):
    """Piece of a row: ``count`` lanes of ``data`` from ``start`` on, the others zero.

    Of a row's first piece, ``at`` is the lane of the word where the row begins; otherwise 0.
    """

    def __init__(self, lane_width: int, lanes: int, word_lanes: int):
        super().__init__({
            "data": lanes * lane_width,
            "start": range(lanes),
            "count": range(lanes + 1),
            "at": range(word_lanes),
            "last": 1,
        })


class Gather(wiring.Component):
    """Puts the pieces of a row one behind the other, and cuts the row into words.

    Lanes of the first word before the row and of the last one behind it are zero. A piece is
    rotated to its place modulo `lanes` and joins the word there, or the next one; words never
    move but as a whole. Latency, piece to the word it completes: 1 cycle. Throughput: one piece
    per cycle, whatever it completes, and one word. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally.

    Parameters
    ----------
    lane_width : int
        What: bits of a lane.
    lanes : int
        What: of a piece, a power of two.
    word_lanes : int
        What: of a word, `lanes` or more.

    Members
    -------
    i : In(stream)
        :class:`Piece`.
    o : Out(stream)
        :class:`hw.soc.burst.Beat`: the words.
    o_two : Out(1)
        Two words are complete; then a piece may only be sent whose ``at`` is 0.
    """

    i: stream.Interface
    o: stream.Interface
    o_two: Signal

    def __init__(self, lane_width: int, lanes: int, word_lanes: int):
        self.lane_width = lane_width
        self.lanes = lanes
        self.word_lanes = word_lanes
        super().__init__({
            "i": In(stream.Signature(Piece(lane_width, lanes, word_lanes))),
            "o": Out(stream.Signature(Beat(word_lanes * lane_width))),
            "o_two": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        piece = self.i.payload
        # Word 0, and behind it what of the next word a piece can reach.
        buffer = Signal((self.word_lanes + self.lanes) * self.lane_width)
        one, two, ended = Signal(), Signal(), Signal(2, reset_less=True)
        fill = Signal(range(self.word_lanes))
        move, taken = Signal(), Signal()
        m.d.comb += [
            self.o.valid.eq(one),
            self.o.payload.data.eq(buffer),
            self.o.payload.last.eq(ended[0]),
            self.o_two.eq(two),
            move.eq(~one | self.o.ready),
            self.i.ready.eq(move),
            taken.eq(self.i.valid & move),
        ]

        # `fill` lanes of the word that grows are there, none at the begin of a row.
        begin, total = Signal(range(self.word_lanes)), Signal(range(self.word_lanes + self.lanes))
        rest = Signal(range(self.lanes))
        full, spills = Signal(), Signal()
        m.d.comb += [
            begin.eq(fill | piece.at),
            total.eq(begin + piece.count),
            full.eq(total >= self.word_lanes),
            rest.eq(total - self.word_lanes),
            spills.eq(full & (rest != 0)),
        ]
        with m.If(taken):
            m.d.sync += fill.eq(Mux(piece.last, 0, Mux(full, rest, total)))

        # With two words complete, the second takes the place of the first, and the piece, which
        # cannot reach further than the end of the buffer, begins a third.
        with m.If(move):
            m.d.sync += [
                one.eq(two | (taken & (full | piece.last))),
                two.eq(taken & Mux(two, full | piece.last, spills & piece.last)),
                ended.eq(Cat(Mux(two, ended[1], piece.last & ~spills), piece.last)),
                buffer.eq(
                    Mux(one, buffer[self.word_lanes * self.lane_width :], buffer)
                    | self._place(m, Mux(two, self.word_lanes, begin), taken)
                ),
            ]
        return m

    def _place(self, m: Module, position: Value, taken: Value) -> Value:
        """Put the piece at a lane of the buffer, zeros around it; nothing if it is not taken."""
        piece = self.i.payload
        amount = Signal(range(self.lanes))
        m.d.comb += amount.eq(position - piece.start)
        rotated: Value = piece.data
        for stage in range(exact_log2(self.lanes)):
            turned = rotated.rotate_left(self.lane_width << stage)
            rotated = Mux(amount[stage], turned, rotated)
        there = Signal(len(piece.data), name="rotated")
        window = Signal(self.word_lanes + self.lanes)
        m.d.comb += [
            there.eq(rotated),
            window.eq(C((1 << self.lanes) - 1) << position),
        ]
        return Cat(
            there.word_select(lane % self.lanes, self.lane_width)
            & (window[lane] & taken).replicate(self.lane_width)
            for lane in range(len(window))
        )
