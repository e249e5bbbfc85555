"""What comes from memory, on the way to its store."""

from collections.abc import Mapping

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.burst import Beat, Row
from hw.soc.ledger import Ledger
from hw.soc.load import A_SCALES, A, RowRequest
from hw.soc.unpack import Unpacker

__all__ = ["Receiver"]


class Receiver(wiring.Component):
    """Asks memory for rows, and sends the words of each to where it goes.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus.
    words : mapping of int to int
        What: bytes of a word of each place that rows go to.

    Members
    -------
    i_row : In(stream)
        :class:`RowRequest`.
    o_row : Out(stream)
        :class:`hw.soc.burst.Row`.
    o_of_b : Out(1)
        The row is none of A, nor of its scales.
    i : In(stream)
        :class:`hw.soc.burst.Beat`: the beats of rows, in order.
    o0, o1, .. : Out(stream)
        :class:`hw.soc.burst.Beat`: words of the rows that go to 0, 1, ...
    o_end : Out
        The row whose word is taken is its block's last one; a bit for each place.
    """

    i_row: stream.Interface
    o_row: stream.Interface
    o_of_b: Signal
    i: stream.Interface
    o_end: Signal

    def __init__(self, spec: CoprocessorSpec, words: Mapping[int, int]):
        self.spec = spec
        self.words = words
        super().__init__({
            "i_row": In(stream.Signature(RowRequest(spec))),
            "o_row": Out(stream.Signature(Row(spec))),
            "o_of_b": Out(1),
            "i": In(stream.Signature(Beat(spec.data_width))),
            "o_end": Out(max(words) + 1),
            **{f"o{to}": Out(stream.Signature(Beat(8 * count))) for to, count in words.items()},
        })

    def elaborate(self, platform):
        m = Module()
        spec, row = self.spec, self.i_row.payload
        place = data.StructLayout({
            "offset": range(spec.bytes), "bytes": spec.LENGTH_WIDTH,
            "to": row.to.shape(), "last": 1,
        })  # fmt: skip
        m.submodules.rows = rows = Ledger(place, 2 * spec.outstanding)
        next_ = rows.o.payload
        m.d.comb += [
            self.o_row.valid.eq(self.i_row.valid & rows.i.ready),
            self.o_row.payload.address.eq(row.address),
            self.o_row.payload.bytes.eq(row.bytes),
            rows.i.valid.eq(self.i_row.valid & self.o_row.ready),
            self.o_of_b.eq((row.to != A) & (row.to != A_SCALES)),
            rows.i.payload.offset.eq(0 if spec.STREAM else row.address),
            rows.i.payload.bytes.eq(row.bytes),
            rows.i.payload.to.eq(row.to),
            rows.i.payload.last.eq(row.last),
            self.i_row.ready.eq(self.o_row.ready & rows.i.ready),
        ]
        # The row whose beats come now; the next one is told to its unpacker meanwhile.
        coming, to = Signal(), Signal.like(row.to)
        leaves, announce = Signal(), Signal()
        m.d.comb += [
            leaves.eq(self.i.valid & self.i.ready & self.i.payload.last),
            announce.eq(~coming | leaves),
        ]
        with m.If(leaves):
            m.d.sync += coming.eq(0)
        with m.If(rows.o.valid & rows.o.ready):
            m.d.sync += [coming.eq(1), to.eq(next_.to)]
        for number, count in self.words.items():
            m.submodules[f"unpack{number}"] = unpacker = Unpacker(spec.bytes, count)
            m.submodules[f"ends{number}"] = ends = Ledger(data.StructLayout({"last": 1}), 4)
            words = getattr(self, f"o{number}")
            connect(m, unpacker.o, flipped(words))
            mine, here = next_.to == number, coming & (to == number)
            m.d.comb += [
                unpacker.i_row.valid.eq(rows.o.valid & announce & mine & ends.i.ready),
                unpacker.i_row.payload.offset.eq(next_.offset),
                unpacker.i_row.payload.bytes.eq(next_.bytes),
                ends.i.valid.eq(rows.o.valid & announce & mine & unpacker.i_row.ready),
                ends.i.payload.last.eq(next_.last),
                unpacker.i.valid.eq(self.i.valid & here),
                unpacker.i.payload.eq(self.i.payload),
                ends.o.ready.eq(words.valid & words.ready & words.payload.last),
                self.o_end[number].eq(ends.o.payload.last),
            ]
            with m.If(mine):
                m.d.comb += rows.o.ready.eq(announce & unpacker.i_row.ready & ends.i.ready)
            with m.If(here):
                m.d.comb += self.i.ready.eq(unpacker.i.ready)
        return m
