"""Proves that a placed netlist computes what the mapped one does, by ABC."""

from pathlib import Path

from carrysave.asic.liberty.cells import Library, cell_models
from carrysave.asic.placement.netlist import Netlist
from hw.emit import tools, yosys

__all__ = ["Difference", "prove"]


class Difference(AssertionError):
    """Two netlists are not the same, or could not be compared."""


def prove(mapped: Path, placed: Path, top: str, library: Library) -> None:
    """Prove two netlists equal, register by register.

    Every flip-flop, latch and clock gate of the mapped one must be in the placed one, by its name,
    of the same function; all logic between these must be the same, for all values.

    Raises
    ------
    Difference
        If they are not.
    """
    gold, gate = Netlist.read(mapped, top, library), Netlist.read(placed, top, library, named=True)
    registers = {
        name: (cell.register, cell.gate, [pin.name for pin in cell.pins])
        for name, cell in ((name, gold.cell(name)) for name in gold.cells)
        if cell.sequential
    }
    verdicts = {
        name: (cell.register, cell.gate, [pin.name for pin in cell.pins])
        for name, cell in ((name, gate.cell(name)) for name in gate.cells)
        if cell.sequential
    }
    if registers != verdicts:
        odd = sorted(
            name for name in {*registers, *verdicts} if registers.get(name) != verdicts.get(name)
        )
        raise Difference(f"{top} must have the same registers, not others: {', '.join(odd[:5])}")
    with tools.workplace() as work:
        (work / "cells.v").write_text(cell_models(library))
        boxes = sorted({cell.name for cell in library.cells.values() if cell.sequential})
        selected = " ".join(f"t:{yosys.word(box)}" for box in boxes)
        for name, netlist in (("gold", gold), ("gate", gate)):
            netlist.write(work / f"{name}.v")
            yosys.run(
                "\n".join([
                    "read_verilog cells.v",
                    *(f"blackbox {yosys.word(box)}" for box in boxes),
                    f"read_verilog {name}.v",
                    f"hierarchy -top {yosys.word(top)}",
                    "flatten -noscopeinfo",
                    f"select -set registers {selected}",
                    "expose -evert @registers",
                    "opt_clean",
                    "techmap",
                    "aigmap",
                    f"write_blif {name}.blif",
                ]),
                cwd=work,
            )
        log = yosys.run_abc("cec gold.blif gate.blif", cwd=work)
    if "Networks are equivalent" not in log:
        last = log.strip().splitlines()[-1:]
        raise Difference(f"{top} is another netlist once placed: {''.join(last)[:200]}")
