"""The matmul co-processor for boards: with its memory, behind a serial line."""

from typing import Any, ClassVar

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.check import Parameter
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4
from hw.soc.coprocessor import Coprocessor
from hw.soc.coprocessor_stream import CoprocessorStream
from hw.soc.serial.flash_loader import FlashLoader
from hw.soc.serial.framing import Deframer, Framer
from hw.soc.serial.host_link import HostLink
from hw.soc.serial.uart import UartReceiver, UartTransmitter
from hw.soc.stores.block_ram import BlockRam
from hw.soc.stores.byte_manager import ByteManager

__all__ = ["CoprocessorUart"]


class CoprocessorUart(wiring.Component):
    """Multiplies matrices in its memory for a host on a UART: C = requantise(A x B + bias).

    Computes :func:`golden.soc.coprocessor_uart.coprocessor_uart`. With block RAM the board provides
    only a clock and two pins; else a memory behind AXI4, too. Then a byte of the line must take
    longer than one access to memory: one that is lost is sent again.

    Parameters
    ----------
    spec : CoprocessorUartSpec
        What: engine, bus, stores, memory, length of a bit.
    engine, vector, number, digest
        As in :class:`hw.soc.coprocessor.Coprocessor`.

    Members
    -------
    rx, tx : In(1), Out(1)
        The serial line, 8N1.
    busy : Out(1)
        A job is running; for an LED.
    m_axi : Out(Axi4)
        The memory, if it is external.
    memory_started : In(1)
        It may be accessed, from now on up to a reset: before, the host is told so. If it is
        external.
    flash_cs_n, flash_clk, flash_mosi, flash_miso : Out(1), Out(1), Out(1), In(1)
        An SPI flash with an image of the memory, if there is one.

    Examples
    --------
    >>> from hw.catalog import Design
    >>> block = Design("coprocessor_uart", {"engine": "systolic_os(m=4,n=4)"}).component()
    >>> sorted(block.signature.members)
    ['busy', 'rx', 'tx']
    """

    SPEC = CoprocessorUartSpec
    SUMMARY = "matmul co-processor with its memory behind a serial line, for boards"
    BENCH = "tb_coprocessor_uart"
    EVIDENCE = ("cocotb against numpy: the host driver, through the serial pins",)
    ENGINE = "systolic_os"
    """The default engine."""
    VECTOR = "none"
    """The default vector unit."""

    BUILD: ClassVar[dict[str, Parameter]] = CoprocessorStream.BUILD

    rx: Signal
    tx: Signal
    busy: Signal
    m_axi: Any
    memory_started: Signal
    flash_cs_n: Signal
    flash_clk: Signal
    flash_mosi: Signal
    flash_miso: Signal

    def __init__(self, spec: CoprocessorUartSpec, **more: Any):
        if not isinstance(spec, CoprocessorUartSpec):
            raise TypeError(f"spec must be a CoprocessorUartSpec, not {spec!r}")
        self.spec = spec
        self.block = Coprocessor(spec, **more)
        self.memory: BlockRam | ByteManager = (
            ByteManager(spec, spec.memory_bytes)
            if spec.external
            else BlockRam(spec, spec.memory_bytes, lean=bool(more.get("lean")))
        )
        ports = {"m_axi": Out(Axi4(spec)), "memory_started": In(1)} if spec.external else {}
        if spec.flash:
            ports |= FlashLoader.pins()
        self.digest = int(more.get("digest", 0))
        super().__init__({"rx": In(1), "tx": Out(1), "busy": Out(1), **ports})

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the co-processor, and of the memory."""
        memory = self.memory.shared_modules if isinstance(self.memory, BlockRam) else ()
        return (*self.block.shared_modules, *memory)

    @property
    def latency(self) -> int:
        """The co-processor's."""
        return self.block.latency

    @property
    def operations_per_cycle(self) -> float:
        """The co-processor's."""
        return self.block.operations_per_cycle

    def elaborate(self, platform):
        m = Module()
        m.submodules.block = block = self.block
        m.submodules.memory = self.memory
        width = block.registers.file.address_width
        m.submodules.link = link = HostLink(self.spec, width)
        m.submodules.receiver = receiver = UartReceiver(self.spec.divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self.spec.divisor)
        m.submodules.deframer = deframer = Deframer()
        m.submodules.framer = framer = Framer()
        connect(m, block.m_axi, self.memory.axi)
        self._connect_memory(m, link)
        connect(m, link.registers, block.s_axi)
        connect(m, link.o, framer.i)
        connect(m, framer.o, transmitter.i)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            deframer.i.eq(receiver.o),
            deframer.i_valid.eq(receiver.o_valid),
            link.i.eq(deframer.o),
            link.i_valid.eq(deframer.o_valid),
            link.i_end.eq(deframer.o_end),
            self.tx.eq(transmitter.tx),
            self.busy.eq(~block.core.o_idle),
        ]
        return m

    def _connect_memory(self, m: Module, link: HostLink) -> None:
        """Connect the memory to its port and to the host, who waits for what comes from flash."""
        memory, started = self.memory, Signal(init=1)
        host = memory.host
        if isinstance(memory, ByteManager):
            connect(m, memory.m_axi, flipped(self.m_axi))
            m.d.comb += [started.eq(self.memory_started), memory.i_started.eq(started)]
        if self.spec.flash:
            loader = FlashLoader(self.spec.flash, self.spec.memory_bytes, self.digest)
            m.submodules.loader = loader
            connect(m, loader.memory, host)
            host = loader.host
            for name in FlashLoader.pins():
                ends = getattr(self, name), getattr(loader, name)
                m.d.comb += ends[1].eq(ends[0]) if name == "flash_miso" else ends[0].eq(ends[1])
            m.d.comb += [
                loader.i_started.eq(started),
                loader.i_again.eq(link.o_again),
                link.i_flash.eq(loader.o_status),
                link.i_image.eq(loader.o_image),
                link.i_started.eq(loader.o_started),
            ]
        else:
            m.d.comb += link.i_started.eq(started)
        connect(m, link.memory, host)
