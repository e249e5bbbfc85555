"""Critical paths in the words of a design: its instances and signals, not the mapper's cells."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from carrysave.fpga.wrapper import INSTANCE

__all__ = ["Words", "critical_path"]

_CARRY = re.compile(r"F?C(IN|OUT|I|O)")
"""Ports between the cells of a carry chain."""
_PACKED = re.compile(r"(_passthrough_lut)?\$.*|/.*|_(DFF)?LC$|_DSP$|_RAM$")
"""What nextpnr adds to the name of a cell that it packs, takes apart or makes."""


class Words:
    """What a design calls the cells of its mapped netlist."""

    def __init__(self, module: Mapping[str, Any], names: Mapping[str, str] | None = None) -> None:
        """Take a module as in Yosys's JSON, and what the source calls what has another name."""
        self._cells = module["cells"]
        self._nets = module["netnames"]
        self._names = names or {}
        kinds = sorted({cell["type"] for cell in self._cells.values()}, key=len, reverse=True)
        kind = "|".join(map(re.escape, kinds))
        # Yosys names a cell after a signal at one of its ports, or after such a cell.
        self._made = re.compile(rf"((.+?)_(?:{kind})_([A-Z]+\d*)(?:_\d+)?)(?:_.*)?")

    def signal(self, cell: str, port: str) -> str:
        """Return the signal of the design that a cell stands for, or the instance and its port."""
        name = self._yosys_name(cell)
        match = self._made.fullmatch(name)
        if match is None:
            return self._plain(f"{name}.{port}" if name in self._cells else name)
        first, base, at = match.groups()
        bits = self._cells.get(first, {}).get("connections", {}).get(at, ())
        net = self._nets.get(base)
        if net is None or not bits or bits[0] not in net["bits"] or len(net["bits"]) == 1:
            return self._plain(base)
        index = net["bits"].index(bits[0])
        if net.get("upto"):
            index = len(net["bits"]) - 1 - index
        return self._plain(f"{base}[{index + net.get('offset', 0)}]")

    def _yosys_name(self, cell: str) -> str:
        """Return the name that Yosys gave a cell, without what nextpnr added."""
        name = cell
        while name not in self._cells:
            less = _PACKED.sub("", name)
            if less in {name, ""}:
                return cell
            name = less
        return name

    def _plain(self, name: str) -> str:
        """Return a name from the design's top on; ports of the design are called so."""
        for kind in ("input", "output"):
            if name.startswith(f"{kind}_"):
                port, bracket, index = name.removeprefix(f"{kind}_").partition("[")
                return f"{kind} {self._names.get(port, port)}{bracket}{index}"
        name = name.removeprefix(f"{INSTANCE}.")
        if name in self._names:
            return self._names[name]
        return ".".join(self._names.get(part, part) for part in name.split("."))


def critical_path(report: Mapping[str, Any], words: Words) -> list[dict[str, Any]]:
    """Return the steps of the slowest path between registers, from nextpnr's report.

    Each has ``from`` and ``to``, what is at its ends; ``kind`` (clk-to-q, routing, logic, carry,
    setup), ``delay_ns`` and ``arrival_ns``. The steps along a carry chain are one.
    """
    clocked = [
        path["path"]
        for path in report.get("critical_paths", [])
        if "async" not in path["from"] and "async" not in path["to"]
    ]
    if not clocked:
        return []
    slowest = max(clocked, key=lambda path: sum(step["delay"] for step in path))
    steps: list[dict[str, Any]] = []
    arrival = 0.0
    for kind, ends, delay in _kinds(slowest):
        source, to = (words.signal(end.get("cell") or "", end.get("port", "")) for end in ends)
        arrival += delay
        if kind == "carry" and steps and steps[-1]["kind"] == kind:
            last = steps[-1]
            last |= {"to": to, "delay_ns": last["delay_ns"] + delay, "arrival_ns": arrival}
        else:
            steps.append({
                "from": source,
                "to": to,
                "kind": kind,
                "delay_ns": delay,
                "arrival_ns": arrival,
            })
    return steps


def _kinds(path: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, tuple[Any, Any], float]]:
    """Return kind, ends and delay of every step."""
    for step in path:
        ends = step["from"], step["to"]
        carries = [bool(_CARRY.fullmatch(end.get("port", ""))) for end in ends]
        logic = step["type"] in {"logic", "routing"}
        yield "carry" if logic and all(carries) else step["type"], ends, step["delay"]
