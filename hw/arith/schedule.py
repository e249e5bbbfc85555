"""Order of compression of a bit heap: which bits meet in which adder, decided by arrival time."""

import functools
import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Adder", "Schedule", "balance", "schedule", "sparse_heights"]

# Delays in units of one XOR gate. The last input of a full adder passes one XOR only, so the latest
# bit goes there.
_SUM, _LATE_CARRY, _HALF_CARRY = 1.0, 1.0, 0.6


class Adder(NamedTuple):
    """One full or half adder: ``inputs`` of weight 2^column become ``sum`` and ``carry``.

    Bits are numbers: first those of the heap in the order given to :func:`schedule`, then one
    for each output. ``carry`` is ``None`` where it would fall off the top of the heap.
    """

    column: int
    inputs: tuple[int, ...]
    sum: int
    carry: int | None


@dataclass
class Schedule:
    """Adders in an order in which each one's inputs exist, and the bits left in each column."""

    adders: list[Adder] = field(default_factory=list)
    columns: list[list[int]] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)

    @property
    def delay(self) -> float:
        """Arrival of the latest bit left, in XOR gates."""
        return max((self.arrivals[bit] for column in self.columns for bit in column), default=0.0)


def schedule(columns: Sequence[Sequence[float]], heights: Sequence[int]) -> Schedule:
    """Reduce each column to its height, from the lowest weight up.

    The three-greedy method (Stelling, Martel, Oklobdzija, Ravi 1998): a column of n bits that may
    keep h needs (n - h) // 2 full adders and, if n - h is odd, one half adder, no more; each takes
    the bits that arrive first, the half adder before the others. Reducing below h where a full
    adder happens to fit would let late carries ripple along the columns.

    Parameters
    ----------
    columns : arrival time of every bit, a column per weight, in XOR gates.
    heights : bits that may remain in each column, >= 1.
    """
    result = Schedule()
    waiting: list[list[int]] = [[] for _ in columns]
    for column, arrivals in zip(waiting, columns, strict=True):
        for arrival in arrivals:
            column.append(len(result.arrivals))
            result.arrivals.append(arrival)
    at = result.arrivals
    for weight, height in enumerate(heights):
        bits = [(at[bit], bit) for bit in waiting[weight]]
        heapq.heapify(bits)
        while len(bits) > height:
            take = 2 if (len(bits) - height) % 2 else 3
            inputs = tuple(heapq.heappop(bits)[1] for _ in range(take))
            early, late = at[inputs[-2]], at[inputs[-1]]
            if take == 3:
                sum_at = max(early + 2 * _SUM, late + _SUM)
                carry_at = max(early + _SUM + _LATE_CARRY, late + _LATE_CARRY)
            else:
                sum_at, carry_at = late + _SUM, late + _HALF_CARRY
            total = len(at)
            at.append(sum_at)
            carry = None
            if weight + 1 < len(heights):
                carry = len(at)
                at.append(carry_at)
                waiting[weight + 1].append(carry)
            result.adders.append(Adder(weight, inputs, total, carry))
            heapq.heappush(bits, (sum_at, total))
        result.columns.append([bit for _, bit in sorted(bits)])
    return result


def sparse_heights(
    width: int,
    delay: Callable[[list[int]], float],
    most: int | Sequence[int] = 2,
    *,
    slack: float = 0.0,
) -> list[int]:
    """Choose how many bits each column keeps: as few as possible without adding delay.

    The reference is the delay with `most` bits everywhere. Where time is left, a column ripples its
    carry instead of keeping it, which saves a register and the logic behind it.

    Parameters
    ----------
    width : columns.
    delay : delay of the heap for given heights.
    most : bits that a column may keep, >= 1; of each, or of all.
    slack : extra delay allowed, in XOR gates.
    """
    highest = [most] * width if isinstance(most, int) else list(most)
    heights = list(highest)
    limit = delay(heights) + slack
    for column in range(width):
        for height in range(1, highest[column] + 1):
            heights[column] = height
            if delay(heights) <= limit:
                break
    return heights


def balance(
    stages: int, rows: Sequence[int], delay: Callable[[int | None, int | None], float]
) -> list[int]:
    """Choose the row counts at which registers cut a compression into balanced stages.

    Parameters
    ----------
    stages : registers to place, 0 or more.
    rows : heights at which a cut is possible, ascending; fewer rows need fewer registers.
    delay : delay of a stage, from its number of rows at the start (None: the whole heap) and at
        the end (None: the output).

    Returns
    -------
    Rows at each cut, in order.
    """

    @functools.cache
    def best(above: int | None, left: int) -> tuple[float, list[int]]:
        """Longest stage from a cut to the end, and the cuts after it; with ties the lower."""
        if not left:
            return delay(above, None), []
        below = [row for row in rows if above is None or row <= above]
        longest, row = min((max(delay(above, row), best(row, left - 1)[0]), row) for row in below)
        return longest, [row, *best(row, left - 1)[1]]

    return best(None, stages)[1]
