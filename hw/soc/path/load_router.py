"""Routes data from memory to its store."""

from collections.abc import Mapping
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.soc.bus.beat_gather import BeatGather
from hw.soc.bus.burst import Beat, Row
from hw.soc.bus.unpacker import Unpacker
from hw.soc.path.packed_rows import merge_rows, packed_ports, packed_words, unpack_bitmaps
from hw.soc.schedule.destination import OF_A, Destination, PackedDestination
from hw.soc.schedule.row_request import RowRequest, joins_rows

__all__ = ["LoadRouter"]


class LoadRouter(wiring.Component):
    """Requests rows from memory, and routes the words of each to its destination.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus.
    words : mapping of int to int
        What: bytes of a word, for each destination.
    lean : bool
        How: queues of one entry.

    Members
    -------
    i_row : In(stream)
        :class:`RowRequest`.
    o_row : Out(stream)
        :class:`hw.soc.bus.burst.Row`.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: the beats of rows, in order.
    o<number> : Out(stream)
        :class:`hw.soc.bus.burst.Beat`: words of the rows for destination 0, 1, ...
    i_fill : In(8)
        Where rows may be joined: the code of rows that fill, and are not read.
    o_final : Out(1)
        There, too: the last row of a job, one that fills, and all before it are complete.
    i_block : In(stream)
        Where B can be packed, :class:`~hw.soc.bus.bitmap_unpacker.PackedBlock`: its blocks, before
        what is read of them, whose rows go to B.
    o_unpacked, o_wrong : Out(1)
        All of them have left; one has other bytes than its masks say, until a reset.
    o_end : Out
        The row whose word is taken is its block's last one; one bit per destination. Rows of the
        vector unit have no blocks.
    """

    i_row: stream.Interface
    o_row: stream.Interface
    i: stream.Interface
    i_fill: Signal
    o_final: Signal
    i_block: stream.Interface
    o_unpacked: Signal
    o_wrong: Signal
    o_end: Signal

    def __init__(self, spec: CoprocessorSpec, words: Mapping[int, int], *, lean: bool = False):
        self.spec = spec
        self.joins = joins_rows(spec)
        self.lean = lean
        self.words = words = {**words, **packed_words(spec)}
        super().__init__({
            "i_row": In(stream.Signature(RowRequest(spec))),
            "o_row": Out(stream.Signature(Row(spec))),
            "i": In(stream.Signature(Beat(spec.data_width))),
            "o_end": Out(max(words) + 1),
            **packed_ports(spec),
            **({"i_fill": In(8), "o_final": Out(1)} if self.joins else {}),
            **{f"o{to}": Out(stream.Signature(Beat(8 * count))) for to, count in words.items()},
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        rows = self._queue_rows(m)
        next_ = rows.o.payload
        # Rows handed to the unpacker, and their destinations.
        m.submodules.unpack = unpack = Unpacker(spec.bytes, spec.length_width, joins=self.joins)
        # A bit for each: what is chosen by them leaves early.
        m.submodules.destinations = destinations = Fifo(
            len(self.words), 2 if self.lean else 4, registered=not self.lean
        )
        # A row that is joined to the one before has its destination.
        joined = Signal()
        if self.joins:
            self._fill(m, unpack, rows.o)
            m.d.comb += unpack.i_joins.eq(next_.joins)
            with m.If(rows.o.valid & rows.o.ready):
                m.d.sync += joined.eq(next_.joins)
        else:
            connect(m, flipped(self.i), unpack.i)
        m.d.comb += [
            rows.o.ready.eq(unpack.i_row.ready & destinations.i.ready),
            unpack.i_row.valid.eq(rows.o.valid & destinations.i.ready),
            unpack.i_row.payload.offset.eq(next_.offset),
            unpack.i_row.payload.bytes.eq(next_.bytes),
            unpack.i_end.eq(next_.last),
            destinations.i.valid.eq(rows.o.valid & unpack.i_row.ready & ~joined),
            destinations.i.payload.eq(Cat(next_.to == number for number in self.words)),
            destinations.o.ready.eq(unpack.o.valid & unpack.o.ready & unpack.o.payload.last),
        ]
        self._distribute(m, unpack, destinations.o.payload)
        return m

    def _queue_rows(self, m: Module) -> Fifo:
        """Request rows; return the queue of those whose beats have not come."""
        spec, row = self.spec, self.i_row.payload
        layout = data.StructLayout({
            "offset": range(spec.bytes),
            "bytes": spec.length_width,
            "to": row.to.shape(),
            "last": 1,
            **({"final": 1, "fill": 1, "joins": 1} if self.joins else {}),
        })
        m.submodules.rows = rows = Fifo(layout, 1 if self.lean else 2 * spec.outstanding)
        # One more waits before the queue, where the stalls of what takes addresses end.
        free, takes = Signal(), Signal()
        reads = free & ~row.fill if self.joins else free
        latest = data.View(layout, Signal(layout.size))
        m.d.comb += [
            takes.eq(self.i_row.valid & self.i_row.ready),
            latest.offset.eq(0 if spec.STREAM else row.address),
            latest.bytes.eq(row.bytes),
            latest.to.eq(row.to),
            latest.last.eq(row.last),
            self.o_row.valid.eq(self.i_row.valid & reads),
            self.o_row.payload.address.eq(row.address),
            self.o_row.payload.bytes.eq(row.bytes),
            self.o_row.payload.final.eq(row.final),
            self.o_row.payload.other.eq(~row.to.matches(*OF_A) & spec.STREAM),
            self.i_row.ready.eq(self.o_row.ready & free),
        ]
        if self.joins:
            m.d.comb += [latest[name].eq(row[name]) for name in ("final", "fill", "joins")]
            with m.If(row.fill):
                m.d.comb += latest.offset.eq(0)
        if self.lean:
            m.d.comb += [free.eq(rows.i.ready), rows.i.valid.eq(takes), rows.i.payload.eq(latest)]
        else:
            m.d.comb += free.eq(~rows.i.valid | rows.i.ready)
            with m.If(free):
                m.d.sync += [rows.i.valid.eq(takes), rows.i.payload.eq(latest)]
        return rows

    def _fill(self, m: Module, unpack: Unpacker, rows: Any) -> None:
        """Pass beats to the unpacker: those read from memory, and those of rows that only fill."""
        size, next_ = exact_log2(self.spec.bytes), rows.payload
        begins, fills = unpack.i_row.valid & unpack.i_row.ready, Signal()
        left, more = Signal(max(self.spec.length_width - size, 1)), Signal()
        beat = unpack.i.payload
        with m.If(unpack.i.ready):
            m.d.sync += left.eq(left - 1)
        with m.If(begins):
            # Whole beats that are left, and whether there are bytes of another one.
            m.d.sync += [fills.eq(next_.fill), left.eq(next_.bytes >> size)]
            m.d.sync += more.eq(next_.bytes[:size].any())
        ends = (left[1:] == 0) & ~(left[0] & more)
        m.d.comb += [
            unpack.i.valid.eq(self.i.valid | fills),
            # The code is put in where there is room for it.
            beat.data.eq(Mux(fills, 0, self.i.payload.data)),
            unpack.i_fill.eq(Mux(fills, self.i_fill, 0)),
            beat.last.eq(Mux(fills, ends, self.i.payload.last)),
            self.i.ready.eq(unpack.i.ready & ~fills),
        ]
        m.d.sync += self.o_final.eq(begins & next_.fill & next_.final)

    def _distribute(self, m: Module, unpack: Unpacker, to: Value) -> None:
        """Pass pieces of rows to their stores, in words where these are wider."""
        waits: list[Value] = []
        # Rows of B may be bitmaps.
        packed = unpack_bitmaps(m, self, unpack, to) if self.spec.sparse else None
        idle: Value = C(1, 1)
        for here, (number, count) in zip(to, self.words.items(), strict=True):
            source: Any = unpack.o
            if packed is not None and int(number) == PackedDestination.PACKED:
                waits.append(here & ~packed.i.ready)
                continue
            if packed is not None and number == Destination.B:
                source, idle = merge_rows(m, unpack.o, packed, here), packed.o_idle
            piece = source.payload
            words = getattr(self, f"o{number}")
            taker: Any = words
            if count == self.spec.bytes:
                m.d.comb += [
                    words.payload.data.eq(piece.data),
                    words.payload.last.eq(piece.last),
                    self.o_end[number].eq(piece.end),
                ]
            else:
                gather = BeatGather(self.spec.bytes, count)
                m.submodules[f"gather{number}"] = gather
                if number == Destination.VECTOR:
                    self._hold(m, gather, words)
                else:
                    connect(m, gather.o, flipped(words))
                    m.d.comb += self.o_end[number].eq(gather.o_end)
                m.d.comb += gather.i.payload.as_value().eq(piece.as_value())
                taker = gather.i
            if source is unpack.o:
                m.d.comb += taker.valid.eq(source.valid & here)
                waits.append(here & ~taker.ready)
            else:
                m.d.comb += [taker.valid.eq(source.valid), source.ready.eq(taker.ready)]
                waits.append(here & ~(taker.ready & idle))
        # Most takers always take.
        m.d.comb += unpack.o.ready.eq(~Cat(waits).any())

    def _hold(self, m: Module, gather: BeatGather, words: Any) -> None:
        """Have a word wait until it is taken, while the next one is gathered.

        The vector unit takes one for several cycles, if its codes are of fewer bytes than others.
        """
        m.d.comb += gather.o.ready.eq(~words.valid | words.ready)
        with m.If(gather.o.ready):
            m.d.sync += [
                words.valid.eq(gather.o.valid),
                words.payload.eq(gather.o.payload),
            ]
