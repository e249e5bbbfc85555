"""Reads a routed DEF file back as shapes, for its check."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from carrysave.asic.routing.lef import Box, RoutingLef

__all__ = ["Layout", "read_layout"]

_POINT = re.compile(r"\( (-?\d+) (-?\d+) \)")


@dataclass
class Layout:
    """Shapes of a DEF file, um.

    Members
    -------
    shapes : layer, box and net of each, nobody's being empty; the first ``of_cells`` are of cells.
    cuts : pairs of shapes that a via joins.
    pins : of each net, for each of its pins the shapes of that.
    terminals : cell, pin and its shapes, supplies too; a port has no cell. ``kinds`` are of cells.
    wires : net, layer and ends of each straight piece; ``wired`` are the nets that have some.
    tracks : of a layer: across which axis, the first, how many, step.
    """

    shapes: list[tuple[str, Box, str]] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)
    pins: dict[str, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    terminals: list[tuple[str, str, list[int]]] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    wires: list[tuple[str, str, float, float, float, float]] = field(default_factory=list)
    tracks: dict[str, tuple[str, float, int, float]] = field(default_factory=dict)
    wired: set[str] = field(default_factory=set)
    of_cells: int = 0

    def add(self, layer: str, box: Box, net: str) -> int:
        """Add a shape; return its number."""
        self.shapes.append((layer, box, net))
        return len(self.shapes) - 1

    def add_via(
        self, shapes: dict[str, Box], metals: set[str], x: float, y: float, net: str
    ) -> None:
        """Add the metal of a via, and that its cut joins both layers."""
        ends = [
            self.add(layer, _at(box, x, y), net) for layer, box in shapes.items() if layer in metals
        ]
        self.cuts.append((ends[0], ends[1]))


def _at(box: Box, x: float, y: float) -> Box:
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def _section(text: str, name: str) -> list[str]:
    match = re.search(rf"^{name} \d+ ;\n(.*?)^END {name}$", text, re.M | re.S)
    return re.split(r"(?m)^- ", match[1])[1:] if match else []


def read_layout(text: str, lef: RoutingLef) -> Layout:
    """Return the shapes of a DEF file, with those of its cells from LEF."""
    layout = Layout()
    units = float(re.search(r"UNITS DISTANCE MICRONS (\d+)", text)[1])  # type: ignore[index]
    for axis, first, count, step, layer in re.findall(
        r"^TRACKS (\w) (\d+) DO (\d+) STEP (\d+) LAYER (\S+) ;", text, re.M
    ):
        layout.tracks[layer] = axis, int(first) / units, int(count), int(step) / units
    owner: dict[tuple[str, str], str] = {}
    nets = _section(text, "NETS")
    for entry in nets:
        name = entry.split()[0]
        for cell, pin in re.findall(r"\( (\S+) ([^\s\d-]\S*) \)", entry.partition("+ ROUTED")[0]):
            owner[cell, pin] = name
    _read_cells(layout, text, lef, units, owner)
    layout.of_cells = len(layout.shapes)
    for entry in _section(text, "PINS"):
        net = re.search(r"\+ NET (\S+)", entry)[1]  # type: ignore[index]
        layer = re.search(r"\+ LAYER (\S+)", entry)[1]  # type: ignore[index]
        (a, b), (c, d), (x, y) = (
            (int(p) / units, int(q) / units) for p, q in _POINT.findall(entry)
        )
        number = layout.add(layer, _at((a, b, c, d), x, y), net)
        layout.pins[net].append([number])
        layout.terminals.append(("", entry.split()[0], [number]))
    for section in ("SPECIALNETS", "NETS"):
        for entry in _section(text, section):
            _read_wires(layout, entry, lef, units)
    return layout


def _read_cells(
    layout: Layout, text: str, lef: RoutingLef, units: float, owner: dict[tuple[str, str], str]
) -> None:
    metals, nets = {layer.name for layer in lef.layers}, set(owner.values())
    for entry in _section(text, "COMPONENTS"):
        name, kind = entry.split()[:2]
        ((x, y),) = _POINT.findall(entry)
        macro, upside = lef.macros[kind], entry.split()[-2] == "FS"

        def lying(box: Box, height: float = macro.size[1], upside: bool = upside) -> Box:
            left, low, right, up = box
            return (left, height - up, right, height - low) if upside else box

        layout.kinds[name] = kind
        groups = [("", macro.blocks, "")]
        groups += [(supply, shapes, supply) for supply, shapes in macro.supplies.items()]
        groups += [
            (pin, shapes, owner.get((name, pin), f"{name}/{pin}"))
            for pin, shapes in macro.pins.items()
        ]
        for pin, shapes, net in groups:
            numbers = [
                layout.add(layer, _at(lying(box), int(x) / units, int(y) / units), net)
                for layer, box in shapes
                if layer in metals
            ]
            if pin:
                layout.terminals.append((name, pin, numbers))
            if net in nets:
                layout.pins[net].append(numbers)


def _read_wires(layout: Layout, entry: str, lef: RoutingLef, units: float) -> None:
    name = entry.split()[0]
    metals, widths = {one.name for one in lef.layers}, {one.name: one.width for one in lef.layers}
    vias = {via.name: via for via in lef.vias}
    pieces = re.split(r"\+ ROUTED |\bNEW ", entry)[1:]
    if pieces:
        layout.wired.add(name)
    for piece in pieces:
        words = piece.split()
        layer, special = words[0], words[1].isdigit()
        points = [(int(x) / units, int(y) / units) for x, y in _POINT.findall(piece)]
        if "RECT" in words:
            edges = [int(word) / units for word in words[words.index("RECT") + 2 :][:4]]
            layout.add(layer, _at((edges[0], edges[1], edges[2], edges[3]), *points[0]), name)
        elif len(points) == 2:
            half = (int(words[1]) / units if special else widths[layer]) / 2
            (x0, y0), (x1, y1) = points
            ends = 0.0 if special else half
            wide, high = (ends, half) if y0 == y1 else (half, ends)
            box = min(x0, x1) - wide, min(y0, y1) - high, max(x0, x1) + wide, max(y0, y1) + high
            layout.add(layer, box, name)
            if not special:
                layout.wires.append((name, layer, x0, y0, x1, y1))
        via = next((word for word in words if word in vias), None)
        if via:
            layout.add_via(vias[via].shapes, metals, *points[-1], name)
