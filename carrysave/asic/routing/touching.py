"""Which shapes of a layout are near each other, and what hangs together; for its checks."""

import math
from collections import defaultdict
from collections.abc import Iterator

from carrysave.asic.routing.layout import Layout

__all__ = ["EXACT", "Sets", "pairs"]

EXACT = 1e-6
"""um: what is nearer touches."""
_SQUARE = 4.0
"""um: squares by which shapes are looked up."""


def pairs(layout: Layout, reach: dict[str, float]) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of shapes of one layer that are within a reach, and how far they are apart."""
    squares = defaultdict[tuple[str, int, int], list[int]](list)
    for number, (layer, box, _) in enumerate(layout.shapes):
        if layer not in reach:
            continue
        more = reach[layer]
        for i in range(int((box[0] - more) // _SQUARE), int((box[2] + more) // _SQUARE) + 1):
            for j in range(int((box[1] - more) // _SQUARE), int((box[3] + more) // _SQUARE) + 1):
                squares[layer, i, j].append(number)
    for (layer, i, j), members in squares.items():
        members.sort(key=lambda number: layout.shapes[number][1][0])
        for at, one in enumerate(members):
            box = layout.shapes[one][1]
            for other in members[at + 1 :]:
                near = layout.shapes[other][1]
                if near[0] > box[2] + reach[layer]:
                    break
                wide = max(near[0] - box[2], box[0] - near[2], 0.0)
                high = max(near[1] - box[3], box[1] - near[3], 0.0)
                left, low = max(box[0], near[0]) - wide, max(box[1], near[1]) - high
                # In several squares: the one with the corner that they share counts.
                if (int(left // _SQUARE), int(low // _SQUARE)) == (i, j) or wide or high:
                    yield one, other, math.sqrt(wide * wide + high * high)


class Sets:
    """Sets of numbers that are joined (union-find)."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def root(self, number: int) -> int:
        """Return the number that stands for the set of another."""
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Make two sets one; the lower number stands for both."""
        low, high = sorted((self.root(one), self.root(other)))
        self._above[high] = low
