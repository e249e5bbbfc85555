"""Straps of the supplies: on the uppermost layer that is routed, down to the rails of the rows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from carrysave.asic.routing.access import moved
from carrysave.asic.routing.grid import Grid
from carrysave.asic.routing.lef import Box, RoutingLef

__all__ = ["Strap", "rail_names", "straps"]

WIDTH, PAIR = 1.6, 100.0
"""um: width of a strap, and of a die for each pair of them."""


@dataclass(frozen=True)
class Strap:
    """A strap of a supply: its middle, the vias down to each of its rails, its metal.

    ``bars`` are metal that vias lack for its area, and with the first strap of a supply its rails
    from side to side, since cells leave gaps: layer, width, and both ends.
    """

    supply: str
    layer: str
    x: float
    vias: list[tuple[str, float, float]]
    shapes: list[tuple[str, Box]]
    bars: list[tuple[str, float, float, float, float, float]]


def rail_names(lef: RoutingLef, layer: str, kinds: set[str]) -> tuple[str, str] | None:
    """Return the supplies at the lower and the upper edge of cells, on a layer; None of neither."""
    for kind in sorted(kinds):
        macro = lef.macros[kind]
        low = high = ""
        for name, shapes in macro.supplies.items():
            for on, box in shapes:
                if on == layer and box[1] <= 0 <= box[3]:
                    low = name
                elif on == layer and box[1] <= macro.size[1] <= box[3]:
                    high = name
        if low and high:
            return low, high
    return None


def straps(
    lef: RoutingLef, grid: Grid, size: tuple[float, float], row: float, kinds: set[str]
) -> list[Strap]:
    """Return the straps of a die, a pair for each 100 um of its width, one at least.

    There are none where rails are not on the lowest layer that is routed, or the uppermost is not
    across them.
    """
    names = rail_names(lef, grid.layers[0].layer.name, kinds)
    top = grid.layers[-1].layer
    if names is None or top.horizontal:
        return []
    count = 2 * max(round(size[0] / PAIR), 1)
    made = []
    for number in range(count):
        column = round((number + 0.5) * size[0] / count / grid.pitch[0])
        x = (column + 0.5) * grid.pitch[0]
        lines = range(number % 2, round(size[1] / row) + 1, 2)
        vias = [(one.below.name, x, line * row) for line in lines for one in grid.layers[1:]]
        shapes: list[tuple[str, Box]] = [(top.name, (x - WIDTH / 2, 0.0, x + WIDTH / 2, size[1]))]
        known = {one.below.name: one.below for one in grid.layers[1:]}
        for via, at_x, at_y in vias:
            shapes += [(on, moved(box, at_x, at_y)) for on, box in known[via].shapes.items()]
        bars = [bar for _, _, y in vias[:: len(grid.layers) - 1] for bar in _bars(grid, x, y)]
        if number < len(names):
            rail = grid.layers[0].layer.name
            wide = _height(lef, rail, kinds, names[number])
            bars += [(rail, wide, 0.0, line * row, size[0], line * row) for line in lines]
        shapes += [
            (
                on,
                (
                    min(x0, x1) - (y0 != y1) * wide / 2,
                    min(y0, y1) - (x0 != x1) * wide / 2,
                    max(x0, x1) + (y0 != y1) * wide / 2,
                    max(y0, y1) + (x0 != x1) * wide / 2,
                ),
            )
            for on, wide, x0, y0, x1, y1 in bars
        ]
        made.append(Strap(names[number % 2], top.name, x, vias, shapes, bars))
    return made


def _height(lef: RoutingLef, layer: str, kinds: set[str], supply: str) -> float:
    """Return the height of the rails of a supply, um: the least that a cell has."""
    return min(
        box[3] - box[1]
        for kind in kinds
        for on, box in lef.macros[kind].supplies.get(supply, [])
        if on == layer and any(box[1] <= edge <= box[3] for edge in (0, lef.macros[kind].size[1]))
    )


def _bars(
    grid: Grid, x: float, y: float
) -> Iterator[tuple[str, float, float, float, float, float]]:
    """Yield metal for layers between rail and strap on which a via alone is too small."""
    for one, above in pairwise(grid.layers[1:]):
        layer = one.layer
        boxes = [via.shapes[layer.name] for via in (one.below, above.below)]
        if min((box[2] - box[0]) * (box[3] - box[1]) for box in boxes) < layer.area:
            wide = max(layer.width, *(box[3 if layer.horizontal else 2] * 2 for box in boxes))
            half = math.ceil(layer.area / wide / 2 * 100 + 1) / 100
            along = (half, 0.0) if layer.horizontal else (0.0, half)
            yield layer.name, wide, x - along[0], y - along[1], x + along[0], y + along[1]
