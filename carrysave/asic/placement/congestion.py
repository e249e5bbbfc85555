"""How much wire lies where on a die."""

import numpy as np

from carrysave.asic.placement.die import Die, Wires

__all__ = ["congestion"]

_SQUARE = 20.0


def congestion(die: Die, wires: Wires) -> dict[str, float]:
    """Return the wire of each um2 of die, um: in the mean, and in the fullest square.

    The wires of a net are taken as spread evenly over the box around its pins (RUDY).
    """
    columns, rows = (max(round(side / _SQUARE), 1) for side in die.size)
    wide, high = die.size[0] / columns, die.size[1] / rows
    demand = np.zeros((columns, rows))
    for _, pins, tree in wires:
        xs, ys = zip(*(die.at(pin) for pin in pins), strict=True)
        left, right = (min(int(x / wide), columns - 1) for x in (min(xs), max(xs)))
        low, up = (min(int(y / high), rows - 1) for y in (min(ys), max(ys)))
        squares = (right - left + 1) * (up - low + 1)
        demand[left : right + 1, low : up + 1] += tree.length / squares
    demand /= wide * high
    return {"mean": float(demand.mean()), "most": float(demand.max())}
