"""A board's co-processor with SDRAM: at the pins of the chip, whose timing is its data sheet's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.external import controller
from carrysave.boards.litedram_core import CORE
from carrysave.boards.sdram import SDRAMS
from carrysave.boards.top import TOP, Clock, top
from carrysave.errors import UsageError
from carrysave.sim.runner import run
from carrysave.sim.verilator import build
from hw.device import models_of
from hw.emit.verilog import Emission

SMALL = {"memory": "external", "m": "2", "n": "4", "sums": "64", "a_bytes": "256",
         "b_bytes": "256", "divisor": "5"}  # fmt: skip
MHZ = 80.0


def simulated(name: str, folder: Path, **chip: Any) -> dict[str, Any]:
    """Test the memory of a board whose chip has faults; return what was found."""
    board = BOARDS[name]
    design = design_of(board, SMALL, clock_hz=1e6 * MHZ)
    memory = controller(board, design.spec, 1e6 * MHZ, simulated=True)
    verilog = Emission(design).verilog
    sources = {
        f"{TOP}.v": top(board, design.module, Clock(MHZ), memory),
        f"{CORE}.v": memory.verilog,
        "design.v": verilog,
    }
    for file, text in sources.items():
        (folder / file).write_text(text)
    result = run(
        build([*(folder / file for file in sources), *models_of(verilog)], TOP),
        "verif.boards.tb_sdram",
        parameters={"divisor": 5, "period_ns": 1e3 / MHZ, "size": 4096, "chip": chip},
        directory=folder,
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found


@pytest.mark.prove
def test_memory_is_right_and_refreshed(tmp_path: Path) -> None:
    """All bytes, a product, and no command that the data sheet forbids; the rate is near the bus's.

    A word of 2 bytes passes in each cycle, at most.
    """
    found = simulated("ulx3s_85f", tmp_path)
    assert found["ok"]
    assert found["commands"]["refresh"] > 10
    assert 0.5 * 2 < (found["read_bytes"] + found["written_bytes"]) / found["cycles"] < 2


@pytest.mark.prove
@pytest.mark.parametrize(
    ("chip", "high", "low"),
    [
        ({"stuck_high": 0x10}, 0x10 * 0x0001_0001_0001_0001, 0),
        ({"stuck_low": 0x8000}, 0, 0x8000 * 0x0001_0001_0001_0001),
        # One byte among the first, in which all bits are written both ways.
        ({"bad": {"1": 0x0400}}, 0x0400_0000, 0x0400_0000),
    ],
)
def test_bad_bits_are_told(chip: dict[str, Any], high: int, low: int, tmp_path: Path) -> None:
    found = simulated("ulx3s_85f", tmp_path, **chip)
    assert not found["ok"]
    assert (found["high"], found["low"]) == (high, low)


@pytest.mark.prove
def test_memory_that_does_not_answer(tmp_path: Path) -> None:
    """Every byte is read as what the bus has, and nothing hangs."""
    found = simulated("ulx3s_85f", tmp_path, silent=True)
    assert found["wrong"] > 4000
    assert found["low"] == 0
    assert {one["read"] for one in found["first"]} == {255}


def test_boards_without_such_memory() -> None:
    for name, why in (("orangecrab_25f", "DDR3"), ("icebreaker", "none beside its FPGA")):
        with pytest.raises(UsageError, match=f"memory must be block_ram on {name}: .*{why}"):
            design_of(BOARDS[name], {"memory": "external"})


@pytest.mark.prove
def test_port_takes_what_the_memory_is_said_to(tmp_path: Path) -> None:
    """Latency and rate are those of reads at the controller's port."""
    board, sdram = BOARDS["ulx3s_85f"], SDRAMS["ulx3s_85f"]
    design = design_of(board, SMALL, clock_hz=1e6 * MHZ)
    memory = controller(board, design.spec, 1e6 * MHZ, simulated=True)
    source = tmp_path / f"{CORE}.v"
    source.write_text(memory.verilog)
    given = {"period_ns": 1e3 / MHZ, "size": sdram.bytes, "bytes": design.spec.bytes}
    result = run(
        build([source], CORE), "verif.boards.tb_sdram_port", parameters=given, directory=tmp_path
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert len(seen["alone"]) == len(seen["gaps"]) == 64
    assert sdram.timing.answer == np.median(seen["alone"])
    assert sdram.timing.beat(design.spec.bytes) == np.median(seen["gaps"])
