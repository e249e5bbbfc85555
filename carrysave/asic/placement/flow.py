"""Places a mapped netlist, repairs it with its wires in view, and times it with them.

The order is that of OpenROAD's flow: place, buffer for load, size for slack, legal again, a clock
tree, then timing with the capacitance and resistance of every net. There is no router: a net is the
shortest tree of Manhattan wires through the middles of its cells, and wires do not disturb each
other.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.buffers import Limits, add_buffers, isolate
from carrysave.asic.placement.clock_tree import clock_tree
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.resize import resize
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.timing import Timing
from carrysave.errors import needs

__all__ = ["UTILISATION", "Placed", "place"]

UTILISATION = 0.7
"""Share of the die that the cells of the mapped netlist take."""
_EFFORT = 3
_LIMITS = Limits(pins=20, wire=300.0, load=120.0)
_ROUNDS, _AGAIN, _LAST = 40, 20, 10
_ISOLATE = 2
_FORMAT = 1  # of what is cached; raise it with any change of it


@dataclass(frozen=True)
class Placed:
    """A netlist on a die.

    Attributes
    ----------
    netlist, wires, places : files: Verilog, SPEF, and JSON of what :func:`place` says.
    facts : what is in the last but for the cells.
    """

    netlist: Path
    wires: Path
    places: Path
    facts: dict[str, Any]


def place(
    netlist: Path,
    *,
    top: str,
    library: Library,
    clock: str | None,
    technology: Technology,
    utilisation: float = UTILISATION,
    say: Callable[[str], None] = lambda text: None,
) -> Placed:
    """Place and repair a netlist; cached by content.

    Returns
    -------
    ``facts`` has ``area_um2`` (cells, clock tree included), ``die_um`` (width, height),
    ``utilisation``, ``wire_um`` (clock tree included), ``buffers``, ``clock_buffers``,
    ``clock_wires`` (fF and buffers by driver). The file of places has for each cell its kind, scope
    and place besides.

    Raises
    ------
    ModuleNotFoundError
        If Coloquinte is not installed.
    PlacementError
        If cells do not fit on the die.
    """
    needs("coloquinte")
    parts: list[str | bytes] = [
        str(_FORMAT), netlist.read_bytes(), library.sha, str(library.load_ff), str(clock),
        repr(technology), repr(utilisation), version("coloquinte"),
    ]  # fmt: skip

    def make(folder: Path) -> None:
        mapped = Netlist.read(netlist, top, library)
        _make(mapped, clock, technology, utilisation, say, folder)

    folder = cache.entry("synth/placed", parts, make)
    facts = json.loads((folder / "places.json").read_text())
    del facts["cells"]
    return Placed(folder / "netlist.v", folder / "wires.spef", folder / "places.json", facts)


def _make(
    netlist: Netlist,
    clock: str | None,
    technology: Technology,
    utilisation: float,
    say: Callable[[str], None],
    folder: Path,
) -> None:
    """Leave ``netlist.v``, ``wires.spef`` and ``places.json`` in a folder."""
    library, mapped = netlist.library, netlist.area
    netlist.remove_buffers(netlist.clock_nets(clock))
    die = Die.of(netlist, clock, technology, utilisation * netlist.area / mapped)
    say(f"place {len(netlist.cells):,} cells")
    die.place(_EFFORT)
    add_buffers(die, _LIMITS)
    kinds = {cell.kind for cell in netlist.cells.values()} | {library.driver.name}
    sizes = Sizes(library, kinds)
    for number in range(1 + _ISOLATE):
        timing = Timing(netlist, sizes, clock)
        die.annotate(timing)
        say(f"size with wires, {timing.times().period:.3f} ns")
        resize(timing, _AGAIN if number else _ROUNDS)
        timing.adopt()
        if number < _ISOLATE:
            isolate(die, timing)
    say("make legal")
    die.place(_EFFORT)
    timing = Timing(netlist, sizes, clock)
    die.annotate(timing)
    resize(timing, _LAST)
    timing.adopt()
    die.place(_EFFORT)
    branches = clock_tree(die)
    wire = sum(tree.length for _, _, tree in die.wires()) + sum(own.wire for own in branches)
    buffers = sum(own.buffers for own in branches)
    area = netlist.area + buffers * library.driver.area
    netlist.write(folder / "netlist.v")
    (folder / "wires.spef").write_text(die.spef())
    facts = {
        "area_um2": area, "die_um": die.size, "utilisation": area / (die.size[0] * die.size[1]),
        "wire_um": wire, "buffers": sum(name.startswith("buffer_") for name in netlist.cells),
        "clock_buffers": buffers, "clock_wire_um": sum(own.wire for own in branches),
        "wires_ff": {
            f"{pins[0].cell}/{pins[0].pin}": tree.length * technology.capacitance
            for _, pins, tree in die.wires() if pins[0].cell
        },
        "clock": [
            {"driver": [own.driver.cell, own.driver.pin], "buffers": own.buffers,
             "wire_ff": own.wire * technology.capacitance} for own in branches
        ],
        "cells": {
            name: [cell.kind, cell.scope, *(round(at, 3) for at in die.places[name])]
            for name, cell in netlist.cells.items()
        },
    }  # fmt: skip
    (folder / "places.json").write_text(json.dumps(facts))
