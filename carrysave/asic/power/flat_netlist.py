"""Flat view of a hierarchical netlist: its nets over all module borders, its cells as arrays."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Cell, Library
from hw.emit import tools, yosys
from hw.emit.naming import naming

__all__ = ["Flat", "CellGroup", "Ids", "Module", "SimulationError", "flatten"]

Ids = NDArray[np.int32]
ZERO, ONE, UNKNOWN = 0, 1, 2  # nets of every netlist


class SimulationError(RuntimeError):
    """A netlist cannot be simulated, or computes something else than its Verilog."""


@dataclass(frozen=True)
class CellGroup:
    """All cells of one type in one module: their names, and per pin the net of each."""

    cell: Cell
    names: list[str]
    pins: dict[str, Ids]


@dataclass(frozen=True)
class Module:
    """One module with its nets numbered by itself: 0, 1, unknown, then its own."""

    nets: int
    ports: dict[str, tuple[str, Ids]]  # direction, nets
    groups: list[CellGroup]
    children: list[tuple[str, str, dict[str, Ids]]]  # instance, module, nets of its ports


@dataclass(frozen=True)
class Flat:
    """A netlist and where each instance of each module has its nets.

    Members
    -------
    modules : by name.
    instances : per module, the paths of its instances (``a/b``; of the top the empty text).
    nets_of : per module, instances x nets of the module: net of the whole netlist.
    nets : nets of the whole netlist, 0, 1 and unknown included.
    """

    top: str
    modules: dict[str, Module]
    instances: dict[str, list[str]]
    nets_of: dict[str, Ids]
    nets: int

    def port(self, name: str) -> Ids:
        """Return the nets of a port of the top module."""
        return self.nets_of[self.top][0, self.modules[self.top].ports[name][1]]


def flatten(netlist: Path, top: str, library: Library) -> Flat:
    """Read a netlist of library cells.

    Raises
    ------
    ValueError
        If it has a cell that neither the library nor the netlist defines.
    """
    with tools.workplace() as folder, naming({"netlist.v": netlist}):
        (folder / "netlist.v").symlink_to(netlist.resolve())
        yosys.run("read_verilog netlist.v\nwrite_json netlist.json", cwd=folder)
        raw = json.loads((folder / "netlist.json").read_text())["modules"]
    modules: dict[str, Module] = {}
    instances: dict[str, list[str]] = {}
    offsets: dict[str, list[int]] = {}
    total = 3
    waiting = [(top, "")]
    while waiting:
        name, path = waiting.pop()
        if name not in modules:
            modules[name] = _module(raw[name], raw, library)
        instances.setdefault(name, []).append(path)
        offsets.setdefault(name, []).append(total)
        total += modules[name].nets - 3
        waiting += [
            (kind, f"{path}/{child}" if path else child)
            for child, kind, _ in modules[name].children
        ]
    nets_of = {
        name: np.maximum(np.array(offsets[name])[:, None] - 3, 0) + np.arange(modules[name].nets)
        for name in modules
    }
    for nets in nets_of.values():
        nets[:, :3] = [ZERO, ONE, UNKNOWN]
    parent = _join(modules, instances, nets_of, total)
    names, numbers = np.unique(np.append(parent, [ZERO, ONE, UNKNOWN]), return_inverse=True)
    return Flat(
        top=top,
        modules=modules,
        instances=instances,
        nets=len(names),
        nets_of={name: numbers[nets].astype(np.int32) for name, nets in nets_of.items()},
    )


def _join(
    modules: dict[str, Module],
    instances: dict[str, list[str]],
    nets_of: dict[str, NDArray[np.int64]],
    total: int,
) -> NDArray[np.int64]:
    """Return for each net the lowest-numbered one that ports connect it to."""
    parent = list(range(total))

    def root(net: int) -> int:
        while parent[net] != net:
            parent[net] = parent[parent[net]]
            net = parent[net]
        return net

    row = {path: index for paths in instances.values() for index, path in enumerate(paths)}
    for name, module in modules.items():
        for index, path in enumerate(instances[name]):
            for child, kind, connections in module.children:
                inside = nets_of[kind][row[f"{path}/{child}" if path else child]]
                for port, nets in connections.items():
                    pairs = zip(
                        nets_of[name][index, nets].tolist(),
                        inside[modules[kind].ports[port][1]].tolist(),
                        strict=True,
                    )
                    for outer, inner in pairs:
                        low, high = sorted((root(outer), root(inner)))
                        parent[high] = low
    roots = np.array(parent)
    while (roots != roots[roots]).any():
        roots = roots[roots]
    return roots


_CONSTANTS = {"0": ZERO, "1": ONE}


def _ids(bits: list[Any]) -> Ids:
    return np.array(
        [bit + 1 if isinstance(bit, int) else _CONSTANTS.get(bit, UNKNOWN) for bit in bits],
        dtype=np.int32,
    )


def _module(raw: dict[str, Any], modules: dict[str, Any], library: Library) -> Module:
    ports = {name: (port["direction"], _ids(port["bits"])) for name, port in raw["ports"].items()}
    members: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    children = []
    highest = max((nets.max() for _, nets in ports.values() if nets.size), default=UNKNOWN)
    for name, cell in raw["cells"].items():
        nets = {port: _ids(bits) for port, bits in cell["connections"].items()}
        highest = max([highest, *(ids.max() for ids in nets.values() if ids.size)])
        if cell["type"] in modules:
            children.append((name, cell["type"], nets))
        elif cell["type"] in library.cells:
            members.setdefault(cell["type"], []).append((name, nets))
        else:
            raise ValueError(f"netlist must be of cells of {library.name}, not {cell['type']!r}")
    groups = []
    total = int(highest) + 1
    for kind, cells in members.items():
        pins = {}
        for pin in library.cells[kind].pins:
            if pin.direction not in {"input", "output"}:
                continue
            cell_nets = [nets.get(pin.name, _NONE).tolist() for _, nets in cells]
            if pin.direction == "output":  # one that drives nothing has a net of its own
                for bits in cell_nets:
                    if not bits:
                        bits.append(total)
                        total += 1
            pins[pin.name] = np.array(
                [bits[0] if bits else UNKNOWN for bits in cell_nets], np.int32
            )
        groups.append(CellGroup(library.cells[kind], [name for name, _ in cells], pins))
    return Module(nets=total, ports=ports, groups=groups, children=children)


_NONE = np.zeros(0, np.int32)
