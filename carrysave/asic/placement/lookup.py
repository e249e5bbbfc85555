"""Many tables of a library as one: looked up for all arcs of a netlist at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.tables import Floats, Table

__all__ = ["Ids", "Stack", "TableValue"]

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class TableValue:
    """Values, and their slopes by transition time (1) and by load (ns/fF)."""

    value: Floats
    by_slew: Floats
    by_load: Floats


class Stack:
    """Pairs of tables, of delay and transition time, on the axes of the first of each."""

    def __init__(self, pairs: Sequence[tuple[Table, ...]]) -> None:
        rows = max((len(pair[0].slews) for pair in pairs), default=2)
        columns = max((len(pair[0].loads) for pair in pairs), default=2)
        self.slews = np.stack([_stretch(pair[0].slews, max(rows, 2)) for pair in pairs])
        self.loads = np.stack([_stretch(pair[0].loads, max(columns, 2)) for pair in pairs])
        at = np.broadcast_arrays(self.slews[:, :, None], self.loads[:, None, :])
        self.values = [
            np.stack([
                pair[k].look_up(slews, loads) for pair, slews, loads in zip(pairs, *at, strict=True)
            ])
            for k in range(len(pairs[0]))
        ]

    def look_up(self, table: Ids, slew: Floats, load: Floats) -> list[TableValue]:
        """Interpolate linearly, and extrapolate."""
        i, x, wide = _place(self.slews, table, slew)
        j, y, high = _place(self.loads, table, load)
        rows, columns = self.values[0].shape[1:]
        at = (table * rows + i) * columns + j
        looked_up = []
        for values in self.values:
            v00, v01, v10, v11 = (values.take(at + step) for step in (0, 1, columns, columns + 1))
            low, up = v00 + (v10 - v00) * x, v01 + (v11 - v01) * x
            by_slew = ((v10 - v00) * (1 - y) + (v11 - v01) * y) / wide
            looked_up.append(TableValue(low + (up - low) * y, by_slew, (up - low) / high))
        return looked_up


def _stretch(axis: Floats, size: int) -> Floats:
    """Add points above the last; tables are linear beyond it."""
    step = axis[-1] - axis[-2] if len(axis) > 1 else 1.0
    more = axis[-1] + step * np.arange(1, size - len(axis) + 1)
    return np.concatenate([axis, more])


def _place(axes: Floats, table: Ids, at: Floats) -> tuple[Ids, Floats, Floats]:
    """Return the point below, the share of the way to the next, and how far that is."""
    index = np.zeros(len(at), np.int64)
    points = axes.shape[1]
    first = table * points
    for point in range(1, points - 1):  # few: a third of the time of all at once
        index += at >= axes.take(first + point)
    low = axes.take(first + index)
    wide = axes.take(first + index + 1) - low
    return index, (at - low) / wide, wide
