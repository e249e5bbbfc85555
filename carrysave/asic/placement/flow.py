"""Places a mapped netlist, repairs it with its wires in view, and times it with them.

The order is that of OpenROAD's flow: place, buffer for load, size for slack, place anew with short
wires on the longest paths, size, take out buffers that are of no use there, legal again, a clock
tree, then timing with the capacitance and resistance of every net. Places are rough until all is
placed anew for the last time. There is no router: a net is the shortest tree of Manhattan wires
through the middles of its cells, and wires do not disturb each other.
"""

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.buffers import Limits, add_buffers, bypass, isolate
from carrysave.asic.placement.clock_tree import clock_tree
from carrysave.asic.placement.die import Die, congestion
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.pulls import pulls
from carrysave.asic.placement.resize import resize
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.timing import Timing
from carrysave.asic.power.clock_tree import Branch, Wires
from carrysave.asic.sta import Conditions
from carrysave.errors import needs

__all__ = ["Placed", "place"]

_PLAN = Floorplan()
_LIMITS = Limits(pins=20, wire=600.0, load=150.0)
_ROUNDS, _ANEW, _LAST = 30, (20, 40), (30, 20, 20, 20, 20)
"""Rounds of sizing: before, after each time that all is placed anew, and when places are legal; of
these the one of the least period is kept."""
_BYPASSES, _AFTER = 3, 10
"""Times that buffers are taken out of long paths, at most, and rounds of sizing after each."""
_FORMAT = 15  # of what is cached; raise it with any change of it


@dataclass(frozen=True)
class Placed:
    """A netlist on a die.

    Attributes
    ----------
    netlist : file.
    places : JSON file; its ``cells`` have of each the kind, the modules that it was in, x and y of
        its middle (um), and its slack at the least period (ns).
    wires : for timing and power.
    facts : ``area_um2`` of the cells, ``utilisation`` and ``wire_um`` are with the clock tree;
        ``die_um``; ``buffers``, ``clock_buffers``; ``congestion`` (um of wire by um2 of die, in the
        mean and in the fullest of squares of 20 um); ``cell_areas`` of the kinds used (um2).
    """

    netlist: Path
    places: Path
    wires: Wires
    facts: dict[str, Any]


def place(
    netlist: Path,
    *,
    top: str,
    library: Library,
    conditions: Conditions,
    technology: Technology,
    plan: Floorplan = _PLAN,
    say: Callable[[str], None] = lambda text: None,
) -> Placed:
    """Place and repair a netlist; cached by content.

    Parameters
    ----------
    plan : how large the die is.

    Raises
    ------
    ModuleNotFoundError
        If Coloquinte is not installed.
    ValueError
        If the netlist has a loop of gates, or no cells.
    ArgumentError
        If cells do not fit on the die.
    PlacementError
        If the placer fails.
    """
    needs("coloquinte")
    parts: list[str | bytes] = [
        str(_FORMAT),
        netlist.read_bytes(),
        library.key,
        str(library.load_ff),
        repr(conditions),
        repr(technology),
        repr(plan),
        version("coloquinte"),
    ]

    def make(folder: Path) -> None:
        mapped = Netlist.read(netlist, top, library)
        _write(*_repaired(mapped, conditions, technology, plan, say), folder)

    folder = cache.entry("synth/placed", parts, make)
    places = json.loads((folder / "places.json").read_text())
    wires = Wires(
        (folder / "wires.spef").read_text(),
        {(cell, pin): farads for cell, pin, farads in places["wires"]},
        [Branch(*branch) for branch in places["clock"]],
    )
    return Placed(folder / "netlist.v", folder / "places.json", wires, places["facts"])


