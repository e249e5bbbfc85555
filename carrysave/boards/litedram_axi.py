"""AXI4 in front of LiteDRAM: bursts for a wider port, and answers of a memory that failed."""

from typing import Any

from litex.gen import LiteXModule
from litex.soc.interconnect.axi.axi_common import RESP_SLVERR
from litex.soc.interconnect.stream import SyncFIFO
from migen import Array, Cat, If, Replicate, Signal

__all__ = ["Refusal", "Widener"]

_BURSTS = 8
"""Whose beats are not all taken yet, of each direction."""


class Widener(LiteXModule):  # type: ignore[misc]
    """Carries bursts of full beats, INCR and in order, to a bus of wider beats.

    LiteX's own takes bursts that begin and end with a wide beat only. Throughput: one narrow beat
    per cycle each way.

    Parameters
    ----------
    narrow, wide : of AXIInterface.
    """

    def __init__(self, narrow: Any, wide: Any) -> None:
        self.ratio = wide.data_width // narrow.data_width
        self.shift = self.ratio.bit_length() - 1
        self.low = (narrow.data_width // 8).bit_length() - 1
        self._read(narrow.r, wide.r, self._bursts(narrow.ar, wide.ar))
        self._write(narrow.w, wide.w, self._bursts(narrow.aw, wide.aw))
        self.comb += wide.b.connect(narrow.b)

    def _bursts(self, narrow: Any, wide: Any) -> Any:
        """Pass addresses; return a queue of where bursts begin in a wide beat, and their beats."""
        bursts = SyncFIFO([("place", self.shift), ("len", 8)], _BURSTS)
        self.submodules += bursts
        high = self.low + self.shift
        place = narrow.addr[self.low : high]
        self.comb += [
            narrow.connect(wide, omit={"valid", "ready", "addr", "len", "size"}),
            wide.addr.eq(Cat(Replicate(0, high), narrow.addr[high:])),
            wide.len.eq((narrow.len + place) >> self.shift),
            wide.size.eq(high),
            wide.valid.eq(narrow.valid & bursts.sink.ready),
            narrow.ready.eq(wide.ready & bursts.sink.ready),
            bursts.sink.valid.eq(narrow.valid & wide.ready),
            bursts.sink.place.eq(place),
            bursts.sink.len.eq(narrow.len),
        ]
        return bursts.source

    def _places(self, burst: Any, step: Any) -> tuple[Any, Any, Any]:
        """Return the place of a beat in the wide one, and whether that, and the burst, ends."""
        first, at, left = Signal(reset=1), Signal(self.shift), Signal(8)
        place, more, ends, last = Signal(self.shift), Signal(8), Signal(), Signal()
        self.comb += [
            place.eq(at),
            more.eq(left),
            If(first, place.eq(burst.place), more.eq(burst.len)),
            last.eq(more == 0),
            ends.eq(last | (place == self.ratio - 1)),
            burst.ready.eq(step & last),
        ]
        self.sync += If(step, first.eq(last), at.eq(place + 1), left.eq(more - 1))
        return place, ends, last

    def _read(self, narrow: Any, wide: Any, burst: Any) -> None:
        step = Signal()
        place, ends, last = self._places(burst, step)
        width = len(narrow.data)
        parts = Array(wide.data[width * n : width * (n + 1)] for n in range(self.ratio))
        self.comb += [
            narrow.valid.eq(wide.valid & burst.valid),
            narrow.data.eq(parts[place]),
            narrow.resp.eq(wide.resp),
            narrow.id.eq(wide.id),
            narrow.last.eq(last),
            step.eq(narrow.valid & narrow.ready),
            wide.ready.eq(step & ends),
        ]

    def _write(self, narrow: Any, wide: Any, burst: Any) -> None:
        step = Signal()
        place, ends, last = self._places(burst, step)
        data, strobes = len(narrow.data), len(narrow.strb)
        self.comb += [
            step.eq(narrow.valid & burst.valid & (~wide.valid | wide.ready)),
            narrow.ready.eq(step),
        ]
        # A beat is whole in the cycle after its last part, and may begin anew in the one it goes.
        self.sync += [
            If(wide.valid & wide.ready, wide.valid.eq(0), wide.strb.eq(0)),
            If(step, wide.valid.eq(ends), wide.last.eq(last)),
            [
                If(
                    step & (place == n),
                    wide.data[data * n : data * (n + 1)].eq(narrow.data),
                    wide.strb[strobes * n : strobes * (n + 1)].eq(narrow.strb),
                )
                for n in range(self.ratio)
            ],
        ]


class Refusal(LiteXModule):  # type: ignore[misc]
    """Passes a bus on, or answers each burst with SLVERR, if its memory failed.

    Each byte that is read says which bytes of the memory's bus failed, a bit for each.

    Parameters
    ----------
    outside, inside : of AXIInterface.
    failed : bytes; does not change once something is asked.
    """

    def __init__(self, outside: Any, inside: Any, failed: Any) -> None:
        reads, writes, left = Signal(), Signal(), Signal(8)
        bytes_ = len(outside.r.data) // 8
        word = Cat(failed, Replicate(0, 8 - len(failed)))
        self.comb += If(
            failed == 0,
            outside.connect(inside),
        ).Else(
            outside.ar.ready.eq(~reads),
            outside.r.valid.eq(reads),
            outside.r.data.eq(Replicate(word, bytes_)),
            outside.r.resp.eq(RESP_SLVERR),
            outside.r.last.eq(left == 0),
            # A burst's address is taken at once, so that its last beat is not before it.
            outside.aw.ready.eq(1),
            outside.w.ready.eq(~writes),
            outside.b.valid.eq(writes),
            outside.b.resp.eq(RESP_SLVERR),
        )
        self.sync += [
            If(outside.ar.valid & ~reads, reads.eq(1), left.eq(outside.ar.len)).Elif(
                reads & outside.r.ready, left.eq(left - 1), reads.eq(left != 0)
            ),
            If(outside.w.valid & outside.w.last & ~writes, writes.eq(1)).Elif(
                outside.b.ready, writes.eq(0)
            ),
        ]
