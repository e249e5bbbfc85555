"""Boards with SDRAM in simulation: the whole top, and the memory's controller alone."""

import json
import re
from pathlib import Path
from typing import Any

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.external import controller
from carrysave.boards.flash import FLASHES
from carrysave.boards.litedram_core import CORE
from carrysave.boards.sdram import SDRAMS
from carrysave.boards.top import TOP, Clock, top
from carrysave.sim.runner import run
from carrysave.sim.verilator import build
from hw.device import models_of
from hw.emit.verilog import Emission

__all__ = ["MHZ", "SMALL", "alone", "board_with", "check_unstarted", "flashed", "quiet"]

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


def _never(verilog: str) -> str:
    """Have a controller never come to the end of the memory's start."""
    started = re.findall(r"^assign core_started = (\w+);", verilog, re.MULTILINE)
    text, count = re.subn(rf"\b{started[0]} <= [^;]*;", f"{started[0]} <= 1'd0;", verilog)
    assert count == 2  # in its reset, too
    return text


def board_with(
    name: str, folder: Path, size: int = 4096, *, never: bool = False, **chip: Any
) -> dict[str, Any]:
    """Test some bytes of the memory of a board whose chip has faults; return what was found.

    Parameters
    ----------
    never : the controller does not come to the end of the memory's start.
    """
    board = BOARDS[name]
    divisor = _DIVISORS[SDRAMS[name].kind]
    design = design_of(board, SMALL | {"divisor": str(divisor)}, clock_hz=1e6 * MHZ)
    memory = controller(board, design.spec, 1e6 * MHZ, simulated=True)
    verilog = Emission(design).verilog
    sources = {
        f"{TOP}.v": top(board, design.module, Clock(MHZ), memory),
        f"{CORE}.v": _never(memory.verilog) if never else memory.verilog,
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


def check_unstarted(found: dict[str, Any]) -> None:
    """Check that all that needs the memory says that it has not started, and registers are live."""
    assert not found["started"]
    for name, access in (("read", "READ"), ("write", "WRITE")):
        assert found[name] == f"CoprocessorError: memory has not started: {access} of 0x10"
    assert found["job"] == "CoprocessorError: memory has not started: WRITE_WORD of 0x0"
    assert "CoprocessorError: memory has not started" in found["opened"]
    assert (found["m"], found["idle"]) == (2, 4)


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


def flashed(
    name: str, parameters: dict[str, str], folder: Path, flash: dict[str, Any]
) -> dict[str, Any]:
    """Fill the memory of a board from its flash; return what was found.

    Parameters
    ----------
    flash : what is in it, see the bench.
    """
    board, sdram = BOARDS[name], SDRAMS[name]
    divisor = _DIVISORS[sdram.kind]
    more = {"divisor": str(divisor), "flash": str(FLASHES[name].address)} | parameters
    design = design_of(board, more, clock_hz=1e6 * MHZ)
    external = design.spec.external
    memory = controller(board, design.spec, 1e6 * MHZ, simulated=True) if external else None
    verilog = Emission(design).verilog
    text = top(board, design.module, Clock(MHZ), memory, flash=True)
    # The clock's way out of the FPGA is no pin of the top.
    text = text.replace(f"module {TOP}(", f"module {TOP}(output flash_pin, ", 1)
    text, count = re.subn(r"USRMCLK \w+ \(.USRMCLKI\((\w+)\).*;", r"assign flash_pin = \1;", text)
    assert count == 1
    sources = {f"{TOP}.v": text, f"{CORE}.v": memory.verilog if memory else "", "design.v": verilog}
    for file, content in sources.items():
        (folder / file).write_text(content)
    result = run(
        build([*(folder / file for file in sources), *models_of(verilog)], TOP),
        "verif.boards.tb_flash",
        parameters={
            "divisor": divisor,
            "period_ns": 1e3 / MHZ,
            "kind": sdram.kind if external else "",
            "digest": design.digest,
            "address": design.spec.flash,
            "flash": flash,
        },
        directory=folder,
    )
    assert result.ok, f"{result.failed}; see {result.log}"
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found
