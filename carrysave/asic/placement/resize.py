"""Resizes cells for a goal of period and area, with the wires as they lie, or as a library guesses.

The period's soft maximum over all paths has a slope by the delay of each arc, the slew of each node
and the load of each net (:meth:`Timing.slopes`). With these each cell knows what a stronger or
weaker one in its place would cost or gain; in each round those that gain most change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from carrysave.asic.liberty.tables import Floats
from carrysave.asic.placement.lookup import Ids
from carrysave.asic.placement.timing import Slopes, Times, Timing
from golden.elementary import exp, expm1, log1p, power, sigmoid

__all__ = ["PRICE", "Goal", "Limit", "Product", "resize"]

PRICE = 0.3
"""What a share of the area is worth beside one of the period, with wires; of buffers, too."""
_SOFT = 0.02, 0.005
"""Softness of the maximum in the first and last round: a share of the period."""
_MOST = 0.03
"""Share of the cells that change in a round, at most; less where that was too many."""
_RENEW = 10
"""Rounds after which what is best is found anew: the softness has become another."""
_COLD = 1e-6
"""Share of the period in a cell, by slopes, below which it gets no stronger and no pins move."""
_SLEW = 0.75
"""ns: longest transition time where no path asks for one. Tables of sky130 end at 1.5."""


class Goal(Protocol):
    """What resizing minimises."""

    def cost(self, period: float, area: float) -> float:
        """Return what is minimised, for a period in ns and an area in um2."""

    def price(self, period: float, area: float) -> float:
        """Return the ns of period that cost as much as 1 um2."""


@dataclass(frozen=True)
class Product:
    """The least period times area to a power."""

    power: float

    def cost(self, period: float, area: float) -> float:
        """Return the product."""
        return period * float(power(area, self.power))

    def price(self, period: float, area: float) -> float:
        """Return the slope by area over that by period."""
        return self.power * period / area


@dataclass(frozen=True)
class Limit:
    """The least area within a period, ns."""

    period: float

    WEIGHT = 3.0
    """What a share of the period above the limit is worth, beside one of the area."""
    SOFT = 0.01
    """Share of the limit around which it begins to count."""

    def _above(self, period: float) -> float:
        return (period / self.period - 1) / self.SOFT

    def cost(self, period: float, area: float) -> float:
        """Return the area, with what is above the limit."""
        above = self._above(period)
        soft = self.SOFT * (max(above, 0.0) + float(log1p(exp(-abs(above)))))
        return area * float(exp(self.WEIGHT * soft))

    def price(self, period: float, area: float) -> float:
        """Return the slope by area over that by period: far below the limit only area counts."""
        share = float(sigmoid(max(min(self._above(period), 30.0), -15.0)))
        return self.period / (area * self.WEIGHT * share)


@dataclass(frozen=True)
class _State:
    """A round's times, their slopes, and the softness that they are for (ns)."""

    times: Times
    slopes: Slopes
    softness: float


def resize(
    timing: Timing,
    rounds: int,
    say: Callable[[str], None] = lambda text: None,
    goal: Goal = Product(PRICE),
) -> None:
    """Change the kinds of cells of a timing.

    Parameters
    ----------
    rounds : each tries all sizes next to those that there are.
    goal : what for.
    """
    period = timing.times().period
    best, least, share = timing.kind.copy(), np.inf, _MOST
    for index in range(rounds):
        softness = period * float(np.interp(index / rounds, (0, 1), _SOFT))
        times = timing.times()
        area = timing.area
        blunt = float(np.maximum(times.slew - 2 * _SLEW, 0).sum())
        soft_period = times.soft_period(softness)
        cost = goal.cost(soft_period, area) * (1 + blunt)
        if index % _RENEW == 0:
            least = np.inf
        if cost < least:
            least, best, share = cost, timing.kind.copy(), min(1.5 * share, _MOST)
        else:
            timing.kind, share = best.copy(), share / 2
            times, area = timing.times(), timing.area
            soft_period = times.soft_period(softness)
        state = _State(times, timing.slopes(times, softness), softness)
        kinds, costs = _costs(timing, state, goal.price(soft_period, area))
        changed = _change(timing, kinds, costs, max(int(share * len(timing.kind)), 4))
        say(f"round {index}: {times.period:.3f} ns, {area:.0f} um2, {changed} cells change")
        if not changed:
            break
    timing.kind = best


