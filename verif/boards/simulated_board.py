"""Boards with SDRAM in simulation: the whole top, and the memory's controller alone."""

import json
from pathlib import Path
from typing import Any

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.external import controller
from carrysave.boards.litedram_core import CORE
from carrysave.boards.sdram import SDRAMS
from carrysave.boards.top import TOP, Clock, top
from carrysave.sim.runner import run
from carrysave.sim.verilator import build
from hw.device import models_of
from hw.emit.verilog import Emission

__all__ = ["MHZ", "SMALL", "alone", "board_with", "quiet"]

SMALL = {
    "memory": "external",
    "m": "2",
    "n": "4",
    "sums": "64",
    "a_bytes": "256",
    "b_bytes": "256",
}
MHZ = 80.0
_DIVISORS = {"sdr": 5, "ddr3": 15}
"""The least at which a byte of the line takes longer than an access that waits for a refresh."""


def quiet(log: Path) -> bool:
    """Whether LiteDRAM's checker has found no time that is too short."""
    return "violation" not in log.read_text()


def board_with(name: str, folder: Path, size: int = 4096, **chip: Any) -> dict[str, Any]:
    """Test some bytes of the memory of a board whose chip has faults; return what was found."""
    board = BOARDS[name]
    divisor = _DIVISORS[SDRAMS[name].kind]
    design = design_of(board, SMALL | {"divisor": str(divisor)}, clock_hz=1e6 * MHZ)
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
        parameters={
            "divisor": divisor,
            "period_ns": 1e3 / MHZ,
            "size": size,
            "chip": chip,
            "kind": SDRAMS[name].kind,
            "design": design.name,
            "parameters": dict(design.parameters),
        },
        directory=folder,
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    assert quiet(result.log)
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found


def alone(name: str, bench: str, folder: Path, **given: Any) -> Any:
    """Run a bench of a board's controller; return what it wrote to ``seen.json``."""
    board, sdram = BOARDS[name], SDRAMS[name]
    spec = design_of(board, SMALL, clock_hz=1e6 * MHZ).spec
    source = folder / f"{CORE}.v"
    source.write_text(controller(board, spec, 1e6 * MHZ, simulated=True).verilog)
    given |= {"period_ns": 1e3 / MHZ, "kind": sdram.kind, "size": sdram.bytes, "bytes": spec.bytes}
    result = run(build([source], CORE), bench, parameters=given, directory=folder)
    assert result.ok, f"{result.failed}; see {result.log}"
    assert quiet(result.log)
    return json.loads((folder / "seen.json").read_text())
