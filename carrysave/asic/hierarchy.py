"""Hierarchical netlists: names, fan-out across module borders, areas, timing of large arrays."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from carrysave.asic import port_model, sta
from carrysave.asic.elaborate import order
from carrysave.asic.liberty.cells import Library

__all__ = ["analyse", "buffer", "rows", "split_clock_gates"]

Modules = dict[str, dict[str, Any]]  # as in Yosys's JSON
_Ports = dict[str, tuple[str, ...]]  # of each module

FANOUT = 8  # pins of mapped modules per net before a buffer tree takes over

# OpenSTA 2.0 expands the hierarchy: 0.5 million cells take 18 s and 0.4 GB, and it crashed on 4
# million. Beyond this number every module is timed once, its parents see a model of its ports.
TIMED_WHOLE = 250_000


def _instances(modules: Modules, name: str) -> list[dict[str, Any]]:
    cells = modules[name].get("cells", {}).values()
    return [cell for cell in cells if cell["type"] in modules]


def clocks(modules: Modules, top: str, clock: str | None) -> dict[str, str | None]:
    """Return the port of every module that carries the clock; None where there is none."""
    clocks_of: dict[str, str | None] = {top: clock}
    types = {name: {c["type"]: 1 for c in _instances(modules, name)} for name in modules}
    for name in order(types, top):
        clock_of_module = clocks_of.get(name)
        net = modules[name]["ports"][clock_of_module]["bits"] if clock_of_module else None
        for cell in _instances(modules, name):
            port = next((p for p, bits in cell["connections"].items() if bits == net), None)
            clocks_of[cell["type"]] = clocks_of.get(cell["type"]) or port
    return clocks_of


def _followers(modules: Modules, top: str, ports: Collection[str], library: Library) -> _Ports:
    """Return the inputs of every module that carry inputs of the top, or their inverse."""
    followers: dict[str, set[str]] = {name: set() for name in modules}
    followers[top] = set(ports)
    types = {name: {c["type"]: 1 for c in _instances(modules, name)} for name in modules}
    for name in order(types, top):
        module = modules[name]
        nets = {module["ports"][port]["bits"][0] for port in followers[name]}
        repeaters = []
        for cell in module.get("cells", {}).values():
            kind = library.cells.get(cell["type"])
            if kind and len(kind.inputs) == len(kind.outputs) == 1 and not kind.sequential:
                pins = kind.inputs[0].name, kind.outputs[0].name
                repeaters.append([cell["connections"][pin][0] for pin in pins])
        while more := {out for into, out in repeaters if into in nets} - nets:
            nets |= more
        for cell in _instances(modules, name):
            for port, bits in cell["connections"].items():
                direction = modules[cell["type"]]["ports"][port]["direction"]
                if direction == "input" and len(bits) == 1 and bits[0] in nets:
                    followers[cell["type"]].add(port)
    return {name: tuple(sorted(names)) for name, names in followers.items()}


def _fresh(module: dict[str, Any]) -> int:
    """Return the highest number of a net in a module."""
    users = [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    users += [port["bits"] for port in module["ports"].values()]
    return max((bit for bits in users for bit in bits if isinstance(bit, int)), default=1)


def split_clock_gates(modules: Modules, library: Library) -> None:
    """Copy clock gates until none drives more than its maximum load, in place.

    One gate for thousands of flip-flops would have a clock edge that the library's tables do not
    reach, and period and power would be extrapolated from them.
    """
    gate = library.clock_gate
    if gate is None or gate.gate is None:
        return
    out = next(pin for pin in gate.pins if pin.name == gate.gate["out"])
    for module in modules.values():
        gates = [cell for cell in module.get("cells", {}).values() if cell["type"] == gate.name]
        fresh = _fresh(module) if gates else 0
        loads: dict[int, list[tuple[list[Any], float]]] = {
            cell["connections"][out.name][0]: [] for cell in gates
        }
        for cell in module.get("cells", {}).values() if gates else ():
            for port, bits in cell["connections"].items():
                driven = cell["type"] != gate.name or port != out.name
                if driven and len(bits) == 1 and bits[0] in loads:
                    pins = {pin.name: pin for pin in library.cells[cell["type"]].pins}
                    loads[bits[0]].append((bits, pins[port].capacitance))
        for cell in gates:
            left = limit = out.max_capacitance or math.inf
            net = cell["connections"][out.name][0]
            for bits, load in loads[net]:
                if left < load < limit:
                    fresh += 1
                    net, left = fresh, limit
                    connections = {port: list(nets) for port, nets in cell["connections"].items()}
                    connections[out.name] = [net]
                    copy = {**cell, "connections": connections}
                    module["cells"][f"clock_gate_{fresh}"] = copy
                bits[0] = net
                left -= load


def buffer(modules: Modules, top: str, conditions: sta.Conditions, library: Library) -> None:
    """Insert buffer trees where a net drives many mapped modules or clock gates, in place.

    Also where it drives asynchronous pins, unless these are ideal. ABC sees what it does not map
    itself as one load per net, however many instances there are. A pin of a module counts as the
    pins behind it.
    """
    types = {name: {c["type"]: 1 for c in _instances(modules, name)} for name in modules}
    behind: dict[str, dict[str, list[int]]] = {}
    clock_ports = clocks(modules, top, conditions.clock)
    timed = (
        set()
        if conditions.ideal_resets
        else {(name, pin) for name, cell in library.cells.items() for pin in cell.asynchronous}
    )
    for name in reversed(order(types, top)):
        module = modules[name]
        trees, pins = _sinks(module, modules, clock_ports, behind, library, timed)
        fresh = _fresh(module)
        for net, sinks in trees.items():
            while len(sinks) > 1 and sum(sink.pins for sink in sinks) > FANOUT:
                above: list[_Sink] = []
                left = 0
                for sink in sinks:
                    if sink.pins > left:
                        fresh += 1
                        left = FANOUT
                        above.append(_Sink([net], 0, 1))
                        module["cells"][f"fanout_{fresh}"] = _driver(library, above[-1].bits, fresh)
                    sink.bits[sink.index] = fresh
                    left -= sink.pins
                sinks = above
            pins[net] = pins.get(net, 0) + sum(sink.pins for sink in sinks)
        behind[name] = {
            port: [max(1, pins.get(bit, 1)) for bit in facts["bits"]]
            for port, facts in module["ports"].items()
        }


@dataclass(frozen=True)
class _Sink:
    """One bit of a connection, and the pins behind it."""

    bits: list[Any]
    index: int
    pins: int


def _sinks(
    module: dict[str, Any],
    modules: Modules,
    clock_ports: Mapping[str, str | None],
    behind: dict[str, dict[str, list[int]]],
    library: Library,
    others: Collection[tuple[str, str]],
) -> tuple[dict[int, list[_Sink]], dict[int, int]]:
    """Return what each net drives: inputs of modules, of clock gates, others; all other pins."""
    trees: dict[int, list[_Sink]] = {}
    pins: dict[int, int] = {}
    gate = library.clock_gate
    for cell in module.get("cells", {}).values():
        kind = cell["type"]
        for port, bits in cell["connections"].items():
            if kind in modules:
                is_input = modules[kind]["ports"][port]["direction"] == "input"
                buffered = port != clock_ports[kind]
            else:
                is_input = port in {pin.name for pin in library.cells[kind].inputs}
                enables = gate and gate.gate and kind == gate.name and port == gate.gate["enable"]
                buffered = bool(enables) or (kind, port) in others
            for index, bit in enumerate(bits):
                if not is_input or not isinstance(bit, int):
                    continue
                if buffered:
                    weight = behind[kind][port][index] if kind in behind else 1
                    trees.setdefault(bit, []).append(_Sink(bits, index, weight))
                else:
                    pins[bit] = pins.get(bit, 0) + 1
    return trees, pins


def _driver(library: Library, source: list[Any], net: int) -> dict[str, Any]:
    """Make the cell that drives a new net."""
    cell = library.driver
    pins = cell.inputs[0].name, cell.outputs[0].name
    return {
        "hide_name": 0,
        "type": cell.name,
        "parameters": {},
        "attributes": {},
        "port_directions": {pins[0]: "input", pins[1]: "output"},
        "connections": {pins[0]: source, pins[1]: [net]},
    }


def rows(modules: dict[str, dict[str, int]], top: str, library: Library) -> list[dict[str, Any]]:
    """Return per module its instances and, without its children, its cells and areas.

    Parameters
    ----------
    modules : cells and children of every module, by type.
    """
    uses = dict.fromkeys(modules, 0)
    uses[top] = 1
    table = []
    for name in order(modules, top):
        cells = {kind: count for kind, count in modules[name].items() if kind not in modules}
        sequential, combinational = library.areas(cells)
        table.append({
            "module": name,
            "instances": uses[name],
            "cells": sum(cells.values()),
            "area_um2": sequential + combinational,
            "area_sequential_um2": sequential,
        })
        for kind, count in modules[name].items():
            if kind in modules:
                uses[kind] += uses[name] * count
    return table


def _loads(
    module: dict[str, Any], library: Library, inside: Mapping[str, Mapping[str, list[float]]]
) -> dict[str, list[float]]:
    """Return the capacitance behind every bit of the inputs of a module, in fF.

    Parameters
    ----------
    inside : that of the inputs of modules inside.
    """
    nets: dict[Any, float] = {}
    for cell in module["cells"].values():
        kind = cell["type"]
        pins = inside.get(kind) or {
            pin.name: [pin.capacitance] for pin in library.cells[kind].inputs
        }
        for port, loads in pins.items():
            for bit, load in zip(cell["connections"].get(port, ()), loads, strict=True):
                nets[bit] = nets.get(bit, 0.0) + load
    return {
        name: [nets.get(bit, 0.0) for bit in port["bits"]]
        for name, port in module["ports"].items()
        if port["direction"] == "input"
    }


def analyse(
    netlist: str,
    json_modules: Modules,
    modules: dict[str, dict[str, int]],
    top: str,
    library: Library,
    conditions: sta.Conditions,
) -> dict[str, Any]:
    """Time a netlist, whole if it is small enough, else module by module.

    Module by module, every module is timed alone and with models of the ports of its children;
    the period is that of the slowest path inside any module or between them.
    """
    table = rows(modules, top, library)
    if len(table) == 1 or sum(row["instances"] * row["cells"] for row in table) <= TIMED_WHOLE:
        return sta.analyse(netlist, top=top, library=library, conditions=conditions)
    bodies = dict(re.findall(r"(?ms)^(?=module (\w+))(.*?^endmodule)", netlist))
    clock_of = clocks(json_modules, top, conditions.clock)
    resets_of = _followers(json_modules, top, conditions.resets, library)
    models: dict[str, str] = {}
    loads: dict[str, dict[str, list[float]]] = {}
    slowest: dict[str, Any] = {"period_ns": 0.0}
    for row in reversed(table):
        name = row["module"]
        body = bodies[name] + "\n"
        inside = [models[child] for child in modules[name] if child in models]
        around = replace(conditions, clock=clock_of[name], resets=resets_of[name])
        timing = sta.analyse(body, top=name, library=library, models=inside, conditions=around)
        limit = timing["period_ns"]
        if name != top:
            ports = [
                (port["direction"], label, len(port["bits"]))
                for label, port in json_modules[name]["ports"].items()
            ]
            loads[name] = _loads(json_modules[name], library, loads)
            limit, models[name] = port_model.model(
                body,
                top=name,
                conditions=around,
                ports=ports,
                loads=loads[name],
                library=library,
                models=inside,
            )
        if limit > slowest["period_ns"]:
            slowest = {**timing, "period_ns": limit}
    note = f"more than {TIMED_WHOLE} cells: timed module by module, ports by their worst bit"
    return {**slowest, "notes": [*slowest["notes"], note]}
