"""What is on chip during each step of a program, as one integer program (COSMA).

For each room of memory one variable says whether it is on chip while it is in use; of each group of
jobs one choice is taken. Bytes on the bus are least, with no more cycles than allowed. What is on
chip at a time has to fit; places are found behind it. A choice without places is excluded.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from carrysave.compiler.program.choices import Choice
from carrysave.compiler.program.packing import Block, Key, places_of_blocks, rounded

__all__ = ["Problem", "Solution", "Unit", "solve"]

_TIE = 0.5
"""Bytes that all cycles count as: of choices with as many bytes that of fewest cycles is taken."""
_CUTS = 100
"""Choices without places that are excluded, at most."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A group of jobs.

    Members
    -------
    step : its number.
    rooms : that it reads or writes.
    choices : one is taken.
    """

    step: int
    rooms: frozenset[int]
    choices: Sequence[Choice]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is to be chosen.

    Members
    -------
    size : bytes on chip.
    rooms : by number.
    units : in order.
    most_cycles : of all units.
    """

    size: int
    rooms: Mapping[int, Block]
    units: Sequence[Unit]
    most_cycles: int


@dataclass(kw_only=True)
class Solution:
    """What is chosen.

    Members
    -------
    chosen : the choice of each unit; empty: there is none.
    places : first byte on chip of each room there.
    copies : the same of each unit's copies.
    bytes : of all units on the bus.
    bound : bytes that no choice goes below; they are equal if it is the best.
    seconds : that it took.
    """

    chosen: list[Choice] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)
    bytes: int = 0
    bound: float = 0.0
    seconds: float = 0.0


def solve(problem: Problem, seconds: float) -> Solution:
    """Choose, in so many seconds."""
    began, cuts = time.monotonic(), list[list[int]]()
    model = _Model(problem)
    solution = Solution()
    for _ in range(_CUTS):
        left = seconds - (time.monotonic() - began)
        if left <= 0:
            break
        solved, bound = model.solve(cuts, left)
        if not cuts:  # those exclude what first fit has no place for, not what has none
            solution.bound = bound
        if solved is None:
            break
        chosen = [unit.choices[number] for unit, number in zip(problem.units, solved, strict=True)]
        blocks = _blocks(problem, chosen)
        places, failed = places_of_blocks(blocks, problem.size)
        if places is not None:
            solution.chosen = chosen
            solution.bytes = sum(one.bytes for one in chosen)
            solution.places = {key: at for (kind, key), at in places.items() if kind == "room"}
            solution.copies = {key: at for (kind, key), at in places.items() if kind == "copy"}
            break
        cuts.append(model.variables(solved, failed))
    solution.seconds = time.monotonic() - began
    return solution


def _blocks(problem: Problem, chosen: Sequence[Choice]) -> dict[Key, Block]:
    """Return all that is on chip."""
    near = frozenset[int]().union(*(one.near for one in chosen))
    blocks: dict[Key, Block] = {("room", one): problem.rooms[one] for one in near}
    for number, (unit, one) in enumerate(zip(problem.units, chosen, strict=True)):
        if one.size:
            blocks["copy", number] = Block(unit.step, unit.step + 1, one.size)
    return blocks


class _Model:
    """Matrices of the integer program: rooms are its first variables, then choices by unit."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.numbers = {room: at for at, room in enumerate(problem.rooms)}
        self.starts = np.cumsum([len(self.numbers), *(len(one.choices) for one in problem.units)])
        self.rows: list[dict[int, float]] = []
        self.limits: list[tuple[float, float]] = []
        self.choices = [one for unit in problem.units for one in unit.choices]
        self._units()
        self._sizes()
        # In units of what is allowed, for tolerances of the solver are absolute.
        parts = (one.cycles / max(problem.most_cycles, 1) for one in self.choices)
        self._rule(dict(enumerate(parts, len(self.numbers))), -np.inf, 1.0)

    def _rule(self, row: dict[int, float], low: float, high: float) -> None:
        self.rows.append(row)
        self.limits.append((low, high))

    def _units(self) -> None:
        """Take one choice of each unit, that has on chip which rooms are there."""
        for unit, start in zip(self.problem.units, self.starts.tolist(), strict=False):
            mine = range(start, start + len(unit.choices))
            self._rule(dict.fromkeys(mine, 1.0), 1.0, 1.0)
            for room in unit.rooms:
                row = {
                    at: 1.0 for at, one in zip(mine, unit.choices, strict=True) if room in one.near
                }
                self._rule({**row, self.numbers[room]: -1.0}, 0.0, 0.0)

    def _sizes(self) -> None:
        """Have no more on chip at a step than there is."""
        problem = self.problem
        copies: dict[int, dict[int, float]] = {}
        for unit, start in zip(problem.units, self.starts.tolist(), strict=False):
            for at, one in enumerate(unit.choices, start):
                if one.size:
                    copies.setdefault(unit.step, {})[at] = rounded(one.size) / problem.size
        for step in sorted({*copies, *(block.first for block in problem.rooms.values())}):
            row = {
                self.numbers[room]: rounded(block.size) / problem.size
                for room, block in problem.rooms.items()
                if block.first <= step < block.last
            }
            self._rule({**row, **copies.get(step, {})}, -np.inf, 1.0)

    def variables(self, solved: Sequence[int], blocks: Sequence[Key]) -> list[int]:
        """Return the variables by which some blocks are on chip."""
        return [
            self.numbers[key] if kind == "room" else int(self.starts[key]) + solved[key]
            for kind, key in blocks
        ]

    def solve(self, cuts: Sequence[list[int]], seconds: float) -> tuple[list[int] | None, float]:
        """Return the number of each unit's choice, and the bytes that are the least; None: none."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load
        from scipy.sparse import coo_array

        rows = [*self.rows, *(dict.fromkeys(cut, 1.0) for cut in cuts)]
        limits = np.array([*self.limits, *((-np.inf, len(cut) - 1.0) for cut in cuts)])
        at = [(row, column) for row, values in enumerate(rows) for column in values]
        values = [value for row in rows for value in row.values()]
        count = int(self.starts[-1])
        matrix = coo_array((values, tuple(np.array(at).T)), (len(rows), count)).tocsr()
        cost = np.zeros(count)
        tie = _TIE / max(self.problem.most_cycles, 1)
        cost[len(self.numbers) :] = [one.bytes + tie * one.cycles for one in self.choices]
        scale = max(float(cost.max()), 1.0)
        solved = milp(
            cost / scale,
            integrality=np.ones(count),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(matrix, limits[:, 0], limits[:, 1]),
            options={"time_limit": seconds, "mip_rel_gap": 0},
        )
        bound = getattr(solved, "mip_dual_bound", None)
        known = 0.0 if bound is None else float(bound) * scale - _TIE
        if solved.x is None:
            return None, known
        parts = np.split(solved.x, self.starts[:-1])[1:]
        return [int(part.argmax()) for part in parts], known
