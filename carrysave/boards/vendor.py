"""Projects for boards whose FPGA no open tool places: Vivado's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.boards.flash import flash_of
from carrysave.boards.line_rate import rate_of
from carrysave.boards.top import TOP, Clock, top
from hw.catalog import Design
from hw.emit import constraints
from hw.emit.flat_ports import check_one_clock
from hw.emit.verilog import Emission

__all__ = ["write"]

_PROGRAM = "build.tcl"


def write(
    board: Board, design: Design, folder: Path, progress: Callable[[str], None]
) -> tuple[Design, dict[str, Any]]:
    """Write what Vivado builds a bitstream of.

    With a processor in the FPGA that is the design's pack, whose program draws the whole system;
    else Verilog, pins and a program that runs all steps, at the board's own clock. A design that
    reads the board's flash is refused.

    Returns
    -------
    The design, and the facts of :func:`carrysave.boards.build.build`, without figures.
    """
    check_one_clock(design, "in a project for Vivado")
    if not board.processor and design.spec.flash:
        flash_of(board.name)
    progress(f"{board.name}: writing a project for Vivado")
    folder.mkdir(parents=True, exist_ok=True)
    if board.processor:
        from carrysave.ip import package

        written = package.generate(design, folder)
        where = folder / design.module
        command = (
            f"vivado -mode batch -source {where / 'block_design.tcl'} -tclargs"
            f" -part {board.facts['part']}"
        )
    else:
        emission = Emission(design)
        contents = {
            f"{design.module}.v": emission.verilog,
            f"{TOP}.v": top(board, design.module, Clock(board.oscillator_mhz)),
            f"{board.name}.xdc": constraints.pins(
                "xdc", board.facts["pins"], board.facts["clock_hz"]
            ),
        }
        contents[_PROGRAM] = _program(board, list(contents))
        written = [cache.write(folder / name, text) for name, text in contents.items()]
        command = f"vivado -mode batch -source {folder / _PROGRAM}"
    report = folder / f"{board.name}.json"
    facts = {
        "board": board.name,
        "design": design.module,
        "parameters": dict(design.parameters),
        "family": board.family,
        "part": board.facts["part"],
        "oscillator_mhz": board.oscillator_mhz,
        "clock_mhz": None if board.processor else board.oscillator_mhz,
        "baud": None if board.processor else rate_of(board.baud, board.facts["clock_hz"]),
        "ok": None,
        "gops": None,
        "capacity": {},
        "fmax_mhz": None,
        "critical_path": [],
        "notes": [f"no open tool places it; Vivado builds it: {command}"],
        "versions": {},
        "files": [str(path) for path in (*written, report)],
    }
    cache.write(report, json.dumps(facts, indent=2) + "\n")
    return design, facts


def _program(board: Board, files: list[str]) -> str:
    """Return the Tcl that synthesises, places, routes and writes the bitstream."""
    *sources, pins = files
    lines = [
        "set here [file dirname [file normalize [info script]]]",
        *(f"read_verilog [file join $here {name}]" for name in sources),
        f"read_xdc [file join $here {pins}]",
        f"synth_design -top {TOP} -part {board.facts['part']}",
        "opt_design",
        "place_design",
        "phys_opt_design",
        "route_design",
        f"report_timing_summary -file [file join $here {board.name}_timing.rpt]",
        f"report_utilization -file [file join $here {board.name}_utilization.rpt]",
        f"write_bitstream -force [file join $here {board.name}.bit]",
    ]
    return "".join(f"{line}\n" for line in lines)
