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
        port = {"m_axi": Out(Axi4(spec))} if spec.external else {}
        super().__init__({"rx": In(1), "tx": Out(1), "busy": Out(1), **port})

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
        m.submodules.memory = memory = self.memory
        width = block.registers.file.address_width
        m.submodules.link = link = HostLink(self.spec, width)
        m.submodules.receiver = receiver = UartReceiver(self.spec.divisor)
        m.submodules.transmitter = transmitter = UartTransmitter(self.spec.divisor)
        m.submodules.deframer = deframer = Deframer()
        m.submodules.framer = framer = Framer()
        connect(m, block.m_axi, memory.axi)
        connect(m, link.memory, memory.host)
        if isinstance(memory, ByteManager):
            connect(m, memory.m_axi, flipped(self.m_axi))
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
