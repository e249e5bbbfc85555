"""What a design is made of: its submodules, its streams, and what flows between them."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from carrysave import cache
from carrysave.drawings.contents import inside, short
from carrysave.drawings.sources import digest_of_sources
from hw.catalog import Design
from hw.emit import tools, yosys
from hw.emit.verilog import Emission

__all__ = ["LOGIC", "Link", "Part", "Structure", "structure_of"]

LOGIC = "logic"
"""The part that stands for a design without submodules."""
_CONTROL = {"CLK", "EN", "S", "ARST", "SRST", "RD_CLK", "RD_EN", "RD_ADDR", "WR_CLK", "WR_EN",
            "WR_ADDR", "RD_ARST", "RD_SRST"}  # fmt: skip
"""Pins of Yosys' cells that steer, and carry no data."""


@dataclass(frozen=True)
class Part:
    """Submodules of one kind.

    Members
    -------
    name : of the submodule; of several, what their names have in common.
    count : of them.
    lines : what is inside: submodules, registers.
    chained : data go from one to the next.
    """

    name: str
    count: int
    lines: tuple[str, ...] = ()
    chained: bool = False


@dataclass(frozen=True)
class Link:
    """Data that go from a part or a stream to another, directly or through a design's own logic.

    Members
    -------
    source, target : names of parts or streams.
    bits : of the target's inputs that they reach; 1: control.
    """

    source: str
    target: str
    bits: int


@dataclass(frozen=True)
class Structure:
    """A design: parts, streams and other groups of ports, links."""

    parts: tuple[Part, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    links: tuple[Link, ...]


def structure_of(design: Design) -> Structure:
    """Return the structure of a design, from its netlist before optimisation; kept in the cache."""
    parts = ["structure", design.key, digest_of_sources("hw", "golden", "carrysave/drawings")]
    facts = cache.remembered("docs", parts, lambda: asdict(_structure(design)))
    return Structure(
        tuple(Part(**{**one, "lines": tuple(one["lines"])}) for one in facts["parts"]),
        tuple(facts["inputs"]),
        tuple(facts["outputs"]),
        tuple(Link(**one) for one in facts["links"]),
    )


def _structure(design: Design) -> Structure:
    """Take a design apart."""
    emission = Emission(design)
    with tools.workplace() as folder:
        (folder / "design.v").write_text(emission.verilog)
        yosys.run(
            ["read_verilog design.v", "proc", "opt_clean", "write_json design.json"], cwd=folder
        )
        modules = json.loads((folder / "design.json").read_text())["modules"]
    top = modules[design.module]
    cells = {name: cell for name, cell in top["cells"].items() if cell["type"] in modules}
    names = {name: _base(name, cell["type"], design.module) for name, cell in cells.items()}
    flow = _Flow(top, modules, names, _groups(emission))
    links = flow.links()
    counts = Counter(names.values())
    first = {base: cells[name]["type"] for name, base in reversed(names.items())}
    parts = [
        Part(base, count, inside(first[base], modules, design.module), flow.chained(base))
        for base, count in counts.items()
    ]
    if not parts:
        parts = [Part(LOGIC, 1, inside(design.module, modules, design.module))]
        links = [
            *(Link(name, LOGIC, bits) for name, bits in flow.widths.items() if name in flow.inputs),
            *(
                Link(LOGIC, name, bits)
                for name, bits in flow.widths.items()
                if name in flow.outputs
            ),
        ]
    return Structure(tuple(parts), tuple(flow.inputs), tuple(flow.outputs), tuple(links))


def _base(name: str, module: str, top: str) -> str:
    """Return the name that submodules share which differ in their number alone."""
    base = re.sub(r"\d+$", "", name) or name
    return short(module, top) if "$" in name else base


def _groups(emission: Emission) -> dict[str, tuple[str, bool]]:
    """Return the group of each port, such as a stream, and whether it carries data."""
    groups = {}
    for port in emission.ports[2:]:
        group, _, inside = port["is"].partition(".")
        groups[port["name"]] = group, not re.search(r"(valid|ready)$", inside)
    return groups


class _Flow:
    """What reaches what in one module."""

    def __init__(
        self,
        top: Mapping[str, Any],
        modules: Mapping[str, Any],
        names: Mapping[str, str],
        groups: Mapping[str, tuple[str, bool]],
    ):
        self._readers: defaultdict[Any, list[tuple[str, str]]] = defaultdict(list)
        """Cells that read a bit, each with the pin."""
        self._cells = top["cells"]
        self._names = names
        self._made: dict[str, set[Any]] = defaultdict(set)
        """Bits that each source makes."""
        self._taken: dict[Any, set[str]] = defaultdict(set)
        """Groups of ports to which a bit leaves."""
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.widths: Counter[str] = Counter()
        for name, cell in self._cells.items():
            ports = modules[cell["type"]]["ports"] if name in names else {}
            for pin, bits in cell["connections"].items():
                outward = _outward(cell, ports, pin)
                for bit in bits:
                    if name in names and outward:
                        self._made[name].add(bit)
                    elif not outward and pin not in _CONTROL:
                        self._readers[bit].append((name, pin))
        for name, port in top["ports"].items():
            group, carries = groups.get(name, ("", False))
            if not carries:
                continue
            inward = port["direction"] == "input"
            seen = self.inputs if inward else self.outputs
            if group not in seen:
                seen.append(group)
            self.widths[group] += len(port["bits"])
            for bit in port["bits"]:
                if inward:
                    self._made[group].add(bit)
                else:
                    self._taken[bit].add(group)

    def links(self) -> list[Link]:
        """Return all links, of parts and groups of ports."""
        most: Counter[tuple[str, str]] = Counter()
        self._chains: set[str] = set()
        for source, bits in self._made.items():
            for target, count in self._reached(bits).items():
                pair = self._names.get(source, source), self._names.get(target, target)
                if pair[0] == pair[1]:
                    if source != target:
                        self._chains.add(pair[0])
                else:
                    most[pair] = max(most[pair], count)
        return [Link(*pair, bits) for pair, bits in most.items()]

    def chained(self, base: str) -> bool:
        """Return whether submodules of a kind send each other data."""
        return base in self._chains

    def _reached(self, bits: Iterable[Any]) -> Counter[str]:
        """Return parts and groups that bits reach, each with the width of its widest input."""
        pins: defaultdict[tuple[str, str], set[Any]] = defaultdict(set)
        leave: defaultdict[str, set[Any]] = defaultdict(set)
        seen, work = set(bits), list(bits)
        passed = set()
        while work:
            bit = work.pop()
            for group in self._taken.get(bit, ()):
                leave[group].add(bit)
            for cell, pin in self._readers.get(bit, ()):
                if cell in self._names:
                    pins[cell, pin].add(bit)
                elif cell not in passed:
                    passed.add(cell)
                    fresh = set(self._outputs(cell)) - seen
                    seen |= fresh
                    work += fresh
        widths = Counter({group: len(nets) for group, nets in leave.items()})
        for (cell, _), nets in pins.items():
            widths[cell] = max(widths[cell], len(nets))
        return widths

    def _outputs(self, name: str) -> Iterator[Any]:
        """Yield the bits that a cell of Yosys makes."""
        cell = self._cells[name]
        for pin, bits in cell["connections"].items():
            if _outward(cell, {}, pin):
                yield from bits


def _outward(cell: Mapping[str, Any], ports: Mapping[str, Any], pin: str) -> bool:
    """Return whether a pin is an output."""
    if pin in ports:
        return bool(ports[pin]["direction"] == "output")
    direction = cell.get("port_directions", {}).get(pin)
    return bool(direction == "output")
