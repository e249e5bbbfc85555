"""Resizes the cells of a mapped netlist: nothing else changes.

ABC sizes for its own model of time: inputs come at once, flip-flops have one size, what is not in
the way of a delay target never shrinks. Here all cells of a netlist have other sizes by the arcs of
the library, with its wire load. A module that is there several times stays one.
"""

import json
from pathlib import Path
from typing import Any

from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.netlist import Instance, Netlist
from carrysave.asic.placement.resize import Goal, Limit, Product, resize
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.timing import Loop, Timing
from carrysave.asic.sta import Conditions
from hw.emit import tools, yosys

__all__ = ["FORMAT", "MOST_CELLS", "OBJECTIVES", "goal", "goal_text", "resize_netlist"]

FORMAT = 3
MOST_CELLS = 150_000
"""Cells beyond which a netlist is left as it is: one of 54,000 takes a minute."""

_ROUNDS = 30
"""More gain a tenth of a percent."""
_POWERS = {"density": 1.0, "period": 0.05}
OBJECTIVES = tuple(_POWERS)
"""What sizes can be for, but for a period."""

Modules = dict[str, dict[str, Any]]  # as in Yosys's JSON


def goal_text(objective: str, period_ns: float | None) -> str:
    """Return what a recipe says of its sizes, for the objective of a search; empty if nothing."""
    if period_ns is not None:
        return f"{period_ns:g}"
    return objective if objective in _POWERS else ""


def goal(text: str) -> Goal:
    """Read it: the least period times area, the least period, or the least area for a period."""
    return Product(_POWERS[text]) if text in _POWERS else Limit(float(text))


def resize_netlist(
    netlist: Path, top: str, library: Library, conditions: Conditions, sizes: str
) -> Modules:
    """Return the modules of a netlist with other sizes of cells, as in Yosys's JSON.

    Parameters
    ----------
    sizes : what for, see :func:`goal`.
    """
    with tools.workplace() as work:
        (work / "netlist.v").symlink_to(netlist.resolve())
        yosys.run(
            "\n".join([
                "read_verilog netlist.v",
                f"hierarchy -top {yosys.word(top)}",
                "write_json netlist.json",
            ]),
            cwd=work,
        )
        modules: Modules = json.loads((work / "netlist.json").read_text())["modules"]
    flat, origins = _flatten(modules, top, library)
    if len(flat.cells) > MOST_CELLS:
        return modules
    places = {origin: number for number, origin in enumerate(dict.fromkeys(origins))}
    kinds = {cell.kind for cell in flat.cells.values()} | {library.driver.name}
    try:
        timing = Timing(
            flat, Sizes(library, kinds), conditions, [places[origin] for origin in origins]
        )
    except Loop:
        return modules
    timing.guess_wires()
    resize(timing, _ROUNDS, goal=goal(sizes))
    for (module, name), kind in dict(zip(origins, timing.chosen(), strict=True)).items():
        cell = modules[module]["cells"][name]
        cell["type"] = kind.name
        connections = cell["connections"].items()
        cell["connections"] = {kind.moved.get(pin, pin): bits for pin, bits in connections}
    return modules


def _flatten(modules: Modules, top: str, library: Library) -> tuple[Netlist, list[tuple[str, str]]]:
    """Return a flat netlist, and of each of its cells the module and its name there."""
    fresh = 1
    cells: dict[str, Instance] = {}
    origins: list[tuple[str, str]] = []

    def place(name: str, nets: dict[int | str, int | str], scope: str) -> None:
        nonlocal fresh

        def net(bit: int | str) -> int | str:
            nonlocal fresh
            if isinstance(bit, str):
                return bit
            if bit not in nets:
                fresh += 1
                nets[bit] = fresh
            return nets[bit]

        for name_of_cell, cell in modules[name]["cells"].items():
            bits = {
                port: [net(bit) for bit in own_bits]
                for port, own_bits in cell["connections"].items()
            }
            if cell["type"] in library.cells:
                origins.append((name, name_of_cell))
                connected = {port: drivers[0] for port, drivers in bits.items() if drivers}
                cells[f"u_{len(cells)}"] = Instance(cell["type"], connected, scope)
                continue
            inside: dict[int | str, int | str] = {}
            for port, outer in bits.items():
                inner = modules[cell["type"]]["ports"][port]["bits"]
                inside.update(zip(inner, outer, strict=True))
            place(cell["type"], inside, f"{scope}.{name_of_cell}" if scope else name_of_cell)

    whole: dict[int | str, int | str] = {}
    ports = {}
    for name, port in modules[top]["ports"].items():
        for bit in port["bits"]:
            if isinstance(bit, int) and bit not in whole:
                fresh += 1
                whole[bit] = fresh
        ports[name] = port["direction"], [whole.get(bit, bit) for bit in port["bits"]]
    place(top, whole, "")
    return Netlist(top, library, ports, cells, fresh), origins
