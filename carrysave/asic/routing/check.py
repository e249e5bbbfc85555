"""Checks a routed die as its DEF has it, by shapes: what the router thinks of it plays no part.

Nets must join all of their pins (opens) and touch nothing else (shorts), wires must lie on tracks,
metal of two nets must keep the spacing of its layer, and what hangs together must have its area.
Not checked: spacing that depends on width or run length, cuts, enclosures, metal of one net against
itself, antennas, density.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from carrysave.asic.routing.layout import Layout, read_layout
from carrysave.asic.routing.lef import RoutingLef
from carrysave.asic.routing.touching import EXACT, Sets, pairs

__all__ = ["Violation", "check"]


@dataclass(frozen=True)
class Violation:
    """A rule that is broken: ``open``, ``short``, ``track``, ``spacing`` or ``area``; and where."""

    rule: str
    net: str
    layer: str
    x: float
    y: float
    other: str = ""


def check(text: str, lef: RoutingLef) -> list[Violation]:
    """Return what is wrong with a DEF file; cells' own shapes are not held against each other."""
    layout = read_layout(text, lef)
    return [*_tracks(layout), *_neighbours(layout, lef), *_groups(layout, lef)]


def _tracks(layout: Layout) -> Iterator[Violation]:
    """Yield wires that are on no track of their layer, or across the tracks."""
    for net, layer, x0, y0, x1, y1 in layout.wires:
        axis, first, count, step = layout.tracks.get(layer, ("", 0.0, 0, 1.0))
        across = {"X": (x0, x1), "Y": (y0, y1)}.get(axis, (math.inf, 0.0))
        number = (across[0] - first) / step if across[0] == across[1] else -1.0
        if abs(number - round(number)) > 1e-3 or not 0 <= round(number) < count:
            yield Violation("track", net, layer, x0, y0)


def _neighbours(layout: Layout, lef: RoutingLef) -> Iterator[Violation]:
    """Yield shorts and spacings, but those between shapes of cells alone."""
    spacing = {layer.name: layer.spacing for layer in lef.layers}
    seen = set[tuple[int, int]]()
    for one, other, far in pairs(layout, spacing):
        layer, box, net = layout.shapes[one]
        _, _, near = layout.shapes[other]
        key = min(one, other), max(one, other)
        of_cells = max(key) < layout.of_cells
        if net == near or not {net, near} & layout.wired or key in seen or of_cells:
            continue
        if far < spacing[layer] - EXACT:
            seen.add(key)
            yield Violation(
                "short" if far <= EXACT else "spacing", net, layer, box[0], box[1], near
            )


def _groups(layout: Layout, lef: RoutingLef) -> Iterator[Violation]:
    """Yield nets that do not join their pins, and metal that hangs together and is too small."""
    metals = {layer.name: 0.0 for layer in lef.layers}
    flat = Sets(len(layout.shapes))
    for one, other, far in pairs(layout, metals):
        if layout.shapes[one][2] == layout.shapes[other][2] != "" and far <= EXACT:
            flat.join(one, other)
    joined = Sets(len(layout.shapes))
    for number in range(len(layout.shapes)):
        joined.join(number, flat.root(number))
    for one, other in layout.cuts:
        joined.join(one, other)
    for net, pins in layout.pins.items():
        for shapes in pins:
            for number in shapes[1:]:
                joined.join(shapes[0], number)
        if len({joined.root(shapes[0]) for shapes in pins if shapes}) > 1 or not all(pins):
            layer, box, _ = layout.shapes[next(shapes[0] for shapes in pins if shapes)]
            yield Violation("open", net, layer, box[0], box[1])
    least = {layer.name: layer.area for layer in lef.layers}
    members = defaultdict[int, list[int]](list)
    for number, (layer, _, net) in enumerate(layout.shapes):
        if net in layout.wired and layer in least:
            members[flat.root(number)].append(number)
    for group in members.values():
        layer, box, net = layout.shapes[group[0]]
        if group[0] >= layout.of_cells and _area(layout, group) < least[layer] - EXACT:
            yield Violation("area", net, layer, box[0], box[1])


def _area(layout: Layout, group: list[int]) -> float:
    """Return the area of the union of some shapes, um2."""
    boxes = [layout.shapes[number][1] for number in group]
    xs = sorted({edge for box in boxes for edge in (box[0], box[2])})
    total = 0.0
    for left, right in pairwise(xs):
        spans = sorted((box[1], box[3]) for box in boxes if box[0] <= left and right <= box[2])
        top = -math.inf
        for low, high in spans:
            total += max(high - max(low, top), 0.0) * (right - left)
            top = max(top, high)
    return total
