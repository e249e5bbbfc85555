"""Flat view of a hierarchical netlist: its nets over all module borders, its cells as arrays."""

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.liberty import Cell, Library
from carrysave.liberty_text import compile_function
from hw import yosys

__all__ = ["Flat", "Group", "Ids", "Logic", "Module", "SimulationError", "flatten", "logic"]

Ids = NDArray[np.int32]
ZERO, ONE, UNKNOWN = 0, 1, 2  # nets of every netlist
GATE_INPUTS = 6


class SimulationError(RuntimeError):
    """A netlist cannot be simulated, or computes something else than its Verilog."""


@dataclass(frozen=True)
class Group:
    """All cells of one type in one module: their names, and per pin the net of each."""

    cell: Cell
    names: list[str]
    pins: dict[str, Ids]


@dataclass(frozen=True)
class Module:
    """One module with its nets numbered by itself: 0, 1, unknown, then its own."""

    nets: int
    ports: dict[str, tuple[str, Ids]]  # direction, nets
    groups: list[Group]
    children: list[tuple[str, str, dict[str, Ids]]]  # instance, module, nets of its ports


@dataclass(frozen=True)
class Logic:
    """What a simulation of the netlist evaluates; net numbers throughout.

    Members
    -------
    gate_in, gate_out, gate_table : inputs (gates x 6), output and truth table, in an order in
        which a gate comes after all that drive it.
    data, q, qn, register_clock : flip-flops.
    gate_clock, enable, gated : clock gates, each after those that drive its clock.
    """

    nets: int
    gate_in: Ids
    gate_out: Ids
    gate_table: NDArray[np.uint64]
    data: Ids
    q: Ids
    qn: Ids
    register_clock: Ids
    gate_clock: Ids
    enable: Ids
    gated: Ids


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
    with tempfile.TemporaryDirectory() as folder:
        yosys.run(
            f"read_verilog {yosys.quote(netlist.resolve())}\nwrite_json netlist.json",
            cwd=Path(folder),
        )
        raw = json.loads((Path(folder) / "netlist.json").read_text())["modules"]
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
    own = {
        name: np.maximum(np.array(offsets[name])[:, None] - 3, 0) + np.arange(modules[name].nets)
        for name in modules
    }
    for nets in own.values():
        nets[:, :3] = [ZERO, ONE, UNKNOWN]
    parent = _join(modules, instances, own, total)
    names, numbers = np.unique(np.append(parent, [ZERO, ONE, UNKNOWN]), return_inverse=True)
    return Flat(
        top=top, modules=modules, instances=instances, nets=len(names),
        nets_of={name: numbers[nets].astype(np.int32) for name, nets in own.items()},
    )  # fmt: skip


