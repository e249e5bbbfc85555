"""Block RAM behind AXI4, with a second port for single bytes."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.coprocessor_uart import CoprocessorUartSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4
from hw.soc.stores.operand_store import Bank

__all__ = ["BlockRam", "ByteAccess"]

_DECERR = 3


class ByteAccess(wiring.Signature):
    """A byte read or written, from the initiator's side.

    ``request`` and its arguments are held until ``done``, with which the byte read is valid.
    """

    def __init__(self) -> None:
        super().__init__({
            "request": Out(1),
            "write": Out(1),
            "address": Out(32),
            "data": Out(8),
            "done": In(1),
            "read": In(8),
            "error": In(1),
        })


class BlockRam(wiring.Component):
    """Serves bursts of whole beats in order, reads and writes independently.

    Latency, address to first beat: 2 cycles. Throughput: one beat per cycle each way; two idle
    cycles between write bursts. Single bytes have priority. Addresses beyond the memory get DECERR.

    Parameters
    ----------
    spec : CoprocessorUartSpec
        What: the bus, and the memory's size.

    Members
    -------
    axi : In(Axi4)
        The manager.
    host : In(ByteAccess)
        Single bytes.
    """

    axi: Any
    host: Any

    def __init__(self, spec: CoprocessorUartSpec):
        self.spec = spec
        self.lane = Bank("memory_lane", 8, spec.memory_bytes // spec.bytes, together=True)
        super().__init__({"axi": In(Axi4(spec)), "host": In(ByteAccess())})

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """A byte of each word."""
        return (self.lane,)

    def elaborate(self, platform):
        m = Module()
        spec, axi, host = self.spec, self.axi, self.host
        low = (spec.bytes - 1).bit_length()
        high = (spec.memory_bytes - 1).bit_length()
        lanes = [self.lane.place() for _ in range(spec.bytes)]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane

        # Reading a byte waits until no beat is at the output.
        moves = ~axi.rvalid | axi.rready
        fresh = host.request & ~host.done
        host_reads, host_writes = fresh & ~host.write & moves, fresh & host.write
        beyond = host.address[high:] != 0
        m.d.sync += [host.done.eq(host_reads | host_writes), host.error.eq(beyond)]

        reads, issues, bad_read = Signal(), Signal(), Signal()
        read_word, left = Signal(high - low), Signal(9)
        m.d.comb += [
            issues.eq(reads & moves & ~host_reads),
            axi.arready.eq(~reads),
            axi.rdata.eq(Cat(lane.o for lane in lanes)),
        ]
        with m.If(moves):
            m.d.sync += [axi.rvalid.eq(issues), axi.rlast.eq(left == 1)]
            m.d.sync += axi.rresp.eq(Mux(bad_read, _DECERR, 0))
        with m.If(issues):
            m.d.sync += [read_word.eq(read_word + 1), left.eq(left - 1), reads.eq(left != 1)]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [reads.eq(1), read_word.eq(axi.araddr[low:high]), left.eq(axi.arlen + 1)]
            m.d.sync += bad_read.eq(axi.araddr[high:] != 0)

        writes, bad_write, takes = Signal(), Signal(), Signal()
        write_word = Signal(high - low)
        m.d.comb += [
            axi.awready.eq(~writes & ~axi.bvalid),
            axi.wready.eq(writes & ~host_writes),
            takes.eq(axi.wvalid & axi.wready),
        ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [writes.eq(1), write_word.eq(axi.awaddr[low:high])]
            m.d.sync += bad_write.eq(axi.awaddr[high:] != 0)
        with m.If(takes):
            m.d.sync += write_word.eq(write_word + 1)
            with m.If(axi.wlast):
                m.d.sync += [writes.eq(0), axi.bvalid.eq(1)]
                m.d.sync += axi.bresp.eq(Mux(bad_write, _DECERR, 0))

        for number, lane in enumerate(lanes):
            chosen = host.address[:low] == number
            m.d.comb += [
                lane.en.eq(issues | host_reads),
                lane.o_address.eq(Mux(host_reads, host.address[low:high], read_word)),
                lane.i_address.eq(Mux(host_writes, host.address[low:high], write_word)),
                lane.i.eq(Mux(host_writes, host.data, axi.wdata.word_select(number, 8))),
                lane.write.eq(
                    Mux(
                        host_writes,
                        chosen & ~beyond,
                        takes & axi.wstrb[number] & ~bad_write,
                    )
                ),
            ]
        m.d.comb += host.read.eq(Cat(lane.o for lane in lanes).word_select(host.address[:low], 8))
        return m
