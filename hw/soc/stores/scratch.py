"""Memory on chip at the top of the addresses: bursts there do not reach the bus."""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4
from hw.soc.stores.block_ram import BlockRam

__all__ = ["Scratch"]


class Scratch(wiring.Component):
    """Serves the last `spec.scratch` bytes of the addresses on chip, and passes on other bursts.

    Bursts are answered in their order, wherever they go. Latency, to memory: none; on chip: that of
    :class:`hw.soc.stores.block_ram.BlockRam`, and a cycle for reads. Throughput: one beat per cycle
    each way. Stalls: as AXI4 has them; an address on chip waits for no burst of memory. Initial
    contents are undefined; a byte must not be read in the cycle in which it is written, which no
    job does.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, and bytes on chip.

    Members
    -------
    axi : In(Axi4)
        The manager, with at most `spec.outstanding` bursts each way; none crosses 4 KiB.
    m_axi : Out(Axi4)
        Memory.
    """

    axi: Any
    m_axi: Any

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        self.ram = BlockRam(spec, spec.scratch, together=False)
        super().__init__({"axi": In(Axi4(spec)), "m_axi": Out(Axi4(spec))})

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the memory."""
        return self.ram.shared_modules

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = self.ram
        self._read(m)
        self._write(m)
        return m

    def _inside(self, address: Any) -> Any:
        """Return whether an address is on chip."""
        return address[(self.spec.scratch - 1).bit_length() :].all()

    def _read(self, m: Module) -> None:
        """Send addresses, and take beats in their order."""
        spec, axi, memory, ram = self.spec, self.axi, self.m_axi, self.ram.axi
        low = (spec.scratch - 1).bit_length()
        asked = data.StructLayout({"address": low, "length": 8})
        # As many as there can be: else memory would wait for what is on chip.
        m.submodules.asked = queue = Fifo(asked, spec.outstanding)
        m.submodules.order = order = Fifo(1, spec.outstanding)
        inside, here = self._inside(axi.araddr), order.o.payload[0]
        beat = axi.rvalid & axi.rready
        m.d.comb += [
            *(getattr(memory, name).eq(getattr(axi, name)) for name in _address("ar", memory)),
            memory.arvalid.eq(axi.arvalid & ~inside),
            queue.i.valid.eq(axi.arvalid & inside),
            queue.i.payload.address.eq(axi.araddr),
            queue.i.payload.length.eq(axi.arlen),
            axi.arready.eq(Mux(inside, queue.i.ready, memory.arready)),
            ram.arvalid.eq(queue.o.valid),
            ram.araddr.eq(queue.o.payload.address),
            ram.arlen.eq(queue.o.payload.length),
            queue.o.ready.eq(ram.arready),
            order.i.valid.eq(axi.arvalid & axi.arready),
            order.i.payload.eq(inside),
            order.o.ready.eq(beat & axi.rlast),
            axi.rvalid.eq(order.o.valid & Mux(here, ram.rvalid, memory.rvalid)),
            *(
                getattr(axi, name).eq(Mux(here, getattr(ram, name), getattr(memory, name)))
                for name in ("rdata", "rresp", "rlast")
            ),
            ram.rready.eq(order.o.valid & here & axi.rready),
            memory.rready.eq(order.o.valid & ~here & axi.rready),
        ]

    def _write(self, m: Module) -> None:
        """Send addresses and beats, and take answers in their order."""
        spec, axi, memory, ram = self.spec, self.axi, self.m_axi, self.ram.axi
        low = (spec.scratch - 1).bit_length()
        # Beats may not wait until memory has taken their address: it may wait for them.
        m.submodules.beats = beats = Fifo(1, spec.outstanding)
        m.submodules.answers = answers = Fifo(1, spec.outstanding)
        inside, queued = self._inside(axi.awaddr), Signal()
        to_ram, of_ram = beats.o.payload[0], answers.o.payload[0]
        m.d.sync += queued.eq(axi.awvalid & ~axi.awready)
        m.d.comb += [
            *(getattr(memory, name).eq(getattr(axi, name)) for name in _address("aw", memory)),
            memory.awvalid.eq(axi.awvalid & ~inside),
            ram.awvalid.eq(axi.awvalid & inside),
            ram.awaddr.eq(axi.awaddr[:low]),
            axi.awready.eq(Mux(inside, ram.awready, memory.awready)),
            *(queue.i.valid.eq(axi.awvalid & ~queued) for queue in (beats, answers)),
            *(queue.i.payload.eq(inside) for queue in (beats, answers)),
            beats.o.ready.eq(axi.wvalid & axi.wready & axi.wlast),
            memory.wvalid.eq(axi.wvalid & beats.o.valid & ~to_ram),
            ram.wvalid.eq(axi.wvalid & beats.o.valid & to_ram),
            axi.wready.eq(beats.o.valid & Mux(to_ram, ram.wready, memory.wready)),
            *(
                getattr(end, name).eq(getattr(axi, name))
                for end in (memory, ram)
                for name in ("wdata", "wstrb", "wlast")
            ),
            axi.bvalid.eq(answers.o.valid & Mux(of_ram, ram.bvalid, memory.bvalid)),
            axi.bresp.eq(Mux(of_ram, ram.bresp, memory.bresp)),
            ram.bready.eq(answers.o.valid & of_ram & axi.bready),
            memory.bready.eq(answers.o.valid & ~of_ram & axi.bready),
            answers.o.ready.eq(axi.bvalid & axi.bready),
        ]


def _address(channel: str, bus: Any) -> list[str]:
    """Name the payload of an address channel."""
    names = [name for name in bus.signature.members if name.startswith(channel)]
    return [name for name in names if not name.endswith(("valid", "ready"))]
