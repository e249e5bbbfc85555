"""The page of cell libraries: what carrysave knows of each by itself, and what it reads."""

from carrysave.asic.liberty.cells import DONT_USE, OSU018, Library, generic, osu018
from carrysave.asic.liberty.wire_load import WireLoad
from carrysave.asic.placement.technology import TECHNOLOGIES
from carrysave.docs.markdown import table

__all__ = ["cells"]


def cells() -> str:
    """Write what libraries there are, what is read of one, and the wires of those known."""
    here = [generic(), *([osu018()] if any(path.is_file() for path in OSU018) else [])]
    facts = {one.name: _facts(one) for one in here}
    first = next(iter(facts.values()))
    return "\n\n".join([
        "# Cell libraries",
        "`--target osu018` is Debian's package `qflow-tech-osu018`; `--target generic` is of our"
        " own making, in gate equivalents and FO4, and needs nothing of the system; `--liberty`"
        " takes any Liberty file, and several of them are the corners of one library: the first is"
        " mapped to and measured for power, the slowest sets the period.",
        "## What is read of a library",
        "Of those that need no `--liberty`, where they are installed, by the reader that takes any"
        " other. Each is one corner.",
        table(("", *(f"`{name}`" for name in facts)),
              ((key, *(wires[key] for wires in facts.values())) for key in first)),
        "## Cells that are odd",
        "A cell that tools would misread, or could not read the library for, is left out for all of"
        " them, and a note of the report names it with its line and the reason: a function that is"
        " none of its inputs, no area or a negative one, a pin without a direction, a table of the"
        " wrong size or without its template, a delay that is missing, an illegal name, a second"
        " cell of a name, text that is not Liberty. What is odd in one corner is left out of all."
        " Cells that are legal but that no tool maps to (fillers, memories, pads, keepers of buses)"
        " stay, or are one note together if ABC would stop at them. A file with no usable cell, or"
        " without a NAND, an inverter, a buffer and a flip-flop to map to, is refused.",
        "## Cells that are not taken",
        "By pattern of the library's name: cells of power domains, probes, delays, clock trees,"
        " scan and enable flip-flops, tri-states.",
        table(("library", "cells"),
              ((f"`{name}`", ", ".join(f"`{one}`" for one in patterns))
               for name, patterns in DONT_USE.items())),
        "## Wires",
        "Of `synth --place`. Figures of other libraries come from `--lef`, or from `--wire-cap`,"
        " `--wire-res` and `--row-height`; without, placing is refused. A result says its source.",
        table(("library", "fF/um", "ohm/um", "row, um", "site, um", "tap cell", "source"),
              ((f"`{name}`", wires.capacitance, wires.resistance, wires.row_height,
                wires.site_width, f"`{wires.tap}`" if wires.tap else "none", wires.source)
               for name, wires in TECHNOLOGIES.items())),
    ]) + "\n"  # fmt: skip


def _facts(library: Library) -> dict[str, object]:
    """Return what a column of the table says."""
    load, corner = WireLoad.of(library), library.corner
    banned = set(library.dont_use)
    return {
        "cells": len(library.cells),
        "of these taken": len(set(library.cells) - banned),
        "areas and times": "gate equivalents, FO4" if library.relative else "um2, ns",
        "corner": ", ".join(
            f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in corner.items()
            if value is not None
        )
        or "none",
        "full adder": _cell(library.full_adder),
        "clock gate": _cell(library.clock_gate),
        "driver of inputs": _cell(library.driver),
        "unit of area": _cell(library.nand2),
        "load of outputs, fF": f"{library.load_ff:.4g}",
        "default wire load": "none"
        if load is None
        else f"{load.capacitance:.4g} fF, {load.resistance:.4g} ohm for length 1",
        "SHA-256": f"`{library.sha[:16]}`",
    }


def _cell(cell: object) -> str:
    """Name a cell."""
    return "none" if cell is None else f"`{getattr(cell, 'name', cell)}`"
