"""Bench of an SDRAM controller alone: what a read takes at its AXI4 port."""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from carrysave.sim.cocotb.sdram_chip import SdramChip
from carrysave.sim.cocotb.streams import PERIOD_NS, generator
from carrysave.sim.parameters import bench_parameters

GIVEN = bench_parameters()
BEATS = 16
"""Of a long burst."""


class Pins:
    """The controller's, with its clock as a chip calls it."""

    def __init__(self, dut: Any) -> None:
        self._dut, self.clk = dut, dut.core_clk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dut, name)


async def read(dut: Any, address: int, beats: int) -> list[int]:
    """Read a burst; return the cycles from the address to each beat."""
    came: list[int] = []
    edge, now = RisingEdge(dut.core_clk), 0
    dut.s_axi_araddr.value, dut.s_axi_arlen.value = address, beats - 1
    dut.s_axi_arvalid.value = 1
    asked: int | None = None
    while len(came) < beats:
        await ReadOnly()
        taken = dut.s_axi_arvalid.value == 1 and dut.s_axi_arready.value == 1
        if asked is not None and dut.s_axi_rvalid.value == 1:
            came.append(now - asked)
        await edge
        if taken:
            asked = now
            dut.s_axi_arvalid.value = 0
        now += 1
        assert now < 1000, "no answer"
    return came


@cocotb.test
async def test_port(dut: Any) -> None:
    """Read beats alone, and long bursts, all over the memory; write down when they came."""
    for name in ("arvalid", "awvalid", "wvalid", "bready"):
        getattr(dut, f"s_axi_{name}").value = 0
    dut.s_axi_rready.value = 1
    for name, value in (("arsize", int(np.log2(GIVEN["bytes"]))), ("arburst", 1), ("arid", 0)):
        if hasattr(dut, f"s_axi_{name}"):
            getattr(dut, f"s_axi_{name}").value = value
    dut.core_rst.value = 1
    SdramChip(Pins(dut), GIVEN["period_ns"])
    Clock(dut.core_clk, PERIOD_NS, unit="ns").start()
    await ClockCycles(dut.core_clk, 4)
    dut.core_rst.value = 0
    for _ in range(100):
        await ClockCycles(dut.core_clk, 100)
        if dut.core_started.value == 1:
            break
    else:
        raise AssertionError("the memory is not started")
    rng = generator(0)
    places = rng.integers(0, GIVEN["size"] // 256, 64) * 256
    alone = [(await read(dut, int(at), 1))[0] for at in places]
    bursts = [await read(dut, int(at), BEATS) for at in places]
    gaps = [(came[-1] - came[0]) / (BEATS - 1) for came in bursts]
    Path("seen.json").write_text(json.dumps({"alone": alone, "gaps": gaps}))
