"""Writes what a placement is: netlist, wires, places."""

import json
from collections.abc import Sequence
from pathlib import Path

from carrysave.asic.placement.clock_timing import clock_times
from carrysave.asic.placement.clock_tree import PREFIX, branches, clock_nets, without
from carrysave.asic.placement.congestion import congestion
from carrysave.asic.placement.die import Die, Wire
from carrysave.asic.placement.hold import PREFIX as HOLD
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.timing import Timing

__all__ = ["timing_of", "write"]


def timing_of(die: Die, sizes: Sizes, wires: Sequence[Wire]) -> Timing:
    """Return a timing with the clock as its tree brings it, if it has one yet."""
    clock = clock_times(die, sizes)
    if not any(name.startswith(PREFIX) for name in die.netlist.cells):
        return die.timing(sizes, wires)
    return die.timing(sizes, wires, clock.late, clock.slew)


def write(die: Die, sizes: Sizes, folder: Path) -> None:
    """Write ``netlist.v``, ``wires.spef`` and ``places.json`` into a folder."""
    netlist, farads, area = die.netlist, die.technology.capacitance, die.netlist.area
    wires, clock = list(die.wires()), clock_times(die, sizes)
    every = [*wires, *((net.net, list(net.pins), net.tree) for net in clock_nets(die))]
    kinds = {cell.kind for cell in netlist.cells.values()}
    timing = timing_of(die, sizes, wires)
    slacks = timing.cell_slacks(timing.times())
    netlist.write(folder / "netlist.v")
    without(netlist).write(folder / "logic.v")
    (folder / "wires.spef").write_text(die.spef(wires))
    (folder / "all.spef").write_text(die.spef(every))
    facts = {
        "area_um2": area,
        "die_um": die.size,
        "rows": round(die.size[1] / die.technology.row_height),
        "tap_cells": len(die.taps),
        "utilisation": area / (die.size[0] * die.size[1]),
        "wire_um": sum(tree.length for _, _, tree in every),
        "buffers": sum(name.startswith("buffer_") for name in netlist.cells),
        "clock_buffers": sum(name.startswith(PREFIX) for name in netlist.cells),
        "hold_buffers": sum(name.startswith(HOLD) for name in netlist.cells),
        "clock_skew_ns": clock.skew,
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
        "pads": [(pad.pin, pad.bit, *at) for pad, at in die.pads.items()],
        "clock": branches(die),
        "latency": clock.mean,
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
