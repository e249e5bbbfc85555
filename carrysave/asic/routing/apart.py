"""Keeps vias to pins apart that are off their nodes, each towards the other."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import product

from carrysave.asic.routing.access import Access, moved
from carrysave.asic.routing.grid import Grid, gap
from carrysave.asic.routing.lef import Box

__all__ = ["keep_apart"]

_EXACT = 1e-6
_REACH = 2
"""Nodes to each side in which such a via may be too near."""


def keep_apart(
    grid: Grid, pins: Iterable[tuple[list[tuple[int, int, Access]], list[list[int]]]]
) -> None:
    """Add to the nodes that go with a way those of other such ways that are too near.

    Parameters
    ----------
    pins : of each the ways (layer, node, access), and the nodes that go with each of these, which
        are added to. A via on its node is left to these nodes as they are.
    """
    one = grid.layers[0]
    off = defaultdict[tuple[int, int], list[tuple[Box, list[int]]]](list)
    for ways, halos in pins:
        for (layer, _, way), halo in zip(ways, halos, strict=True):
            if layer == 0 and way.via and way.offset != (0.0, 0.0):
                x, y = grid.place(way.column, way.row)
                at = x + way.offset[0], y + way.offset[1]
                box = moved(one.below.shapes[one.layer.name], *at)
                off[way.column, way.row].append((box, halo))
    around = [step for step in product(range(-_REACH, _REACH + 1), repeat=2) if any(step)]
    for (i, j), mine in off.items():
        for k, m in around:
            node = grid.node(0, i + k, j + m)
            for (box, halo), (other, _) in product(mine, off.get((i + k, j + m), [])):
                if gap(box, other) < one.layer.spacing - _EXACT and node not in halo:
                    halo.append(node)
