"""The ports of a co-processor to memory, what reads and writes through them, and its errors."""

from collections.abc import Mapping
from typing import Any

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.axi import Axi4, Axi4Stream
from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.watchdog import Watchdog
from hw.soc.bus.write_master import WriteMaster
from hw.soc.path.stream_ports import StreamReader, StreamWriter
from hw.soc.registers.coprocessor import error_code
from hw.soc.schedule.control import Control
from hw.soc.stores.scratch import Scratch

__all__ = ["connect_masters", "connect_streams", "memory_ports", "report", "watch"]


def memory_ports(spec: CoprocessorSpec, id_width: int = 0) -> dict[str, wiring.Member]:
    """List the memory ports: AXI4, or streams of A, of all other inputs, and of C."""
    if not spec.STREAM:
        return {"m_axi": Out(Axi4(spec, id_width))}
    one = Axi4Stream(spec)
    return {"s_axis_a": In(one), "s_axis_b": In(one), "m_axis_c": Out(one)}


def _connect(m: Module, manager: Any, port: Any) -> None:
    """Connect the channels of a manager to those of a port, which may have more."""
    for name, member in manager.signature.members.items():
        ends = getattr(port, name), getattr(manager, name)
        m.d.comb += ends[0].eq(ends[1]) if member.flow == Out else ends[1].eq(ends[0])


def connect_masters(
    m: Module,
    spec: CoprocessorSpec,
    ports: Mapping[str, Any],
    scratch: Scratch | None,
    *,
    lean: bool,
) -> tuple[Any, Any]:
    """Place what reads and writes memory; return both."""
    m_axi = ports["m_axi"]
    if scratch is not None:
        m.submodules.scratch = scratch
        _connect(m, scratch.m_axi, m_axi)
        m_axi = scratch.axi
    queue = 0 if lean else 2
    m.submodules.read = read = ReadMaster(spec, queue=queue, urgent=spec.follows_ring)
    m.submodules.write = write = WriteMaster(spec, queue=queue)
    for master in (read, write):
        _connect(m, master.axi, m_axi)
    return read, write


def connect_streams(m: Module, spec: CoprocessorSpec, ports: Mapping[str, Any]) -> tuple[Any, Any]:
    """Place what reads and writes streams; return both."""
    m.submodules.read = read = StreamReader(spec)
    m.submodules.write = write = StreamWriter(spec)
    connect(m, flipped(ports["s_axis_a"]), read.a)
    connect(m, flipped(ports["s_axis_b"]), read.b)
    connect(m, write.c, flipped(ports["m_axis_c"]))
    return read, write


def watch(m: Module, spec: CoprocessorSpec, masters: tuple[Any, Any], control: Control) -> None:
    """Place the watchdog of memory, if there is one.

    Of what reads and what writes, it gives up that to which memory owes something.
    """
    if not spec.patience:
        return
    read, write = masters
    m.submodules.watchdog = watchdog = Watchdog(spec.patience)
    m.d.comb += [
        watchdog.i.eq((read.o_owed | write.o_owed) & ~(read.o_moves | write.o_moves)),
        read.i_late.eq(watchdog.o & read.o_owed),
        write.i_late.eq(watchdog.o & write.o_owed),
        control.late.eq(watchdog.o),
        control.silent.eq(read.o_error & ~read.o_response[1]),
    ]


def report(spec: CoprocessorSpec, error: data.View, name: str, master: Any) -> list[Any]:
    """Report that memory has answered with an error, or not in time: 4 more is that code."""
    late = 0 if not spec.patience else ~master.o_response[1] << 2
    return [
        error.valid.eq(1),
        error.code.eq(error_code(name) | late),
        error.response.eq(master.o_response),
        error.address.eq(master.o_address),
    ]
