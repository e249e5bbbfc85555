"""Blocks of a B that is packed, by the table of where each one begins."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.bitmap_group import ENTRY_BYTES
from hw.soc.bus.burst import Beat
from hw.soc.path.packed_rows import PAIR, packed_block, packed_words
from hw.soc.schedule.destination import Destination, PackedDestination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry
from hw.soc.schedule.packed_walk import PackedPlace
from hw.soc.schedule.row_request import Bases, RowRequest

__all__ = ["PackedBlocks"]

_RAW, _UNKNOWN = 0, 1
"""Bits of an offset."""


class _Span(NamedTuple):
    """Bytes to be read: from the first up to the last one; whether their bits are those of none.

    ``pair`` are the offsets that came, ``here`` those of the block, ``entry`` that was asked for.
    """

    first: Signal
    last: Signal
    flag: Signal
    pair: Signal
    here: Signal
    entry: Signal

    def of_table(self, m: Module, entry: Value) -> None:
        """Go to the offsets of an entry."""
        offset = Cat(C(0, 2), entry)
        m.d.sync += [self.first.eq(offset), self.last.eq(offset + PAIR), self.entry.eq(entry)]
        m.d.sync += self.flag.eq(0)

    def of_block(self, m: Module, pair: Value) -> None:
        """Go to the bytes of a block."""
        m.d.sync += [
            self.first.eq(pair[:BYTES_WIDTH] & -ENTRY_BYTES),
            self.last.eq(pair[BYTES_WIDTH:] & -ENTRY_BYTES),
            self.flag.eq(pair[_UNKNOWN]),
        ]


class PackedBlocks(wiring.Component):
    """Requests the bytes of each block of B that is packed, in place of its rows.

    The offsets of a block are read before those of the one before are used, so that memory's
    latency is waited for once a job. What they say is checked against the bytes of the whole
    before anything is read there. A block without bytes is of zeros: four bytes are read in
    place of it, so that it comes behind what was asked for before.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_geometry : In
        The job.
    i_base : In
        :class:`hw.soc.schedule.row_request.Bases`: of B, before ``i_start``.
    i_start : In(1)
        It begins; only after its last row has been taken.
    i_place : In
        :class:`~hw.soc.schedule.packed_walk.PackedPlace`, of the row that is offered.
    i, o : In(stream), Out(stream)
        :class:`RowRequest`: a row for each block of B, and all others; what is read.
    i_pair : In(stream)
        :class:`hw.soc.bus.burst.Beat`: the offsets of a block; always taken.
    o_block : Out(stream)
        :class:`~hw.soc.bus.bitmap_unpacker.PackedBlock`, before its bytes come.
    o_wrong : Out(1)
        Offsets are none; until a reset.
    """

    i_geometry: data.View
    i_base: data.View
    i_start: Signal
    i_place: data.View
    i: stream.Interface
    o: stream.Interface
    i_pair: stream.Interface
    o_block: stream.Interface
    o_wrong: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        pair, layout = packed_words(spec)[PackedDestination.OFFSETS], packed_block(spec)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_base": In(Bases(spec)),
            "i_start": In(1),
            "i_place": In(PackedPlace(spec)),
            "i": In(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
            "i_pair": In(stream.Signature(Beat(8 * pair))),
            "o_block": Out(stream.Signature(layout)),
            "o_wrong": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, place, row, out = self.spec, self.i_place, self.i.payload, self.o.payload
        base, following = (
            Signal(spec.address_width, name=name, reset_less=True) for name in ("base", "following")
        )
        with m.If(self.i_base.valid & (self.i_base.to == Destination.B)):
            m.d.sync += following.eq(self.i_base.address)
        widths = {"flag": 1, "pair": 8 * PAIR, "here": 8 * PAIR, "entry": len(place.entry)}
        span = _Span(
            *(
                Signal(widths.get(name, BYTES_WIDTH), name=name, reset_less=True)
                for name in _Span._fields
            )
        )
        # Offsets were asked for, and are there; those of the block after this one were.
        asked, there, ahead, mine = (
            Signal(name=name) for name in ("asked", "there", "ahead", "mine")
        )
        length, zero, wrong = Signal(BYTES_WIDTH), Signal(), Signal()
        beyond = (span.first > span.last) | (span.last > self.i_geometry.ldb)
        m.d.sync += wrong.eq(beyond | (length >> spec.length_width != 0) | span.flag)
        m.d.comb += [
            mine.eq(self.i.valid & self.i_geometry.packed & (row.to == Destination.B)),
            length.eq(span.last - span.first),
            zero.eq(length == 0),
            self.i_pair.ready.eq(1),
            self.o_block.payload.rows.eq(place.rows),
            self.o_block.payload.bytes.eq(row.bytes - 1),
            self.o_block.payload.raw.eq(span.here[_RAW] & ~zero),
            self.o_block.payload.zero.eq(zero),
        ]
        with m.If(self.i_pair.valid):
            m.d.sync += [span.pair.eq(self.i_pair.payload.data), there.eq(1)]
        with m.If(self.i_start):
            m.d.sync += [base.eq(following), asked.eq(0)]
        with m.FSM():
            with m.State("PASS"):
                m.d.comb += [
                    out.eq(row),
                    self.o.valid.eq(self.i.valid & ~mine),
                    self.i.ready.eq(self.o.ready & ~mine),
                ]
                m.d.sync += ahead.eq(0)
                with m.If(mine):
                    m.next = "WAIT"
                    with m.If(~asked):
                        span.of_table(m, place.entry)
                        m.next = "LOOK"
            self._ask(m, span, (asked, there, ahead), (wrong, base, length))
            self._read(m, span, (zero, wrong), (base, length))
            with m.State("WRONG"):
                m.d.comb += self.o_wrong.eq(1)
        return m

    def _ask(
        self, m: Module, span: _Span, state: tuple[Signal, ...], row: tuple[Value, ...]
    ) -> None:
        """Read the offsets of a block, if they were not; then those of the next one."""
        (asked, there, ahead), (wrong, base, length), place = state, row, self.i_place
        self._look(m, wrong, "TABLE")
        with m.State("TABLE"):
            self._send(m, PackedDestination.OFFSETS, base + span.first, length)
            with m.If(self.o.ready):
                m.d.sync += [asked.eq(1), there.eq(0)]
                m.next = "WAIT"
                with m.If(ahead):
                    span.of_block(m, span.here)
                    m.next = "LOOK_AT_BLOCK"
        with m.State("WAIT"), m.If(there):
            m.d.sync += [span.here.eq(span.pair), asked.eq(0), there.eq(0), ahead.eq(1)]
            span.of_block(m, span.pair)
            m.next = "LOOK_AT_BLOCK"
            with m.If(span.entry != place.entry):
                # Another one follows than was asked for.
                m.d.sync += ahead.eq(0)
                span.of_table(m, place.entry)
                m.next = "LOOK"
            with m.Elif(place.more):
                span.of_table(m, place.following)
                m.next = "LOOK"

    def _read(
        self, m: Module, span: _Span, state: tuple[Signal, ...], row: tuple[Value, ...]
    ) -> None:
        """Say what the block is, and read its bytes; of zeros, a few that are there."""
        (zero, wrong), (base, length) = state, row
        self._look(m, wrong, "BLOCK", at="LOOK_AT_BLOCK")
        with m.State("BLOCK"):
            m.d.comb += self.o_block.valid.eq(1)
            with m.If(self.o_block.ready):
                m.next = "READ"
        with m.State("READ"):
            address = Mux(zero, base, base + span.first)
            self._send(m, PackedDestination.PACKED, address, Mux(zero, ENTRY_BYTES, length))
            final = self.o.payload.final
            m.d.comb += [self.i.ready.eq(self.o.ready), final.eq(self.i.payload.final)]
            with m.If(self.o.ready):
                m.next = "PASS"

    def _send(self, m: Module, to: PackedDestination, address: Value, length: Value) -> None:
        """Offer a row."""
        out: Any = self.o.payload
        m.d.comb += [self.o.valid.eq(1), out.to.eq(to), out.last.eq(1)]
        m.d.comb += [out.address.eq(address), out.bytes.eq(length)]

    def _look(self, m: Module, wrong: Value, then: str, at: str = "LOOK") -> None:
        """Look at offsets a cycle after they have been written."""
        with m.State(at):
            m.next = f"{at}ED"
        with m.State(f"{at}ED"):
            m.next = then
            with m.If(wrong):
                m.next = "WRONG"
