"""A flat netlist of library cells that can be changed: cells resized, buffers removed and added."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from carrysave.asic import sta
from carrysave.asic.liberty.cells import Cell, Library
from hw.emit import tools, yosys

__all__ = ["Instance", "Netlist", "Sink"]

Bit = int | str
"""A net, or a constant as Yosys writes it."""


@dataclass
class Instance:
    """A cell: its kind, the net of each pin, the modules that it was in (``a.b``)."""

    kind: str
    nets: dict[str, Bit]
    scope: str = ""


class Sink(NamedTuple):
    """A pin that a net drives: of a cell, or of the design itself, with the bit of the port."""

    cell: str
    pin: str
    bit: int = 0


@dataclass
class Netlist:
    """A flat netlist.

    Members
    -------
    top : name of the design.
    ports : direction and nets of each port.
    cells : by name; names are plain words for every tool, here and in what is written.
    """

    top: str
    library: Library
    ports: dict[str, tuple[str, list[Bit]]]
    cells: dict[str, Instance]
    _fresh: int = field(default=1)

    @classmethod
    def read(cls, path: Path, top: str, library: Library, named: bool = False) -> "Netlist":
        """Read a mapped netlist, and flatten it; one that was written here is named already.

        Raises
        ------
        ValueError
            If it has a cell that is not of the library.
        """
        with tools.workplace() as work:
            (work / "netlist.v").symlink_to(path.resolve())
            yosys.run(
                "\n".join([
                    "read_verilog netlist.v",
                    f"hierarchy -top {yosys.word(top)}",
                    "flatten -noscopeinfo",
                    "write_json netlist.json",
                ]),
                cwd=work,
            )
            module = json.loads((work / "netlist.json").read_text())["modules"][top]
        cells = {}
        for index, (full, cell) in enumerate(module["cells"].items()):
            if cell["type"] not in library.cells:
                raise ValueError(
                    f"netlist must be of cells of {library.name}, not {cell['type']!r}"
                )
            nets = {pin: bits[0] for pin, bits in cell["connections"].items() if bits}
            scope = full.rpartition(".")[0]
            name = (
                full if named else re.sub(r"\W", "_", f"{scope}_{index}" if scope else f"u_{index}")
            )
            cells[name] = Instance(cell["type"], nets, scope)
        ports = {name: (p["direction"], p["bits"]) for name, p in module["ports"].items()}
        netlist = cls(top, library, ports, cells)
        bits = [bit for cell in cells.values() for bit in cell.nets.values()]
        bits += [bit for _, port_bits in ports.values() for bit in port_bits]
        netlist._fresh = max((bit for bit in bits if isinstance(bit, int)), default=1)
        return netlist

    def cell(self, name: str) -> Cell:
        """Return what a cell is."""
        return self.library.cells[self.cells[name].kind]

    def fresh(self) -> int:
        """Return a net of its own."""
        self._fresh += 1
        return self._fresh

    @property
    def area(self) -> float:
        """Area of all cells, um2."""
        return sum(self.library.cells[cell.kind].area for cell in self.cells.values())

    def drive(self, sink: Sink, net: int) -> None:
        """Connect a pin to a net."""
        if sink.cell:
            self.cells[sink.cell].nets[sink.pin] = net
        else:
            self.ports[sink.pin][1][sink.bit] = net

    def drivers(self) -> dict[int, Sink]:
        """Return the pin that drives each net; of inputs of the design, the port's."""
        drivers: dict[int, Sink] = {}
        for name, (direction, bits) in self.ports.items():
            if direction != "output":
                for index, bit in enumerate(bits):
                    if isinstance(bit, int):
                        drivers[bit] = Sink("", name, index)
        for name, cell in self.cells.items():
            for pin in self.library.cells[cell.kind].outputs:
                net = cell.nets.get(pin.name)
                if isinstance(net, int):
                    drivers[net] = Sink(name, pin.name)
        return drivers

    def sinks(self) -> dict[int, list[Sink]]:
        """Return the pins that each net drives."""
        sinks: dict[int, list[Sink]] = {}
        for name, cell in self.cells.items():
            for pin in self.library.cells[cell.kind].inputs:
                bit = cell.nets.get(pin.name)
                if isinstance(bit, int):
                    sinks.setdefault(bit, []).append(Sink(name, pin.name))
        for name, (direction, bits) in self.ports.items():
            if direction == "output":
                for index, bit in enumerate(bits):
                    if isinstance(bit, int):
                        sinks.setdefault(bit, []).append(Sink("", name, index))
        return sinks

    def clock_nets(self, clock: str | None) -> set[int]:
        """Return the nets of the clock: what it reaches through buffers and clock gates."""
        if clock is None:
            return set()
        sinks = self.sinks()
        waiting = [bit for bit in self.ports[clock][1] if isinstance(bit, int)]
        nets: set[int] = set()
        while waiting:
            net = waiting.pop()
            nets.add(net)
            for sink in sinks.get(net, []):
                cell = self.cell(sink.cell) if sink.cell else None
                if cell is None or (cell.sequential and not cell.gate) or len(cell.outputs) != 1:
                    continue
                if cell.gate is not None and sink.pin != cell.gate["clock"]:
                    continue
                out = self.cells[sink.cell].nets.get(cell.outputs[0].name)
                if isinstance(out, int) and out not in nets:
                    waiting.append(out)
        return nets

    def remove_buffers(self, but: set[int]) -> int:
        """Join the nets on both sides of buffers, except on some nets and ports; count them.

        A port keeps the buffer that drives it: its name is that of its net.
        """
        ports = {bit for _, bits in self.ports.values() for bit in bits}
        buffers = {cell.name for cell in self.library.with_table((0, 1))}
        joined: dict[Bit, Bit] = {}
        for name, cell in list(self.cells.items()):
            if cell.kind not in buffers:
                continue
            known = self.library.cells[cell.kind]
            before, after = (cell.nets[pins[0].name] for pins in (known.inputs, known.outputs))
            if not isinstance(before, int) or before in but or after in but or after in ports:
                continue
            joined[after] = before
            del self.cells[name]

        def root(bit: Bit) -> Bit:
            while bit in joined:
                bit = joined[bit]
            return bit

        for cell in self.cells.values():
            cell.nets = {pin: root(bit) for pin, bit in cell.nets.items()}
        return len(joined)

    def net_names(self) -> dict[int, str]:
        """Return the names of nets in what is written: of ports, else ``n_`` and the number."""
        names: dict[int, str] = {}
        for name, (_, bits) in self.ports.items():
            for index, bit in enumerate(bits):
                if isinstance(bit, int):
                    names.setdefault(bit, f"{name}[{index}]" if len(bits) > 1 else name)
        for cell in self.cells.values():
            for net in cell.nets.values():
                if isinstance(net, int):
                    names.setdefault(net, f"n_{net}")
        return names

    def write(self, path: Path) -> None:
        """Write it as Verilog."""
        cells = {}
        for name, cell in self.cells.items():
            known = self.library.cells[cell.kind]
            cells[name] = {
                "hide_name": 0,
                "type": cell.kind,
                "parameters": {},
                "attributes": {},
                "port_directions": {
                    pin.name: pin.direction for pin in known.pins if pin.name in cell.nets
                },
                "connections": {pin: [bit] for pin, bit in cell.nets.items()},
            }
        ports = {name: {"direction": way, "bits": bits} for name, (way, bits) in self.ports.items()}
        names = {
            name: {"hide_name": 0, "bits": p["bits"], "attributes": {}} for name, p in ports.items()
        }
        known_bits = {bit for port in ports.values() for bit in port["bits"]}
        for cell in self.cells.values():
            for bit in cell.nets.values():
                if isinstance(bit, int) and bit not in known_bits:
                    names[f"n_{bit}"] = {"hide_name": 0, "bits": [bit], "attributes": {}}
        module = {"attributes": {}, "ports": ports, "cells": cells, "netnames": names}
        with tools.workplace() as work:
            (work / "netlist.json").write_text(json.dumps({"modules": {self.top: module}}))
            yosys.run(
                "\n".join([
                    "read_json netlist.json",
                    f"hierarchy -top {yosys.word(self.top)}",
                    "write_verilog -simple-lhs -noattr -noexpr -nohex -nodec netlist.v",
                ]),
                cwd=work,
            )
            path.write_text(sta.sanitise((work / "netlist.v").read_text()))
