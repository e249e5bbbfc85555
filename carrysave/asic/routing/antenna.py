"""Checks antennas of a routed die as DEF has it, by the ratios of LEF, layer by layer.

While a layer is made, its metal charges the gates that it hangs on to by it and what is below. Of
each such piece the area of side walls (or the area) over that of its gates may be at most what LEF
allows, which depends on the diffusion that the piece is joined to. Not checked: cuts, and sums over
layers.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from carrysave.asic.routing.check import Violation
from carrysave.asic.routing.layout import Layout, read_layout
from carrysave.asic.routing.lef import Antenna, Box, RoutingLef
from carrysave.asic.routing.touching import EXACT, Sets, pairs

__all__ = ["check_antennas"]


def check_antennas(text: str, lef: RoutingLef) -> list[Violation]:
    """Return pieces of metal whose gates they may break, as violations of the rule ``antenna``."""
    layout = read_layout(text, lef)
    names = [layer.name for layer in lef.layers]
    touching = defaultdict[str, list[tuple[int, int]]](list)
    for one, other, far in pairs(layout, dict.fromkeys(names, 0.0)):
        layer, _, net = layout.shapes[one]
        if far <= EXACT and net == layout.shapes[other][2] != "":
            touching[layer].append((one, other))
    for one, other in layout.cuts:
        upper = max((layout.shapes[n][0] for n in (one, other)), key=names.index)
        touching[upper].append((one, other))
    on = defaultdict[str, list[int]](list)
    for number, (layer, _, net) in enumerate(layout.shapes):
        if net in layout.pins:
            on[layer].append(number)
    sets, broken = Sets(len(layout.shapes)), list[Violation]()
    for _, _, shapes in layout.terminals:
        for number in shapes[1:]:
            sets.join(shapes[0], number)
    for made in lef.layers:
        for one, other in touching[made.name]:
            sets.join(one, other)
        if made.antennas:
            broken += _broken(layout, lef, sets, on[made.name], made.antennas)
    return broken


def _broken(
    layout: Layout, lef: RoutingLef, sets: Sets, on: list[int], rules: Sequence[Antenna]
) -> Iterator[Violation]:
    """Yield violations of one layer, by what hangs together when it is made."""
    gates, diffusion = defaultdict[int, float](float), defaultdict[int, float](float)
    for cell, pin, shapes in layout.terminals:
        if cell and shapes:
            macro = lef.macros[layout.kinds[cell]]
            gates[sets.root(shapes[0])] += macro.gates.get(pin, 0.0)
            diffusion[sets.root(shapes[0])] += macro.diffusions.get(pin, 0.0)
    pieces = defaultdict[int, list[int]](list)
    for number in on:
        pieces[sets.root(number)].append(number)
    for root, members in pieces.items():
        if not gates[root]:
            continue
        boxes = [layout.shapes[number][1] for number in members]
        if any(
            _metal(boxes, rule) > rule.limit(diffusion[root]) * gates[root] + EXACT
            for rule in rules
        ):
            layer, box, net = layout.shapes[max(members)]
            yield Violation("antenna", net, layer, box[0], box[1])


def _metal(boxes: list[Box], rule: Antenna) -> float:
    """Return the area of the union of boxes, or that of its side walls, um2."""
    xs = sorted({edge for box in boxes for edge in (box[0], box[2])})
    area = walls = 0.0
    before: list[tuple[float, float]] = []
    for left, right in pairwise([*xs, math.inf]):
        spans = list[tuple[float, float]]()
        for low, high in sorted((b[1], b[3]) for b in boxes if b[0] <= left and right <= b[2]):
            if spans and low <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(high, spans[-1][1])
            else:
                spans.append((low, high))
        if spans:
            area += _length(spans) * (right - left)
            walls += 2 * len(spans) * (right - left)
        walls += _length(spans) + _length(before) - 2 * _shared(spans, before)
        before = spans
    return walls * rule.thickness if rule.thickness else area


def _length(spans: list[tuple[float, float]]) -> float:
    return sum(high - low for low, high in spans)


def _shared(spans: list[tuple[float, float]], others: list[tuple[float, float]]) -> float:
    both = ((max(a, c), min(b, d)) for a, b in spans for c, d in others)
    return sum(max(high - low, 0.0) for low, high in both)
