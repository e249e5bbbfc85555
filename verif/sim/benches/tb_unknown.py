"""Streams of a block whose valid and ready are unknown."""

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import PERIOD_NS, Sink, Source


@cocotb.test
async def test_unknown_valid_and_ready(dut: Any) -> None:
    """Neither is taken for 0."""
    Clock(dut.clk, PERIOD_NS, "ns").start()
    await ClockCycles(dut.clk, 1)
    source, sink = Source(dut, "i", ["data"]), Sink(dut, "o", ["data"])
    with pytest.raises(ValueError, match="i_ready must be 0 or 1, not X"):
        await source.send([[1]])
    with pytest.raises(ValueError, match="o_valid must be 0 or 1, not X"):
        await sink.take(1)
