"""Agent of memory: the model that serves the bus, and a monitor that reports bursts."""

from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from pyuvm import uvm_agent, uvm_analysis_port, uvm_monitor

from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.streams import generator, schedule
from golden.soc.bus import BusSpec
from verif.soc.uvm.orders import MEMORY, Order
from verif.soc.uvm.points import SPEEDS

__all__ = ["Burst", "MemoryAgent", "MemoryMonitor"]


@dataclass(frozen=True)
class Burst:
    """A burst that has ended: its way ("r" or "w"), beats, and errors of beats by their number."""

    way: str
    address: int
    beats: int
    errors: dict[int, int]

    @property
    def response(self) -> int:
        """The first error, or 0."""
        return next(iter(self.errors.values()), 0)


class MemoryMonitor(uvm_monitor):
    """Reports bursts when they end."""

    def build_phase(self) -> None:
        """Make the port."""
        self.bursts = uvm_analysis_port("bursts", self)

    def see(self, way: str, address: int, beats: int, errors: dict[int, int]) -> None:
        """Report a burst."""
        self.bursts.write(Burst(way, address, beats, errors))


class MemoryAgent(uvm_agent):
    """Memory full of random bytes behind the bus of the co-processor."""

    spec: BusSpec
    model: Memory

    def build_phase(self) -> None:
        """Make the monitor."""
        super().build_phase()
        self.monitor = MemoryMonitor("monitor", self)
        self.data = generator(0).integers(0, 256, MEMORY, np.uint8)
        self.tasks: list[Task[None]] = []

    def stop(self) -> None:
        """Do nothing any more: there is a reset."""
        for task in self.tasks:
            task.cancel()

    def restart(self) -> None:
        """Begin anew: nothing is under way."""
        self.model = Memory(cocotb.top, self.data, outstanding=self.spec.outstanding)
        self.model.watch = self.monitor.see
        self.tasks = self.model.start()

    def set(self, order: Order, *seed: int) -> None:
        """Behave as an order asks for."""
        latency, kind = SPEEDS[order.speed]
        self.model.base = order.base
        self.model.latency = latency
        self.model.stalls = {
            channel: schedule(kind, generator(1, number, *seed))
            for number, channel in enumerate(CHANNELS)
        }
        self.model.faults = {way: dict(order.faults.get(way, {})) for way in "rw"}

    def counts(self) -> Any:
        """Beats read and written so far."""
        return self.model.read_beats, self.model.write_beats