def _costs(timing: Timing, state: _State, price: float) -> tuple[Ids, Floats]:
    """Return for each cell the best other kind, and what it costs: negative if it is a gain.

    Parameters
    ----------
    price : of area, ns/um2.
    """
    times, slopes = state.times, state.slopes
    load, count = timing.loads, len(timing.kind)
    best, cost = timing.kind.copy(), np.zeros(count)
    cell, end, pins = timing.arc_cell, timing.arc_to, timing.pin_cell
    now = timing.capacitance[timing.kind[pins], timing.pin_name]
    # How much of the period goes through the driver of each pin, and what a fF there costs it.
    through = np.bincount(end // 2, slopes.arcs, timing.count)[timing.pin_net]
    each = slopes.load[timing.pin_net] / np.maximum(through, 1e-12)
    # Stronger ones, and pins at other places, are only worth a look where paths are long.
    late = timing.together(np.bincount(cell, slopes.arcs, count)) > _COLD
    slow = timing.together(np.bincount(cell, times.transition.value > _SLEW, count)) > 0
    timed = np.bincount(cell, minlength=count) > 0  # not those of the clock tree
    tries = [
        *((shift, np.ones(count, bool)) for shift in timing.sizes.weaker),
        *((shift, late | slow) for shift in timing.sizes.stronger),
        *((shift, late) for shift in timing.sizes.swaps),
    ]
    for shift, where in tries:
        can = where & timed & (shift[timing.kind] >= 0)
        can[timing.pseudo :] = False
        kind = np.where(can, shift[timing.kind], timing.kind)
        arcs = np.flatnonzero(can[cell])
        table = timing.sizes.rows[kind[cell[arcs]], timing.arc_slot[arcs]]
        slews = np.where(cell[arcs] < timing.pseudo, times.slew[timing.arc_from[arcs]], 0.0)
        delay, slew = timing.sizes.tables.look_up(table, slews, load[end[arcs] // 2])
        later = _soft(state, slopes.arcs[arcs], delay.value - times.delay.value[arcs])
        before = times.transition.value[arcs]
        later += slopes.slew[end[arcs]] * slopes.passes[arcs] * (slew.value - before)
        # Edges must not become too slow where no path asks, and are mended where they are.
        later += np.maximum(slew.value - _SLEW, 0) - np.maximum(before - _SLEW, 0)
        total = np.bincount(cell[arcs], later, count).astype(float)  # of no arcs it is of integers
        grows = timing.capacitance[kind[pins], timing.pin_name] - now
        total += np.bincount(pins, _soft(state, through, grows * each), count)
        total += price * (timing.sizes.areas[kind] - timing.sizes.areas[timing.kind])
        total = timing.together(total)
        better = can & (total < cost)
        best[better], cost[better] = kind[better], total[better]
    return best, cost


def _soft(state: _State, weight: Floats, change: Floats) -> Floats:
    """Return by how much the soft maximum grows if paths of a given weight become longer."""
    return state.softness * weight * expm1(np.minimum(change / state.softness, 10))


def _change(timing: Timing, best: Ids, cost: Floats, most: int) -> int:
    """Change cells that gain more than what drives them and what they drive; return how many."""
    sinks, drivers = np.zeros(timing.count), np.zeros(timing.count)
    np.minimum.at(sinks, timing.pin_net, cost[timing.pin_cell])
    np.minimum.at(drivers, timing.arc_to // 2, cost[timing.arc_cell])
    beaten = np.zeros(len(cost), bool)
    beaten[timing.pin_cell[cost[timing.pin_cell] > drivers[timing.pin_net]]] = True
    beaten[timing.arc_cell[cost[timing.arc_cell] > sinks[timing.arc_to // 2]]] = True
    beaten = timing.together(beaten) > 0
    wins = np.flatnonzero((cost < 0) & ~beaten)
    wins = wins[np.argsort(cost[wins], kind="stable")][:most]
    wins = timing.all_of(wins)
    timing.kind[wins] = best[wins]
    return len(wins)