def _join(
    modules: dict[str, Module],
    instances: dict[str, list[str]],
    own: dict[str, NDArray[np.int64]],
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
                inside = own[kind][row[f"{path}/{child}" if path else child]]
                for port, nets in connections.items():
                    pairs = zip(
                        own[name][index, nets].tolist(),
                        inside[modules[kind].ports[port][1]].tolist(), strict=True,
                    )  # fmt: skip
                    for outer, inner in pairs:
                        low, high = sorted((root(outer), root(inner)))
                        parent[high] = low
    found = np.array(parent)
    while (found != found[found]).any():
        found = found[found]
    return found


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
            own = [nets.get(pin.name, _NONE).tolist() for _, nets in cells]
            if pin.direction == "output":  # one that drives nothing has a net of its own
                for bits in own:
                    if not bits:
                        bits.append(total)
                        total += 1
            pins[pin.name] = np.array([bits[0] if bits else UNKNOWN for bits in own], np.int32)
        groups.append(Group(library.cells[kind], [name for name, _ in cells], pins))
    return Module(nets=total, ports=ports, groups=groups, children=children)


_NONE = np.zeros(0, np.int32)


def logic(flat: Flat) -> Logic:
    """Return what a simulation evaluates.

    Raises
    ------
    SimulationError
        If the netlist has a cell that is no gate of up to 6 inputs, rising-edge flip-flop without
        set and reset, or clock gate; or a loop of gates; or logic on its clock.
    """
    extra = flat.nets  # nets inside of flip-flops follow
    gates: list[tuple[NDArray[np.int32], Ids, int]] = []
    registers: list[NDArray[np.int32]] = []
    clocks: list[NDArray[np.int32]] = []
    for name, module in flat.modules.items():
        for group in module.groups:
            nets = {pin: flat.nets_of[name][:, ids].reshape(-1) for pin, ids in group.pins.items()}
            count = len(flat.instances[name]) * len(group.names)
            if group.cell.gate:
                if group.cell.gate["style"] != "latch_posedge" or "test" in group.cell.gate:
                    raise SimulationError(f"no simulation of clock gate {group.cell.name}")
                roles = (group.cell.gate[role] for role in ("clock", "enable", "out"))
                clocks.append(np.stack([nets[pin] for pin in roles]))
            elif group.cell.register:
                wanted = [group.cell.register.state, group.cell.register.inverse]
                for function in wanted:
                    nets[function] = extra + np.arange(count, dtype=np.int32)
                    extra += count
                for pin in group.cell.outputs:
                    if pin.function not in wanted:
                        raise SimulationError(f"no simulation of flip-flop {group.cell.name}")
                    nets[pin.function] = nets[pin.name]
                data, gate = _next_state(group.cell, nets, extra)
                if gate is not None:
                    gates.append(gate)
                    extra += count
                registers.append(np.stack([data, *(nets[function] for function in wanted),
                                           nets[group.cell.register.clocked_on]]))  # fmt: skip
            else:
                inputs = [nets[pin.name] for pin in group.cell.inputs]
                for pin in group.cell.outputs:
                    table = group.cell.table(pin)
                    if table is None:
                        raise SimulationError(f"no simulation of cell {group.cell.name}")
                    gates.append((_pad(inputs, count), nets[pin.name], _number(table)))
    gate_in, gate_out, gate_table = _order(gates, extra)
    data, q, qn, register_clock = np.concatenate([np.zeros((4, 0), np.int32), *registers], axis=1)
    gate_clock, enable, gated = _chain(
        np.concatenate([np.zeros((3, 0), np.int32), *clocks], axis=1)
    )
    if np.isin(np.concatenate([register_clock, gate_clock]), gate_out).any():
        raise SimulationError("no simulation of logic on the clock")
    return Logic(
        nets=extra, gate_in=gate_in, gate_out=gate_out, gate_table=gate_table, data=data, q=q,
        qn=qn, register_clock=register_clock, gate_clock=gate_clock, enable=enable, gated=gated,
    )  # fmt: skip


def _next_state(
    cell: Cell, nets: dict[str, Ids], fresh: int
) -> tuple[Ids, tuple[Ids, Ids, int] | None]:
    """Return the net that a flip-flop takes, and the gate that drives it if it needs one."""
    assert cell.register is not None
    function = cell.register.next_state
    if cell.register.clocked_on not in nets:
        raise SimulationError(f"no simulation of flip-flop {cell.name}: it is not on a rising edge")
    if function in nets:
        return nets[function], None
    names = [name for name in nets if re.search(rf"\b{re.escape(name)}\b", function)]
    evaluate = compile_function(function, frozenset(names))
    if evaluate is None or len(names) > GATE_INPUTS:
        raise SimulationError(f"no simulation of flip-flop {cell.name}")
    points = range(1 << len(names))
    table = tuple(evaluate({n: p >> i & 1 for i, n in enumerate(names)}) for p in points)
    count = len(nets[names[0]])
    data = fresh + np.arange(count, dtype=np.int32)
    return data, (_pad([nets[name] for name in names], count), data, _number(table))


def _pad(inputs: list[Ids], count: int) -> Ids:
    columns = inputs + [np.full(count, ZERO, np.int32)] * (GATE_INPUTS - len(inputs))
    return np.stack(columns, axis=1)


def _number(table: tuple[int, ...]) -> int:
    return sum(bit << place for place, bit in enumerate(table))


def _order(gates: list[tuple[Ids, Ids, int]], nets: int) -> tuple[Ids, Ids, NDArray[np.uint64]]:
    """Return inputs, outputs and tables of gates, every gate after its drivers."""
    inputs = np.concatenate([np.zeros((0, GATE_INPUTS), np.int32), *(gate[0] for gate in gates)])
    outputs = np.concatenate([np.zeros(0, np.int32), *(gate[1] for gate in gates)])
    tables = np.concatenate([
        np.zeros(0, np.uint64), *(np.full(len(out), table, np.uint64) for _, out, table in gates)
    ])  # fmt: skip
    level = np.zeros(nets, np.int32)
    for _ in range(10_000):
        deeper = level[inputs].max(axis=1, initial=0) + 1
        if (level[outputs] == deeper).all():
            order = np.argsort(deeper, kind="stable")
            return inputs[order], outputs[order], tables[order]
        level[outputs] = deeper
    raise SimulationError("no simulation of a loop of gates")


def _chain(clocks: Ids) -> Ids:
    """Order clock gates (rows clock, enable, out), each after what drives its clock."""
    driver = {out: index for index, out in enumerate(clocks[2].tolist())}

    def depth(net: int) -> int:
        return depth(int(clocks[0, driver[net]])) + 1 if net in driver else 0

    return clocks[:, np.argsort([depth(net) for net in clocks[0].tolist()], kind="stable")]
