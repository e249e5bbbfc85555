"""Single bytes of a host, and the bursts of a co-processor, on one AXI4 port."""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from hw.soc.bus.axi import Axi4
from hw.soc.stores.byte_access import ByteAccess
from hw.soc.stores.host_byte import HostByte

__all__ = ["ByteManager"]

_DECERR, _INCR = 3, 1


class ByteManager(wiring.Component):
    """Passes bursts to a memory, and reads or writes single bytes between them.

    A byte waits until each burst of its direction that is on its way has been answered, and
    addresses wait until it is done: there are no IDs, and answers come in order. What is beyond
    the memory never reaches it, and gets DECERR: controllers of SDRAM begin at address 0 again. So
    does all that is asked before memory has started.

    Latency: none for bursts within the memory. Throughput: one beat per cycle each way. A byte
    takes two cycles, and those of the memory.

    Parameters
    ----------
    spec : BusSpec
        What: the bus; at most ``outstanding`` bursts of each direction are on their way.
    size : int
        What: bytes of the memory, a power of two.

    Members
    -------
    axi : In(Axi4)
        The co-processor. Beats of writes are taken after their address.
    host : In(ByteAccess)
        Single bytes; an answer of SLVERR or DECERR is an error. So is none, for too long: see
        :class:`hw.soc.stores.host_byte.HostByte`.
    i_started : In(1)
        Memory has started; stays so up to a reset.
    m_axi : Out(Axi4)
        The memory.
    """

    axi: Any
    host: Any
    i_started: Signal
    m_axi: Any

    def __init__(self, spec: BusSpec, size: int):
        self.spec = spec
        self.size = size
        self.byte = HostByte(spec, size)
        super().__init__({
            "axi": In(Axi4(spec)),
            "host": In(ByteAccess()),
            "i_started": In(1, init=1),  # type: ignore[call-arg]
            "m_axi": Out(Axi4(spec)),
        })

    @property
    def _high(self) -> int:
        """Bits of an address inside the memory."""
        return (self.size - 1).bit_length()

    def elaborate(self, platform):
        m = Module()
        m.submodules.byte = byte = self.byte
        bus, channels = self.m_axi, ("ar", "r", "aw", "w", "b")
        moves = (getattr(bus, f"{one}valid") & getattr(bus, f"{one}ready") for one in channels)
        wiring.connect(m, wiring.flipped(self.host), byte.host)
        m.d.comb += byte.i_started.eq(self.i_started)
        owed = [self._read(m), self._write(m)]
        m.d.comb += [byte.i_owed.eq(Cat(owed).any()), byte.i_moves.eq(Cat(moves).any())]
        return m

    def _word(self) -> Value:
        """Return the address of the beat that has the host's byte."""
        low = (self.spec.bytes - 1).bit_length()
        return Cat(self.byte.o_place[:low] & 0, self.byte.o_place[low:])

    def _addresses(self, m: Module, channel: str, asks: Value, ends: Value) -> tuple[Value, Value]:
        """Pass a channel of addresses; return whether one to refuse waits, and none is away.

        Parameters
        ----------
        asks : the host waits for this direction: no further address passes.
        ends : the answer of a burst is taken.
        """
        axi, m_axi = self.axi, self.m_axi
        valid, ready = (getattr(axi, f"{channel}{name}") for name in ("valid", "ready"))
        m_valid, m_ready = (getattr(m_axi, f"{channel}{name}") for name in ("valid", "ready"))
        away = Signal(range(self.spec.outstanding + 1), name=f"{channel}_away")
        # An address that was shown stays until it is taken.
        shown, passes = Signal(name=f"{channel}_shown"), Signal(name=f"{channel}_passes")
        beyond, none = Signal(name=f"{channel}_beyond"), Signal(name=f"{channel}_none")
        far = Signal(name=f"{channel}_far")
        m.d.comb += [
            far.eq(getattr(axi, f"{channel}addr")[self._high :] != 0),
            beyond.eq(valid & (far | ~self.i_started)),
            passes.eq(shown | (~beyond & ~asks & (away != self.spec.outstanding))),
            none.eq((away == 0) & ~shown),
        ]
        for name in ("addr", "len", "size", "burst", "cache", "prot"):
            m.d.comb += getattr(m_axi, f"{channel}{name}").eq(getattr(axi, f"{channel}{name}"))
        m.d.sync += away.eq(away + (m_valid & m_ready) - ends)
        m.d.comb += [m_valid.eq(valid & passes), ready.eq(m_ready & passes)]
        m.d.sync += shown.eq(m_valid & ~m_ready)
        return beyond, none

    def _byte(self, m: Module, channel: str) -> None:
        """Show the address of the host's beat."""
        m_axi, size = self.m_axi, (self.spec.bytes - 1).bit_length()
        for name, value in (
            ("addr", self._word()),
            ("len", 0),
            ("size", size),
            ("burst", _INCR),
            ("cache", 3),
            ("prot", 0),
        ):
            m.d.comb += getattr(m_axi, f"{channel}{name}").eq(value)

    def _read(self, m: Module) -> Value:
        """Read bursts, and a byte while no burst is away; answer those beyond the memory.

        Returns whether the memory is to move, and does not in this cycle.
        """
        axi, m_axi, byte, owed = self.axi, self.m_axi, self.byte, Signal(name="read_owed")
        ends, left = Signal(name="read_ends"), Signal(8, name="read_left")
        low, asks = (self.spec.bytes - 1).bit_length(), byte.o_read
        with m.FSM(name="read"):
            with m.State("pass"):
                beyond, none = self._addresses(m, "ar", asks, ends)
                m.d.comb += [
                    axi.rdata.eq(m_axi.rdata),
                    axi.rresp.eq(m_axi.rresp),
                    axi.rlast.eq(m_axi.rlast),
                    axi.rvalid.eq(m_axi.rvalid),
                    m_axi.rready.eq(axi.rready),
                    ends.eq(m_axi.rvalid & m_axi.rready & m_axi.rlast),
                    owed.eq(~none & ~m_axi.rvalid),
                ]
                with m.If(none & beyond):
                    m.d.comb += axi.arready.eq(1)
                    m.d.sync += left.eq(axi.arlen)
                    m.next = "refuse"
                with m.Elif(none & asks):
                    m.next = "address"
            with m.State("refuse"):
                m.d.comb += [
                    axi.rresp.eq(_DECERR),
                    axi.rlast.eq(left == 0),
                    axi.rvalid.eq(1),
                ]
                with m.If(axi.rready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 0):
                        m.next = "pass"
            with m.State("address"):
                self._byte(m, "ar")
                m.d.comb += [m_axi.arvalid.eq(1), owed.eq(1), byte.i_busy.eq(1)]
                with m.If(m_axi.arready):
                    m.next = "byte"
            with m.State("byte"):
                m.d.comb += [
                    m_axi.rready.eq(1),
                    owed.eq(~m_axi.rvalid),
                    byte.i_busy.eq(1),
                    byte.i_answer.eq(m_axi.rvalid),
                    byte.i_read.eq(m_axi.rdata.word_select(byte.o_place[:low], 8)),
                    byte.i_error.eq(m_axi.rresp[1]),
                ]
                with m.If(m_axi.rvalid):
                    m.next = "pass"
        return owed

    def _write(self, m: Module) -> Value:
        """Write as :meth:`_read` reads."""
        axi, m_axi, byte, owed = self.axi, self.m_axi, self.byte, Signal(name="write_owed")
        low, bytes_, asks = (self.spec.bytes - 1).bit_length(), self.spec.bytes, byte.o_write
        ends, taken, given = Signal(name="write_ends"), Signal(), Signal()
        # Bursts whose address has passed, and not yet their last beat.
        open_ = Signal(range(self.spec.outstanding + 1), name="open_bursts")
        with m.FSM(name="write"):
            with m.State("pass"):
                beyond, none = self._addresses(m, "aw", asks, ends)
                passes, last = Signal(name="beats_pass"), Signal(name="last_passes")
                m.d.comb += [
                    passes.eq(open_ != 0),
                    m_axi.wdata.eq(axi.wdata),
                    m_axi.wstrb.eq(axi.wstrb),
                    m_axi.wlast.eq(axi.wlast),
                    m_axi.wvalid.eq(axi.wvalid & passes),
                    axi.wready.eq(m_axi.wready & passes),
                    last.eq(m_axi.wvalid & m_axi.wready & m_axi.wlast),
                    axi.bresp.eq(m_axi.bresp),
                    axi.bvalid.eq(m_axi.bvalid),
                    m_axi.bready.eq(axi.bready),
                    ends.eq(m_axi.bvalid & m_axi.bready),
                    # An address may wait for the beats of those before it.
                    owed.eq(~none & ~m_axi.bvalid & (~passes | (m_axi.wvalid & ~m_axi.wready))),
                ]
                m.d.sync += open_.eq(open_ + (m_axi.awvalid & m_axi.awready) - last)
                with m.If(none & beyond):
                    m.d.comb += axi.awready.eq(1)
                    m.next = "refuse"
                with m.Elif(none & asks):
                    m.d.sync += [taken.eq(0), given.eq(0)]
                    m.next = "byte"
            with m.State("refuse"):
                m.d.comb += axi.wready.eq(1)
                with m.If(axi.wvalid & axi.wlast):
                    m.next = "refused"
            with m.State("refused"):
                m.d.comb += [axi.bvalid.eq(1), axi.bresp.eq(_DECERR)]
                with m.If(axi.bready):
                    m.next = "pass"
            with m.State("byte"):
                self._byte(m, "aw")
                m.d.comb += [
                    m_axi.awvalid.eq(~taken),
                    m_axi.wvalid.eq(~given),
                    m_axi.wdata.eq(byte.o_data.replicate(bytes_)),
                    m_axi.wstrb.eq(1 << byte.o_place[:low]),
                    m_axi.wlast.eq(1),
                    m_axi.bready.eq(1),
                    owed.eq(~m_axi.bvalid),
                    byte.i_busy.eq(1),
                    byte.i_answer.eq(m_axi.bvalid),
                    byte.i_error.eq(m_axi.bresp[1]),
                ]
                m.d.sync += [taken.eq(taken | m_axi.awready), given.eq(given | m_axi.wready)]
                with m.If(m_axi.bvalid):
                    m.next = "pass"
        return owed
