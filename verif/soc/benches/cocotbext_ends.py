"""The co-processor's buses at the ends of cocotbext-axi, in place of our own models."""

import logging
import warnings
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiRam,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from carrysave.sim.cocotb.clocks import start_clocks
from carrysave.sim.cocotb.host import ARGUMENTS, Host, descriptor
from carrysave.sim.cocotb.streams import generator, schedule
from golden.soc.job import Job

__all__ = ["OtherHost", "OtherMemory", "OtherStreams", "start_clock"]

_BYTES = 4
# It still uses names of cocotb 1.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"cocotbext\.|cocotb_bus\.")


def _pause(kind: str, *channels: Any) -> None:
    """Have channels stall as a schedule of our own says."""
    for number, channel in enumerate(channels):
        moves = schedule(kind, generator(30, number, *kind.encode()))
        channel.set_pause_generator(None if moves is None else (not go for go in moves))


def _channels(master: Any, names: tuple[str, ...]) -> list[Any]:
    """Return the channels of a manager or a subordinate."""
    return [
        getattr(master.write_if if name in ("aw", "w", "b") else master.read_if, f"{name}_channel")
        for name in names
    ]


async def start_clock(dut: Any) -> None:
    """Start the clock, and reset for two cycles."""
    start_clocks(dut.aclk)
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 2)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)


class OtherHost(Host):
    """A host whose accesses follow each other without waiting for responses."""

    def __init__(self, dut: Any, kind: str = "flowing") -> None:
        self.dut = dut
        dut._log.setLevel(logging.WARNING)  # else every transfer is told
        bus = AxiLiteBus.from_prefix(dut, "s_axi")
        self.master = AxiLiteMaster(bus, dut.aclk, dut.aresetn, reset_active_level=False)
        _pause(kind, *_channels(self.master, ("aw", "w", "b", "ar", "r")))

    async def write(self, address: int, value: int, strobe: int = 15, **_: int) -> int:
        """Write a register; strobes are of bytes that follow each other."""
        first = (strobe & -strobe).bit_length() - 1
        data = value.to_bytes(_BYTES, "little")[first : strobe.bit_length()]
        return int((await self.master.write(address + first, data)).resp)

    async def access(self, address: int, **_: int) -> tuple[int, int]:
        """Read a register; returns the response and the data."""
        found = await self.master.read(address, _BYTES)
        return int(found.resp), int.from_bytes(found.data, "little")

    async def start(self, job: Job) -> None:
        """Write a job's registers at one go, and start it."""
        found = await self.master.write(ARGUMENTS, descriptor(job)[:-_BYTES])
        assert found.resp == 0
        await self.write(0, 1)


class OtherMemory:
    """Memory of some bytes, which `data` shows."""

    def __init__(self, dut: Any, data: np.ndarray, kind: str = "flowing") -> None:
        self.dut = dut
        octets = bytearray(data.tobytes())
        self.data = np.frombuffer(octets, np.uint8)
        bus = AxiBus.from_prefix(dut, "m_axi")
        self.ram = AxiRam(bus, dut.aclk, dut.aresetn, reset_active_level=False, mem=octets)
        _pause(kind, *_channels(self.ram, ("aw", "w", "b", "ar", "r")))

    @property
    def busy(self) -> bool:
        """Whether something is on its way."""
        return any(channel.count() for channel in _channels(self.ram, ("aw", "w", "b", "ar", "r")))


class OtherStreams:
    """Sources of A and B, and a sink of C; a frame for each row that is sent."""

    def __init__(self, dut: Any, kind: str = "flowing") -> None:
        self.sources = {
            side: AxiStreamSource(
                AxiStreamBus.from_prefix(dut, f"s_axis_{side}"),
                dut.aclk,
                dut.aresetn,
                reset_active_level=False,
            )
            for side in "ab"
        }
        bus = AxiStreamBus.from_prefix(dut, "m_axis_c")
        self.sink = AxiStreamSink(bus, dut.aclk, dut.aresetn, reset_active_level=False)
        _pause(kind, *self.sources.values(), self.sink)

    def send(self, side: str, row: bytes) -> None:
        """Have a row sent."""
        self.sources[side].send_nowait(AxiStreamFrame(row))

    def take(self) -> list[tuple[bytes, list[int]]]:
        """Return what came, up to each last beat: bytes, and which of them count."""
        found = []
        while not self.sink.empty():
            frame = self.sink.recv_nowait(compact=False)
            found.append((bytes(frame.tdata), list(frame.tkeep)))
        return found

    @property
    def busy(self) -> bool:
        """Whether something is still to be sent, or has begun to come."""
        return any(not source.empty() or source.active for source in self.sources.values())