def _repaired(
    netlist: Netlist,
    conditions: Conditions,
    technology: Technology,
    plan: Floorplan,
    say: Callable[[str], None],
) -> tuple[Die, Sizes]:
    """Place a netlist; buffers and sizes are those that its wires ask for."""
    library, mapped = netlist.library, netlist.area
    if not mapped:
        raise ValueError(f"{netlist.top} must have cells to place, not only wires")
    netlist.remove_buffers(netlist.clock_nets(conditions.clock))
    die = Die.of(netlist, conditions, technology, plan, mapped)
    say(f"place {len(netlist.cells):,} cells")
    die.place(rough=True)
    add_buffers(die, _LIMITS)
    kinds = {cell.kind for cell in netlist.cells.values()} | {library.driver.name}
    sizes = Sizes(library, kinds)
    least, best = math.inf, (die.places, [""])

    def sized(rounds: int, keep: bool = False) -> Timing:
        nonlocal least, best
        timing = die.timing(sizes)
        period = timing.times().period
        if keep and period < least:
            least, best = period, (die.places, [cell.kind for cell in netlist.cells.values()])
        say(f"size with wires, {period:.3f} ns")
        resize(timing, rounds)
        timing.adopt()
        return timing

    timing = sized(_ROUNDS)
    pulled = pulls(die, timing)
    isolate(die, timing)
    for turn, rounds in enumerate(_ANEW, 1):
        say("place for time")
        die.place(pulled, anew=True, rough=turn < len(_ANEW))
        timing = sized(rounds)
        pulled = sorted((Counter(pulled) | Counter(pulls(die, timing))).elements())
    for _ in range(_BYPASSES):
        gone = bypass(die, timing)
        if not gone:
            break
        say(f"take out {gone:,} buffers")
        timing = sized(_AFTER)
    pulled = [pull for pull in pulled if all(end in netlist.cells for end in pull)]
    say("make legal")
    die.place(pulled)
    for rounds in _LAST:
        die.place(pulls(die, sized(rounds, keep=True)))
    sized(0, keep=True)
    die.places = best[0]
    for cell, kind in zip(netlist.cells.values(), best[1], strict=True):
        cell.kind = kind
    return die, sizes


def _write(die: Die, sizes: Sizes, folder: Path) -> None:
    """Write ``netlist.v``, ``wires.spef`` and ``places.json`` into a folder."""
    netlist, farads = die.netlist, die.technology.capacitance
    trees, wires = clock_tree(die), list(die.wires())
    buffers = sum(tree.buffers for tree in trees)
    area = netlist.area + buffers * netlist.library.driver.area
    length = sum(tree.length for _, _, tree in wires) + sum(tree.wire for tree in trees)
    kinds = {cell.kind for cell in netlist.cells.values()}
    timing = die.timing(sizes, wires)
    slacks = timing.cell_slacks(timing.times())
    netlist.write(folder / "netlist.v")
    (folder / "wires.spef").write_text(die.spef(wires))
    facts = {
        "area_um2": area,
        "die_um": die.size,
        "rows": round(die.size[1] / die.technology.row_height),
        "tap_cells": len(die.taps),
        "utilisation": area / (die.size[0] * die.size[1]),
        "wire_um": length,
        "buffers": sum(name.startswith("buffer_") for name in netlist.cells),
        "clock_buffers": buffers,
        "congestion": congestion(die, wires),
        "cell_areas": {kind: netlist.library.cells[kind].area for kind in sorted(kinds)},
    }
    described = {
        "facts": facts,
        "wires": [
            (pins[0].cell, pins[0].pin, tree.length * farads)
            for _, pins, tree in wires
            if pins[0].cell
        ],
        "taps": die.taps,
        "clock": [
            (tree.driver.cell, tree.driver.pin, tree.buffers, tree.wire * farads) for tree in trees
        ],
        "cells": {
            name: [
                cell.kind,
                cell.scope,
                *(round(at, 3) for at in die.places[name]),
                round(slacks.get(name, 0.0), 4),
            ]
            for name, cell in netlist.cells.items()
        },
    }
    (folder / "places.json").write_text(json.dumps(described))
