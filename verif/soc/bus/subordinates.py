"""Memories on AXI4 in Amaranth's simulator, that check what their manager may do."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from golden.soc.bus import BusSpec
from verif.soc.bus.partners import Part

__all__ = ["Contents", "Reader", "Writer"]


@dataclass
class Contents:
    """Bytes from `base` on, and the traffic of the channels.

    Parameters
    ----------
    octets : uint8; nothing beyond them may be accessed.
    errors : responses other than OKAY, by address of a beat (read) or of a burst (write).
    rates : how likely, each cycle: an address is taken; a beat is given or taken; a response
        is given.
    latency : cycles from an address to its first beat, or from the last beat to the response.
    silent : channels, such as ``ar``, on which nothing new is taken or given.
    """

    spec: BusSpec
    octets: np.ndarray
    rng: np.random.Generator
    base: int = 0
    errors: Mapping[int, int] = field(default_factory=dict)
    rates: tuple[float, float, float] = (1.0, 1.0, 1.0)
    latency: int = 1
    silent: set[str] = field(default_factory=set)

    def maybe(self, kind: int, channel: str) -> bool:
        """Decide whether a channel moves in this cycle; its kind has a rate."""
        return self.rng.random() < self.rates[kind] and channel not in self.silent

    def check(self, values: Sequence[int]) -> tuple[int, int]:
        """Check address, length, size, burst, cache and protection of a burst."""
        address, length, size, burst, cache, prot = values
        octets = self.spec.bytes
        end = address + (length + 1) * octets
        assert address % octets == 0
        assert length < self.spec.burst
        assert (1 << size, burst, cache, prot) == (octets, 1, 3, 0)
        assert address >> 12 == end - 1 >> 12, "burst crosses 4 KiB"
        assert self.base <= address
        assert end <= self.base + len(self.octets)
        return address, length


class Reader(Part):
    """Answers a read manager."""

    def __init__(self, axi: Any, memory: Contents) -> None:
        self.axi, self.memory = axi, memory
        self.ports = [axi.arvalid, axi.rready, axi.araddr, axi.arlen, axi.arsize, axi.arburst]
        self.ports += [axi.arcache, axi.arprot]
        self.open = False
        self.cycle = 0
        self.waiting: deque[tuple[int, int, int]] = deque()
        """Beats to come: the cycle from which on, address, last."""
        self.offered: tuple[int, int, int] | None = None
        self.bursts: list[tuple[int, int, int]] = []
        """Address, length and cycle of each burst."""
        self.beats: list[int] = []
        """Cycle of each beat."""
        self.under_way = 0

    def drive(self, ctx: Any) -> None:
        axi, memory = self.axi, self.memory
        self.open = memory.maybe(0, "ar")
        ctx.set(axi.arready, self.open)
        if self.offered is None and self.waiting and self.waiting[0][0] <= self.cycle:
            self.offered = self.waiting.popleft() if memory.maybe(1, "r") else None
        ctx.set(axi.rvalid, self.offered is not None)
        # What is not valid is as misleading as can be.
        value, response, last = (1 << memory.spec.data_width) - 1, 3, 1
        if self.offered is not None:
            _, address, last = self.offered
            at = address - memory.base
            octets = memory.octets[at : at + memory.spec.bytes]
            value = int.from_bytes(octets.tobytes(), "little")
            response = memory.errors.get(address, 0)
        ctx.set(axi.rdata, value)
        ctx.set(axi.rresp, response)
        ctx.set(axi.rlast, last)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        self.cycle = cycle + 1
        valid, ready, *burst = values
        if self.offered is not None and ready:
            self.under_way -= self.offered[2]
            self.beats.append(cycle)
            self.offered = None
        if valid and self.open:
            address, length = self.memory.check(burst)
            self.bursts.append((address, length, cycle))
            self.under_way += 1
            assert self.under_way <= self.memory.spec.outstanding
            octets = self.memory.spec.bytes
            self.waiting.extend(
                (cycle + self.memory.latency, address + beat * octets, int(beat == length))
                for beat in range(length + 1)
            )


class Writer(Part):
    """Takes what a write manager writes."""

    def __init__(self, axi: Any, memory: Contents) -> None:
        self.axi, self.memory = axi, memory
        self.ports = [axi.awvalid, axi.wvalid, axi.wdata, axi.wstrb, axi.wlast, axi.bready]
        self.ports += [axi.awaddr, axi.awlen, axi.awsize, axi.awburst, axi.awcache, axi.awprot]
        self.open = [False, False]
        self.cycle = 0
        self.bursts: list[tuple[int, int, int]] = []
        """Address, length and cycle of each burst."""
        self.beats: list[int] = []
        """Cycle of each beat."""
        self.here: list[tuple[int, int]] = []
        """Beats of the next burst: data and strobes."""
        self.sent: list[list[tuple[int, int]]] = []
        """Those of the bursts whose beats are all here."""
        self.written = 0
        """Bursts that are in the memory."""
        self.waiting: deque[tuple[int, int]] = deque()
        """Responses to come: the cycle from which on, response."""
        self.offered: int | None = None
        self.answered = 0

    def drive(self, ctx: Any) -> None:
        axi, memory = self.axi, self.memory
        self.open = [memory.maybe(0, "aw"), memory.maybe(1, "w")]
        ctx.set(axi.awready, self.open[0])
        ctx.set(axi.wready, self.open[1])
        if self.offered is None and self.waiting and self.waiting[0][0] <= self.cycle:
            self.offered = self.waiting.popleft()[1] if memory.maybe(2, "b") else None
        ctx.set(axi.bvalid, self.offered is not None)
        ctx.set(axi.bresp, 3 if self.offered is None else self.offered)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        self.cycle = cycle + 1
        address_valid, beat_valid, data, strobes, last, ready, *burst = values
        assert ready or self.offered is None
        if self.offered is not None:
            self.answered += 1
            self.offered = None
        if address_valid and self.open[0]:
            address, length = self.memory.check(burst)
            self.bursts.append((address, length, cycle))
            assert len(self.bursts) - self.answered <= self.memory.spec.outstanding
        if beat_valid and self.open[1]:
            self.beats.append(cycle)
            self.here.append((data, strobes))
            if last:
                self.sent.append(self.here)
                self.here = []
        while self.written < min(len(self.bursts), len(self.sent)):
            self.write(cycle)

    def write(self, cycle: int) -> None:
        """Write a burst that is whole."""
        memory = self.memory
        address, length, _ = self.bursts[self.written]
        beats = self.sent[self.written]
        assert len(beats) == length + 1, "WLAST is not at the burst's end"
        octets = memory.spec.bytes
        for number, (data, strobes) in enumerate(beats):
            at = address - memory.base + number * octets
            mask = [bool(strobes >> byte & 1) for byte in range(octets)]
            found = np.frombuffer(data.to_bytes(octets, "little"), np.uint8)
            memory.octets[at : at + octets][mask] = found[mask]
        self.written += 1
        self.waiting.append((cycle + memory.latency, memory.errors.get(address, 0)))
