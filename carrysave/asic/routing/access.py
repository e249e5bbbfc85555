"""Where a router gets at the pins of cells: nodes above them from which a via is legal."""

from dataclasses import dataclass
from itertools import product

from carrysave.asic.routing.grid import Grid, gap
from carrysave.asic.routing.lef import Box, Macro, RoutingLef

__all__ = ["Access", "Accesses", "flipped", "moved"]

_OFFSET, _STEP = 0.12, 0.015
"""um off a node that a via may be, at most and in steps, where it cannot be on one."""
_EXACT = 1e-6


@dataclass(frozen=True)
class Access:
    """A way to a pin: column and row of a node, um from there to the via, whether there is one."""

    column: int
    row: int
    offset: tuple[float, float]
    via: bool


def flipped(box: Box, height: float) -> Box:
    """Return a box of a cell that lies upside down."""
    return box[0], height - box[3], box[2], height - box[1]


def moved(box: Box, x: float, y: float) -> Box:
    """Return a box elsewhere."""
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


class Accesses:
    """Ways to the pins of cells, by kind and by how they lie on the grid."""

    def __init__(self, lef: RoutingLef, grid: Grid) -> None:
        self.lef, self.grid = lef, grid
        self._known: dict[tuple[str, bool, int, int], dict[str, list[Access]]] = {}

    def of(self, kind: str, x: float, y: float, upside: bool) -> dict[str, list[Access]]:
        """Return ways to each pin of a cell with a lower left corner; nodes are of the die."""
        wide, high = self.grid.pitch
        column, row = int(x / wide + _EXACT), int(y / high + _EXACT)
        phase = x - column * wide, y - row * high
        key = kind, upside, round(phase[0] * 1e3), round(phase[1] * 1e3)
        if key not in self._known:
            self._known[key] = self._ways(self.lef.macros[kind], phase, upside)
        return {
            pin: [Access(one.column + column, one.row + row, one.offset, one.via) for one in ways]
            for pin, ways in self._known[key].items()
        }

    def _ways(
        self, macro: Macro, phase: tuple[float, float], upside: bool
    ) -> dict[str, list[Access]]:
        def lying(shapes: list[tuple[str, Box]]) -> list[tuple[str, Box]]:
            height = macro.size[1]
            boxes = ((name, flipped(box, height) if upside else box) for name, box in shapes)
            return [(name, moved(box, *phase)) for name, box in boxes]

        pins = {name: lying(shapes) for name, shapes in macro.pins.items()}
        rest = lying([*macro.blocks, *(one for each in macro.supplies.values() for one in each)])
        ways = {}
        for name, shapes in pins.items():
            others = [*rest, *(one for pin in pins if pin != name for one in pins[pin])]
            ways[name] = self._ways_to(shapes, others, phase[0], phase[0] + macro.size[0])
        return ways

    def _ways_to(
        self,
        shapes: list[tuple[str, Box]],
        others: list[tuple[str, Box]],
        left: float,
        right: float,
    ) -> list[Access]:
        """Return nodes above a pin: on them, else near them; on its own metal without a via."""
        first = self.grid.layers[0].layer
        ways: list[Access] = []
        offsets = sorted(
            product(*([_STEP * k for k in range(-8, 9)], [_STEP * k for k in range(-6, 7)])),
            key=lambda at: abs(at[0]) + abs(at[1]),
        )
        for box in [box for layer, box in shapes if layer == first.name]:
            ways += [Access(i, j, (0.0, 0.0), False) for i, j in self._nodes(box, -first.width / 2)]
        if ways:
            return ways
        nodes = {
            node
            for layer, box in shapes
            if layer == self.grid.pin_layer.name
            for node in self._nodes(box, _OFFSET)
        }
        for some in (offsets[:1], offsets[1:]):
            for i, j in sorted(nodes):
                x, y = self.grid.place(i, j)
                for dx, dy in some:
                    if self._legal(x + dx, y + dy, shapes, others, left, right):
                        ways.append(Access(i, j, (dx, dy), True))
                        break
            if ways:
                return ways
        return ways

    def _nodes(self, box: Box, more: float) -> list[tuple[int, int]]:
        """Return the nodes in a box that is larger by some um on all sides."""
        wide, high = self.grid.pitch
        columns, rows = (
            [
                k
                for k in range(int(a / p) - 1, int(b / p) + 2)
                if a - more - _EXACT <= (k + 0.5) * p <= b + more + _EXACT
            ]
            for a, b, p in ((box[0], box[2], wide), (box[1], box[3], high))
        )
        return list(product(columns, rows))

    def _legal(
        self,
        x: float,
        y: float,
        shapes: list[tuple[str, Box]],
        others: list[tuple[str, Box]],
        left: float,
        right: float,
    ) -> bool:
        """Return whether a via may be at a place: on the pin, far enough from all else."""
        below, above, via = (
            self.grid.pin_layer,
            self.grid.layers[0].layer,
            self.grid.layers[0].below,
        )
        low = [box for layer, box in shapes if layer == below.name]
        if not any(
            a <= x + _EXACT and x <= c + _EXACT and b <= y + _EXACT and y <= d + _EXACT
            for a, b, c, d in low
        ):
            return False
        pads = [(layer, moved(via.shapes[layer.name], x, y)) for layer in (below, above)]
        if pads[0][1][0] < left - _EXACT or pads[0][1][2] > right + _EXACT:
            return False
        return all(
            gap(pad, box) >= layer.spacing - _EXACT
            for layer, pad in pads
            for name, box in others
            if name == layer.name
        )
