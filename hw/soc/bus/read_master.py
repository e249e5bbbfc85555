"""Read master: rows of bytes in memory to streams of beats."""

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.soc.bus import BusSpec
from hw.soc.bus.address_channel import AddressChannel
from hw.soc.bus.axi import Axi4Read
from hw.soc.bus.burst import Beat, Row

__all__ = ["ReadMaster"]


class ReadMaster(wiring.Component):
    """Reads rows of bytes over AXI4.

    Bursts are INCR, of whole aligned beats, cross no 4 KiB boundary, and are as few as `spec.burst`
    allows. Latency, row to its first address: 3 cycles; beats pass through combinationally.
    Throughput: one address and one beat per cycle, across rows too, as long as `spec.outstanding`
    bursts cover the memory's latency. Stalls: ``o.ready`` reaches ``axi.rready`` combinationally;
    those of addresses end in a queue. Without it, addresses come a cycle earlier.

    Parameters
    ----------
    spec : BusSpec
        What: the bus.
    queue : int
        How: rows that wait for their turn; 0: stalls reach ``i.ready``.
    urgent : bool
        What: there is ``i_urgent``.

    Members
    -------
    axi : Out
        :class:`hw.soc.bus.axi.Axi4Read`.
    i : In(stream)
        :class:`hw.soc.bus.burst.Row`, at any byte address.
    i_urgent : In(stream)
        The same: it waits for the rows in the queue, not for a place in it.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Beat`: the beats of each row, in order.
    i_stop : In(1)
        Discards rows, and drops arriving beats until no burst is outstanding, even if it falls
        earlier; no burst is issued until then. An address already valid stays valid. Afterwards
        the master is as after reset.
    o_idle : Out(1)
        No burst is outstanding and no row waits.
    o_final : Out(1)
        A job's last row is complete, see :class:`hw.soc.bus.address_channel.AddressChannel`.
    o_other : Out(1)
        ``o`` is of a row that is ``other``.
    o_error, o_error_other, o_response, o_address : Out(1), Out(1), Out(2), Out
        A beat came with SLVERR or DECERR: the first such response, and its burst's address. From
        the cycle after that beat to the first one of ``i_stop``. ``o_error_other``: its row is
        ``other``; one that is not takes the place of one that is.
    o_beats : Out(1)
        A beat is taken, dropped ones included.
    o_owed : Out(1)
        Memory is to answer, and does not in this cycle.
    o_moves : Out(1)
        It takes an address, or a beat of it is taken.
    i_late : In(1)
        With ``o_owed``: it is given up. That is an error of the oldest burst, with OKAY as the
        response; the burst stays outstanding.
    """

    axi: Any
    i: stream.Interface
    i_urgent: stream.Interface
    o: stream.Interface
    i_stop: Signal
    o_idle: Signal
    o_final: Signal
    o_error: Signal
    o_other: Signal
    o_error_other: Signal
    o_response: Signal
    o_address: Signal
    o_beats: Signal
    o_owed: Signal
    o_moves: Signal
    i_late: Signal

    def __init__(self, spec: BusSpec, *, queue: int = 2, urgent: bool = False):
        if not isinstance(spec, BusSpec):
            raise TypeError(f"spec must be a BusSpec, not {spec!r}")
        self.spec = spec
        self.requests = AddressChannel(spec, queue=queue, urgent=urgent)
        super().__init__({
            "axi": Out(Axi4Read(spec)),
            "i": In(stream.Signature(Row(spec))),
            **({"i_urgent": In(stream.Signature(Row(spec)))} if urgent else {}),
            "o": Out(stream.Signature(Beat(spec.data_width))),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_final": Out(1),
            "o_error": Out(1),
            "o_other": Out(1),
            "o_error_other": Out(1),
            "o_response": Out(2),
            "o_address": Out(spec.address_width),
            "o_beats": Out(1),
            "o_owed": Out(1),
            "o_moves": Out(1),
            "i_late": In(1),
        })

    @property
    def latency(self) -> int:
        """Cycles from a row to its first address."""
        return self.requests.latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.requests = requests = self.requests
        axi, burst = self.axi, requests.o.payload
        wiring.connect(m, wiring.flipped(self.i), requests.i)
        if requests.urgent:
            wiring.connect(m, wiring.flipped(self.i_urgent), requests.i_urgent)
        m.d.comb += [
            axi.araddr.eq(burst.address),
            axi.arlen.eq(burst.length),
            axi.arsize.eq(exact_log2(self.spec.bytes)),
            axi.arburst.eq(0b01),
            axi.arcache.eq(0b0011),
            axi.arvalid.eq(requests.o.valid),
            requests.o.ready.eq(axi.arready),
            axi.rready.eq(self.o.ready | requests.o_drop),
            self.o.valid.eq(axi.rvalid & ~requests.o_drop),
            self.o.payload.data.eq(axi.rdata),
            self.o.payload.last.eq(axi.rlast & requests.o_last),
            self.o_beats.eq(axi.rvalid & axi.rready),
            self.o_owed.eq(requests.o_open & ~axi.rvalid),
            self.o_moves.eq((axi.arvalid & axi.arready) | self.o_beats),
            requests.i_offer.eq(axi.rvalid),
            requests.i_answer.eq(self.o_beats),
            requests.i_response.eq(axi.rresp),
            requests.i_end.eq(axi.rlast),
            requests.i_stop.eq(self.i_stop),
            requests.i_late.eq(self.i_late),
            self.o_idle.eq(requests.o_idle),
            self.o_final.eq(requests.o_final),
            self.o_error.eq(requests.o_error),
            self.o_other.eq(requests.o_other),
            self.o_error_other.eq(requests.o_error_other),
            self.o_response.eq(requests.o_response),
            self.o_address.eq(requests.o_address),
        ]
        return m
