"""Bench of an SDRAM controller alone: what a read takes at its AXI4 port."""

import json
from pathlib import Path
from typing import Any

import cocotb

from carrysave.sim.cocotb.ddr3_phy import Ddr3Phy
from carrysave.sim.cocotb.sdram_chip import SdramChip
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_parameters
from verif.boards.controller_port import Pins, begin, read, restart

GIVEN = bench_parameters()
BEATS = 16
"""Of a long burst."""
CHIPS = {"sdr": SdramChip, "ddr3": Ddr3Phy}


@cocotb.test
async def test_port(dut: Any) -> None:
    """Read beats alone, the same again, and long bursts; write down when they came."""
    CHIPS[GIVEN["kind"]](Pins(dut), GIVEN["period_ns"])
    await begin(dut, GIVEN["bytes"])
    await restart(dut, 20_000)
    rng = generator(0)
    places = rng.integers(0, GIVEN["size"] // 256, 64) * 256
    alone = [(await read(dut, int(at), 1)).came[0] for at in places]
    again = [[(await read(dut, int(at), 1)).came[0] for _ in range(2)][1] for at in places]
    bursts = [(await read(dut, int(at), BEATS)).came for at in places]
    gaps = [(came[-1] - came[0]) / (BEATS - 1) for came in bursts]
    Path("seen.json").write_text(json.dumps({"alone": alone, "again": again, "gaps": gaps}))
