"""An SDRAM controller alone under cocotb: its clock, its start, and bursts at its AXI4 port."""

from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from carrysave.sim.cocotb.streams import PERIOD_NS

__all__ = ["Answer", "Pins", "begin", "read", "restart", "write"]

_MOST = 2000
"""Cycles without an answer."""


class Pins:
    """The controller's, with its clock as a chip calls it."""

    def __init__(self, dut: Any) -> None:
        self._dut, self.clk = dut, dut.core_first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dut, name)


@dataclass
class Answer:
    """What a burst brings.

    Members
    -------
    came : cycles from its address to each beat.
    data, answers : of each beat.
    """

    came: list[int]
    data: list[int]
    answers: list[int]


async def begin(dut: Any, beat_bytes: int) -> None:
    """Start the clock, in reset, with nothing asked for."""
    for name in ("arvalid", "awvalid", "wvalid", "bready"):
        getattr(dut, f"s_axi_{name}").value = 0
    dut.s_axi_rready.value = 1
    dut.core_rst.value = dut.core_locked.value = 1
    for channel in ("ar", "aw"):
        size = beat_bytes.bit_length() - 1
        for name, value in (("size", size), ("burst", 1), ("id", 0)):
            getattr(dut, f"s_axi_{channel}{name}").value = value
    Clock(dut.core_first, PERIOD_NS, unit="ns").start()
    await ClockCycles(dut.core_first, 4)


async def restart(dut: Any, most: int) -> int:
    """Reset the controller; return the cycles until the memory is started."""
    dut.core_rst.value = 1
    await ClockCycles(dut.core_first, 2)
    dut.core_rst.value = 0
    for hundreds in range(most // 100):
        await ClockCycles(dut.core_first, 100)
        if dut.core_started.value == 1:
            return 100 * hundreds
    raise AssertionError(f"the memory is not started after {most} cycles")


async def read(dut: Any, address: int, beats: int) -> Answer:
    """Read a burst."""
    answer, now = Answer([], [], []), 0
    edge = RisingEdge(dut.core_first)
    dut.s_axi_araddr.value, dut.s_axi_arlen.value = address, beats - 1
    dut.s_axi_arvalid.value = 1
    asked: int | None = None
    while len(answer.came) < beats:
        await ReadOnly()
        taken = dut.s_axi_arvalid.value == 1 and dut.s_axi_arready.value == 1
        if asked is not None and dut.s_axi_rvalid.value == 1:
            answer.came.append(now - asked)
            answer.data.append(int(dut.s_axi_rdata.value))
            answer.answers.append(int(dut.s_axi_rresp.value))
            assert bool(dut.s_axi_rlast.value) == (len(answer.came) == beats)
        await edge
        if taken:
            asked = now
            dut.s_axi_arvalid.value = 0
        now += 1
        assert now < _MOST, "no answer"
    return answer


async def write(dut: Any, address: int, data: list[int], strobes: list[int]) -> int:
    """Write a burst; return its answer."""
    edge, sent, now = RisingEdge(dut.core_first), 0, 0
    dut.s_axi_awaddr.value, dut.s_axi_awlen.value = address, len(data) - 1
    dut.s_axi_awvalid.value = dut.s_axi_wvalid.value = dut.s_axi_bready.value = 1
    while True:
        if sent < len(data):
            dut.s_axi_wdata.value, dut.s_axi_wstrb.value = data[sent], strobes[sent]
            dut.s_axi_wlast.value = sent == len(data) - 1
        await ReadOnly()
        addressed = dut.s_axi_awvalid.value == 1 and dut.s_axi_awready.value == 1
        sent += dut.s_axi_wvalid.value == 1 and dut.s_axi_wready.value == 1
        answered, answer = dut.s_axi_bvalid.value == 1, int(dut.s_axi_bresp.value)
        await edge
        if addressed:
            dut.s_axi_awvalid.value = 0
        if sent == len(data):
            dut.s_axi_wvalid.value = 0
        if answered:
            assert sent == len(data), "answered before its last beat"
            dut.s_axi_bready.value = 0
            return answer
        now += 1
        assert now < _MOST, "no answer"
