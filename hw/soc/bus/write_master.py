"""Write master: streams of beats to rows of bytes in memory."""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from golden.soc.bus import BusSpec
from hw.lib.fifo import Fifo
from hw.soc.bus.address_channel import AddressChannel
from hw.soc.bus.axi import Axi4Write
from hw.soc.bus.burst import Row

__all__ = ["WriteMaster", "Written"]


class Written(data.StructLayout):
    """Beat of a row, aligned as on the bus; ``strb`` has a bit for each byte to write."""

    def __init__(self, spec: BusSpec):
        super().__init__({"data": spec.data_width, "strb": spec.bytes})


class WriteMaster(wiring.Component):
    """Writes rows of bytes over AXI4.

    Bursts are as in :class:`hw.soc.bus.read_master.ReadMaster`. Addresses do not wait for data.
    Latency, row to its first address: 3 cycles; beat to the bus: 1 cycle, at the earliest four
    cycles after its address. Throughput: one address and one beat per cycle, across rows too, as
    long as `spec.outstanding` bursts cover the latency of responses. Stalls: ``axi.wready`` reaches
    ``i_data.ready`` combinationally; those of addresses end in a queue, without which addresses
    come a cycle earlier.

    Parameters
    ----------
    spec : BusSpec
        What: the bus.
    queue : int
        How: rows that wait for their turn; 0: stalls reach ``i.ready``.

    Members
    -------
    axi : Out
        :class:`hw.soc.bus.axi.Axi4Write`.
    i : In(stream)
        :class:`hw.soc.bus.burst.Row`, at any byte address.
    i_data : In(stream)
        :class:`Written`: the beats of each row, in order.
    i_stop : In(1)
        Discards rows and takes no data until no burst is outstanding, even if it falls earlier;
        no burst is issued until then, and open ones are completed with beats that write nothing.
        An address or beat already valid stays valid. Afterwards the master is as after reset.
    o_idle : Out(1)
        No burst is outstanding and no row waits.
    o_final : Out(1)
        A job's last row is complete, see :class:`hw.soc.bus.address_channel.AddressChannel`.
    o_error, o_response, o_address : Out(1), Out(2), Out
        A response was SLVERR or DECERR: the first such response, and its burst's address. From
        the cycle after the response to the first one of ``i_stop``.
    o_beats : Out(1)
        The bus takes a beat, also one that writes nothing.
    o_owed : Out(1)
        Memory is to take a beat or to answer, and does not in this cycle. It may wait for data
        before it takes an address.
    o_moves : Out(1)
        It takes an address or a beat, or answers.
    i_late : In(1)
        As that of :class:`hw.soc.bus.read_master.ReadMaster`.
    """

    axi: Any
    i: stream.Interface
    i_data: stream.Interface
    i_stop: Signal
    o_idle: Signal
    o_final: Signal
    o_error: Signal
    o_response: Signal
    o_address: Signal
    o_beats: Signal
    o_owed: Signal
    o_moves: Signal
    i_late: Signal

    def __init__(self, spec: BusSpec, *, queue: int = 2):
        if not isinstance(spec, BusSpec):
            raise TypeError(f"spec must be a BusSpec, not {spec!r}")
        self.spec = spec
        self.requests = AddressChannel(spec, queue=queue)
        self.lengths = Fifo(8, spec.outstanding)
        """Beats of bursts, less one, of which none has come."""
        self.soon = Fifo(8, 2)
        """The first of them: where stalls end."""
        self.length_valid = Signal()
        """A burst began in the cycle before: its length is the address's."""
        self.drops = Signal()
        """Beats that write nothing are made; also in the cycle after the last one."""
        self.begun = Signal()
        """There is a burst whose beats come, but not all of them have."""
        super().__init__({
            "axi": Out(Axi4Write(spec)),
            "i": In(stream.Signature(Row(spec))),
            "i_data": In(stream.Signature(Written(spec))),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_final": Out(1),
            "o_error": Out(1),
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
        m.submodules.lengths = lengths = self.lengths
        m.submodules.soon = soon = self.soon
        connect(m, lengths.o, soon.i)
        axi, burst = self.axi, requests.o.payload
        wiring.connect(m, wiring.flipped(self.i), requests.i)
        m.d.comb += [
            axi.awaddr.eq(burst.address),
            axi.awlen.eq(burst.length),
            axi.awsize.eq(exact_log2(self.spec.bytes)),
            axi.awburst.eq(0b01),
            axi.awcache.eq(0b0011),
            axi.awvalid.eq(requests.o.valid),
            requests.o.ready.eq(axi.awready),
            axi.bready.eq(1),
            self.o_beats.eq(axi.wvalid & axi.wready),
            self.o_owed.eq(
                requests.o_open & ~axi.bvalid & Mux(axi.wvalid, ~axi.wready, ~self.begun)
            ),
            self.o_moves.eq((axi.awvalid & axi.awready) | self.o_beats | axi.bvalid),
            requests.i_offer.eq(axi.bvalid),
            requests.i_answer.eq(axi.bvalid),
            requests.i_response.eq(axi.bresp),
            requests.i_end.eq(1),
            requests.i_stop.eq(self.i_stop),
            requests.i_late.eq(self.i_late),
            self.o_idle.eq(requests.o_idle),
            self.o_final.eq(requests.o_final),
            self.o_error.eq(requests.o_error),
            self.o_response.eq(requests.o_response),
            self.o_address.eq(requests.o_address),
        ]
        self._send(m)
        return m

    def _send(self, m: Module) -> None:
        """Send the beats of bursts that have been requested."""
        axi, requests, lengths, soon = self.axi, self.requests, self.lengths, self.soon
        burst = requests.o.payload
        # Beats wait for their burst: the oldest one with beats still missing; how many after the
        # next one, and that there are none, known a cycle before.
        begun = self.begun
        left = Signal(8, reset_less=True)
        ends = Signal(reset_less=True)
        room, offer = Signal(), Signal()
        wdata = Signal(self.spec.data_width, reset_less=True)
        wstrb = Signal(self.spec.bytes, reset_less=True)
        drop = requests.o_drop
        m.d.comb += [
            axi.wdata.eq(wdata),
            axi.wstrb.eq(wstrb),
            lengths.i.valid.eq(self.length_valid),
            lengths.i.payload.eq(burst.length),
            room.eq(begun & (~axi.wvalid | axi.wready)),
            self.i_data.ready.eq(room & ~drop),
            offer.eq(room & (self.i_data.valid | self.drops)),
            soon.o.ready.eq(~begun | (offer & ends)),
        ]
        m.d.sync += [self.length_valid.eq(requests.o_begin), self.drops.eq(drop)]
        with m.If(offer):
            m.d.sync += [left.eq(left - 1), ends.eq(left == 1)]
        with m.If(soon.o.ready):
            length = soon.o.payload
            m.d.sync += [begun.eq(soon.o.valid), left.eq(length), ends.eq(length == 0)]
        with m.If(offer):
            m.d.sync += [
                axi.wvalid.eq(1),
                wdata.eq(self.i_data.payload.data),
                wstrb.eq(Mux(drop, 0, self.i_data.payload.strb)),
                axi.wlast.eq(ends),
            ]
        with m.Elif(axi.wready):
            m.d.sync += axi.wvalid.eq(0)
