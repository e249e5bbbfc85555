"""Block RAM behind AXI4, with a second port for single bytes."""

from typing import Any, NamedTuple, Self

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from golden.soc.bus import BusSpec
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4
from hw.soc.stores.byte_access import ByteAccess
from hw.soc.stores.operand_store import Bank

__all__ = ["BlockRam"]

_DECERR = 3
NEAR = 1 << 14
"""Bytes of the largest memory that is in one place of a device."""


class _AtBanks(NamedTuple):
    """What all banks have at their ports: the word that is read; the one that is written.

    And its bytes that are, a bit for each.
    """

    address: Signal
    at: Signal
    data: Signal
    write: Signal

    @classmethod
    def make(cls, words: int, lanes: int) -> Self:
        """Make the signals."""
        address, at = (Signal(range(words), name=name) for name in ("address", "at"))
        return cls(address, at, Signal(8 * lanes, name="data"), Signal(lanes, name="write"))


class BlockRam(wiring.Component):
    """Serves bursts of whole beats in order, reads and writes independently.

    Latency, address to first beat: 5 cycles, 3 up to 16 KiB. Throughput: one beat per cycle each
    way, of bursts that follow each other, too; the address of the next one that is written waits
    while one is. Stalls: ``axi.bready`` reaches ``axi.wready`` combinationally. Single bytes have
    priority. Addresses beyond the memory get DECERR.

    Parameters
    ----------
    spec : BusSpec
        What: the bus.
    size : int
        What: bytes, a power of two.
    together : bool
        How: a byte may be read in the cycle in which it is written, and is then the new one; else
        it is undefined.
    lean : bool
        How: a beat of a read waits until the one before has left, and no word is written while
        one is read: fewer registers.

    Members
    -------
    axi : In(Axi4)
        The manager.
    host : In(ByteAccess)
        Single bytes.
    """

    axi: Any
    host: Any

    def __init__(self, spec: BusSpec, size: int, *, together: bool = True, lean: bool = False):
        self.spec = spec
        self.size = size
        self.lean = lean
        self.together = together and not lean
        self.lane = Bank("memory_lane", 8, size // spec.bytes)
        super().__init__({"axi": In(Axi4(spec)), "host": In(ByteAccess())})

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """A byte of each word."""
        return (self.lane,)

    def elaborate(self, platform):
        m = Module()
        lanes = [self.lane.place() for _ in range(self.spec.bytes)]
        ports = _AtBanks.make(self.lane.depth, len(lanes))
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane
        host, waits, written = self.host, Signal(), Signal()
        fresh = host.request & ~host.done & ~waits
        host_reads, host_writes = fresh & ~host.write, fresh & host.write
        host_takes = fresh if self.lean else host_reads
        is_byte, issues = self._read(m, lanes, ports, host_reads, host_takes)
        m.d.comb += host.done.eq(is_byte | written)
        m.d.sync += [
            waits.eq((waits | fresh) & ~host.done),
            written.eq(host_writes),
            host.error.eq(self._beyond.replicate(2)),
        ]
        self._write(m, lanes, ports, host_writes, issues | host_reads)
        return m

    @property
    def _low(self) -> int:
        """Bits of an address inside a word."""
        return (self.spec.bytes - 1).bit_length()

    @property
    def _high(self) -> int:
        """Bits of an address inside the memory."""
        return (self.size - 1).bit_length()

    @property
    def _far(self) -> bool:
        """Whether the banks are all over a device."""
        return self.size > NEAR

    @property
    def _beyond(self) -> Value:
        """Whether the host's address is outside of the memory."""
        return self.host.address[self._high :] != 0

    def _read(
        self,
        m: Module,
        lanes: list[Any],
        ports: _AtBanks,
        host_reads: Value,
        host_takes: Value,
    ) -> tuple[Value, Value]:
        """Read beats of bursts, and bytes; return whether a byte comes, and a beat is issued."""
        spec, axi, host, low, high = self.spec, self.axi, self.host, self._low, self._high
        # What is read passes registers before and behind the banks, if these are all over a device,
        # and nothing stops it: a beat is read if there is room for it in the queue, which has room
        # for as many as let one leave in each cycle.
        to_banks = m.d.sync if self._far else m.d.comb
        stages = 3 if self._far else 1
        beats = 1 if self.lean else stages + 2
        m.submodules.queue = queue = Fifo(spec.data_width + 2, beats)
        away = Signal(range(beats + 1))
        reads, issues, bad_read, leaves = Signal(), Signal(), Signal(), Signal()
        read_word, left = Signal(high - low), Signal(9)
        word = Signal(spec.data_width)
        steps = [Signal(4, name=f"step{number}") for number in range(stages)]
        is_beat, is_byte = steps[-1][0], steps[-1][1]
        m.d.comb += [
            issues.eq(reads & (away != beats) & ~host_takes),
            axi.arready.eq(~reads | (issues & (left == 1))),
            queue.i.valid.eq(is_beat),
            queue.i.payload.eq(Cat(word, steps[-1][2:])),
            queue.o.ready.eq(axi.rready),
            axi.rvalid.eq(queue.o.valid),
            axi.rdata.eq(queue.o.payload),
            axi.rlast.eq(queue.o.payload[-2]),
            axi.rresp.eq(Mux(queue.o.payload[-1], _DECERR, 0)),
            leaves.eq(axi.rvalid & axi.rready),
            host.read.eq(word.word_select(host.address[:low], 8)),
            *(lane.o_address.eq(ports.address) for lane in lanes),
            word.eq(self._newest(m, Cat(lane.o for lane in lanes), ports)),
        ]
        m.d.sync += [
            away.eq(away + issues - leaves),
            Cat(steps).eq(Cat(issues, host_reads, left == 1, bad_read, steps[:-1])),
        ]
        to_banks += ports.address.eq(Mux(host_reads, host.address[low:high], read_word))
        with m.If(issues):
            m.d.sync += [read_word.eq(read_word + 1), left.eq(left - 1), reads.eq(left != 1)]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [reads.eq(1), read_word.eq(axi.araddr[low:high]), left.eq(axi.arlen + 1)]
            m.d.sync += bad_read.eq(axi.araddr[high:] != 0)
        return is_byte, issues

    def _newest(self, m: Module, read: Value, ports: _AtBanks) -> Value:
        """Return the word that has been read, with bytes that were written in the same cycle."""
        if self._far:
            # Without a reset: it is the output register that banks have.
            word = Signal(len(read), name="word_read", reset_less=True)
            m.d.sync += word.eq(read)
            read = word
        if not self.together:
            return read
        new: Value = ports.write & (ports.at == ports.address).replicate(len(ports.write))
        data: Value = ports.data
        for stage in range(2 if self._far else 1):
            was = Cat(new, data)
            late = Signal(len(was), name=f"written{stage}", reset_less=True)
            m.d.sync += late.eq(was)
            new, data = late[: len(new)], late[len(new) :]
        return Cat(
            Mux(newer, data.word_select(number, 8), read.word_select(number, 8))
            for number, newer in enumerate(new)
        )

    def _write(
        self, m: Module, lanes: list[Any], ports: _AtBanks, host_writes: Value, reads: Value
    ) -> None:
        """Write beats of bursts, and bytes of the host; a lean memory reads or writes."""
        spec, axi, host, low, high = self.spec, self.axi, self.host, self._low, self._high
        to_banks = m.d.sync if self._far else m.d.comb
        writes, bad_write, takes = Signal(), Signal(), Signal()
        accepts = writes & ~host_writes & (~axi.bvalid | axi.bready)
        if self.lean:
            accepts &= ~reads
        write_word = Signal(high - low)
        # The burst after this one: its address.
        waits, next_word, next_bad = Signal(), Signal(high - low), Signal()
        m.d.comb += [
            axi.awready.eq(~waits),
            axi.wready.eq(accepts),
            takes.eq(axi.wvalid & axi.wready),
        ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(takes):
            m.d.sync += write_word.eq(write_word + 1)
            with m.If(axi.wlast):
                m.d.sync += [writes.eq(0), axi.bvalid.eq(1)]
                m.d.sync += axi.bresp.eq(Mux(bad_write, _DECERR, 0))
        asked, given, bad = axi.awvalid & ~waits, axi.awaddr[low:high], axi.awaddr[high:] != 0
        with m.If(~writes | (takes & axi.wlast)):
            m.d.sync += [writes.eq(waits | asked), waits.eq(0)]
            m.d.sync += write_word.eq(Mux(waits, next_word, given))
            m.d.sync += bad_write.eq(Mux(waits, next_bad, bad))
        with m.Elif(asked):
            m.d.sync += [waits.eq(1), next_word.eq(given), next_bad.eq(bad)]

        to_banks += [
            ports.at.eq(Mux(host_writes, host.address[low:high], write_word)),
            ports.data.eq(Mux(host_writes, host.data.replicate(spec.bytes), axi.wdata)),
        ]
        for number, lane in enumerate(lanes):
            chosen, taken = host.address[:low] == number, takes & axi.wstrb[number] & ~bad_write
            to_banks += ports.write[number].eq(Mux(host_writes, chosen & ~self._beyond, taken))
            m.d.comb += [
                lane.en.eq(1),
                lane.i_address.eq(ports.at),
                lane.i.eq(ports.data.word_select(number, 8)),
                lane.write.eq(ports.write[number]),
            ]
