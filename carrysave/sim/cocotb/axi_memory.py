"""Memory behind an AXI4 manager under cocotb: latency, stalls, errors, and the bus's rules."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import First, RisingEdge

from carrysave.sim.cocotb.beat_rate import BeatRate
from carrysave.sim.cocotb.pins import bits_of, writer_of

__all__ = ["CHANNELS", "Memory"]

CHANNELS = ("ar", "r", "aw", "w", "b")


class Memory:
    """Bytes from address `base` on, read and written by bursts in order.

    Rules for a manager are checked: payloads are taken as they were offered (all cycles between are
    watched by :mod:`carrysave.sim.rules`), bursts are INCR, of whole aligned beats, within 4 KiB
    and the memory; WLAST is right; IDs, where there are any, are 0; at most `outstanding` bursts
    are in flight.

    Members
    -------
    data : uint8.
    read_beats, write_beats : so far.
    faults : error responses by beat address; such reads return wrong data, such writes nothing.
    watch : called with each completed burst: direction, address, beats, error responses.
    """

    def __init__(
        self,
        dut: Any,
        data: np.ndarray,
        *,
        latency: int = 0,
        rate: BeatRate | None = None,
        outstanding: int = 64,
        clock: str = "aclk",
        stalls: Mapping[str, Iterator[bool] | None] | None = None,
    ) -> None:
        self.dut, self.clock, self.data = dut, getattr(dut, clock), data
        self.latency, self.outstanding, self._rate = latency, outstanding, rate or BeatRate()
        self.stalls = dict.fromkeys(CHANNELS) | dict(stalls or {})
        self.faults: dict[str, dict[int, int]] = {"r": {}, "w": {}}
        self.watch: Callable[[str, int, int, dict[int, int]], None] = lambda *_: None
        self.base = self.read_beats = self.write_beats = 0
        self.bursts: list[tuple[str, int, int]] = []
        self.bytes = len(dut.m_axi_wstrb)
        self._ports: dict[str, Any] = {}
        self._readers: dict[str, Callable[[], str]] = {}
        self._reads: deque[tuple[int, int, int, int]] = deque()  # due, address, beats, beats gone
        self._errors: dict[str, dict[int, int]] = {"r": {}, "w": {}}
        self._writes: deque[tuple[int, int]] = deque()  # address, beats
        self._answers: deque[tuple[int, int]] = deque()  # due, response
        self._held: dict[str, tuple[str, ...] | None] = dict.fromkeys(CHANNELS)
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            getattr(dut, f"m_axi_{name}").value = 0
        self._ids = hasattr(dut, "m_axi_arid")
        if self._ids:
            dut.m_axi_rid.value = dut.m_axi_bid.value = 0

    @property
    def busy(self) -> int:
        """Outstanding bursts."""
        return len(self._reads) + len(self._writes) + len(self._answers)

    def start(self) -> list[Task[None]]:
        """Serve both directions from now on; each sleeps while it has nothing to do."""
        return [cocotb.start_soon(self._serve_reads()), cocotb.start_soon(self._serve_writes())]

    def _go(self, channel: str) -> bool:
        stall = self.stalls[channel]
        return stall is None or next(stall)

    def _port(self, name: str) -> Any:
        if name not in self._ports:
            self._ports[name] = getattr(self.dut, f"m_axi_{name}")
        return self._ports[name]

    def _bits(self, name: str) -> str:
        """Read a port."""
        if name not in self._readers:
            self._readers[name] = bits_of(self._port(name))
        return self._readers[name]()

    def _pins(self, *names: str) -> list[Callable[[], str]]:
        return [bits_of(self._port(name)) for name in names]

    def _drive(self, *names: str) -> list[Callable[[int], None]]:
        return [writer_of(self._port(name)) for name in names]

    def _accept(self, channel: str) -> tuple[int, int]:
        """Take an address, and check the burst."""
        address, length, size, burst = (
            int(self._bits(f"{channel}{name}"), 2) for name in ("addr", "len", "size", "burst")
        )
        end = address + (length + 1) * self.bytes
        assert not (self._ids and int(self._bits(f"{channel}id"), 2)), "an ID is not 0"
        assert burst == 1, f"burst {burst} is not INCR"
        assert 1 << size == self.bytes, f"size {size}"
        assert address % self.bytes == 0, f"address {address:#x} is inside of a beat"
        assert address >> 12 == (end - 1) >> 12, f"burst {address:#x}..{end:#x} crosses 4 KiB"
        inside = self.base <= address and end <= self.base + len(self.data)
        assert inside, f"burst {address:#x}..{end:#x} is outside of the memory"
        self.bursts.append((channel, address, length + 1))
        return address, length + 1

    def _hold(self, channel: str, names: tuple[str, ...], taken: bool) -> None:
        """Check that a payload is taken as it was offered; the bus's rules watch it in between."""
        held = self._held[channel]
        if taken == (held is None):
            return
        values = tuple([self._bits(name) for name in names])
        assert held in (None, values), f"{channel} changed while it waited: {held} to {values}"
        self._held[channel] = None if taken else values

    async def _serve_reads(self) -> None:
        edge = RisingEdge(self.clock)
        arvalid, rready = self._pins("arvalid", "rready")
        arready, rvalid, rdata, rresp, rlast = self._drive(
            "arready", "rvalid", "rdata", "rresp", "rlast"
        )
        names = ("araddr", "arlen", "arsize", "arburst", "arcache", "arprot")
        asked = RisingEdge(self._port("arvalid"))
        ready, offered, valid, now = False, False, False, 0
        while True:
            if not self._reads and arvalid() != "1":
                await asked
            await edge
            now += 1
            if arvalid() == "1":
                self._hold("ar", names, ready)
                if ready:
                    self._reads.append((now + self.latency, *self._accept("ar"), 0))
                    assert len(self._reads) <= self.outstanding
            else:
                assert self._held["ar"] is None, "arvalid was withdrawn"
            if offered and rready() == "1":
                self.read_beats += 1
                due, address, beats, gone = self._reads.popleft()
                if gone + 1 < beats:
                    self._reads.appendleft((due, address, beats, gone + 1))
                else:
                    self._end("r", address, beats)
                offered = False
            go = self._go("ar")
            if go != ready:
                arready(int(go))
                ready = go
            if not offered:
                offered = bool(self._reads) and self._reads[0][0] <= now and self._rate.allows("r")
                offered = offered and self._go("r")
                if offered:
                    self._rate.passed("r")
                    _, address, beats, gone = self._reads[0]
                    start = address + gone * self.bytes - self.base
                    beat = self.data[start : start + self.bytes]
                    response = self._fault("r", address, gone)
                    rdata(int.from_bytes((~beat if response else beat).tobytes(), "little"))
                    rresp(response)
                    rlast(int(gone + 1 == beats))
                if offered != valid:
                    rvalid(int(offered))
                    valid = offered

    async def _serve_writes(self) -> None:
        edge = RisingEdge(self.clock)
        awvalid, wvalid, bready = self._pins("awvalid", "wvalid", "bready")
        awready, wready, bvalid, bresp = self._drive("awready", "wready", "bvalid", "bresp")
        names = ("awaddr", "awlen", "awsize", "awburst", "awcache", "awprot")
        asked = RisingEdge(self._port("awvalid")), RisingEdge(self._port("wvalid"))
        aw, w, offered, valid, now = False, False, False, False, 0
        done, response = 0, 0
        while True:
            if not self._writes and not self._answers and "1" not in (awvalid(), wvalid()):
                await First(*asked)
            await edge
            now += 1
            if awvalid() == "1":
                self._hold("aw", names, aw)
                if aw:
                    self._writes.append(self._accept("aw"))
                    assert len(self._writes) + len(self._answers) <= self.outstanding
            else:
                assert self._held["aw"] is None, "awvalid was withdrawn"
            if wvalid() == "1":
                self._hold("w", ("wdata", "wstrb", "wlast"), w)
                if w:
                    assert self._writes, "data before its address"
                    address, beats = self._writes[0]
                    response = max(response, self._write(address, done))
                    self._rate.passed("w")
                    done += 1
                    last = int(self._bits("wlast"))
                    assert last == (done == beats), f"wlast {last} at beat {done} of {beats}"
                    if last:
                        self._end("w", *self._writes.popleft())
                        self._answers.append((now + self.latency, response))
                        done = response = 0
            else:
                assert self._held["w"] is None, "wvalid was withdrawn"
            if offered and bready() == "1":
                self._answers.popleft()
                offered = False
            for channel, drive, was in (("aw", awready, aw), ("w", wready, w)):
                go = self._go(channel)
                if channel == "w":
                    # Data waits until its address has been taken.
                    go = go and bool(self._writes) and self._rate.allows("w", 1)
                if go != was:
                    drive(int(go))
                aw, w = (go, w) if channel == "aw" else (aw, go)
            if not offered:
                offered = bool(self._answers) and self._answers[0][0] <= now and self._go("b")
                if offered:
                    bresp(self._answers[0][1])
                if offered != valid:
                    bvalid(int(offered))
                    valid = offered

    def _fault(self, way: str, address: int, beat: int) -> int:
        """Answer a beat of a burst."""
        response = self.faults[way].get(address + beat * self.bytes, 0)
        if response:
            self._errors[way][beat] = response
        return response

    def _end(self, way: str, address: int, beats: int) -> None:
        """Record that all beats of a burst have passed."""
        errors, self._errors[way] = self._errors[way], {}
        self.watch(way, address, beats, errors)

    def _write(self, address: int, beat: int) -> int:
        """Write the strobed bytes of a beat; returns the response."""
        self.write_beats += 1
        strobe = int(self._bits("wstrb"), 2)
        response = self._fault("w", address, beat)
        if strobe and not response:
            start = address + beat * self.bytes - self.base
            data = int(self._bits("wdata"), 2).to_bytes(self.bytes, "little")
            for byte in range(self.bytes):
                if strobe >> byte & 1:
                    self.data[start + byte] = data[byte]
        return response
