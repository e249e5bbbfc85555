"""Seeks the highest clock that a design meets on a board: runs from several seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from carrysave.fpga.place import FpgaError

__all__ = ["SEEDS", "Run", "fastest"]

SEEDS = 3
"""Runs by default, each from another seed of the placer."""

_ATTEMPTS = 4
"""Runs at most, where no clock is met."""

_MARGIN = 0.97
"""Of what was reached, for the next run: placement differs with the clock."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A placed and routed design.

    Members
    -------
    seed : of the placer.
    clock_mhz : of the design, as its PLL makes it.
    fmax_mhz : that it reaches.
    untimed : it has paths that the tools do not time.
    """

    seed: int
    clock_mhz: float
    fmax_mhz: float
    untimed: bool

    @property
    def ok(self) -> bool:
        """It is fast enough for its clock."""
        return self.fmax_mhz >= self.clock_mhz

    @property
    def facts(self) -> dict[str, Any]:
        """What a report says of each run."""
        return {
            "seed": self.seed,
            "clock_mhz": self.clock_mhz,
            "fmax_mhz": self.fmax_mhz,
            "ok": self.ok,
        }


AnyRun = TypeVar("AnyRun", bound=Run)


def fastest(
    build: Callable[[float, int], AnyRun],
    first_mhz: float,
    seeds: int,
    progress: Callable[[str], None],
    *,
    fixed: bool = False,
) -> tuple[AnyRun, list[AnyRun]]:
    """Build from each seed, at a clock asked anew from what was reached; return the best, and all.

    The best is the one of the highest clock that is met; of those with one clock, the one that
    reaches most. Where none is met, runs go on with lower clocks. A seed that cannot be routed is
    left out.

    Parameters
    ----------
    build : builds at the next clock that is not above one, from a seed.
    first_mhz : that the first run asks for.
    seeds : how many, the first of which is 1.
    progress : callback for each seed that fails.
    fixed : the clock is to be met as it is: runs end with the first that meets it.

    Raises
    ------
    FpgaError
        No seed is placed and routed.
    """
    runs: list[AnyRun] = []
    wanted = first_mhz
    for attempt in count(1):
        seed = (attempt - 1) % seeds + 1
        ended = attempt >= seeds and (fixed or attempt >= _ATTEMPTS)
        try:
            runs.append(build(wanted, seed))
        except FpgaError as error:
            if not runs and (ended or getattr(error, "final", False)):
                raise
            progress(f"seed {seed}: {error}")
        if not runs:
            continue
        best = max(runs, key=lambda run: (run.ok, run.clock_mhz if run.ok else 0, run.fmax_mhz))
        # What tools do not time is not to be run faster than it was chosen to be.
        done = best.ok and (fixed or best.untimed or attempt >= seeds)
        if ended or done:
            return best, runs
        if not fixed:
            wanted = _next_mhz(runs)
    raise AssertionError


def _next_mhz(runs: Sequence[Run]) -> float:
    """Return the clock to ask for next: of what was reached, or between met and missed."""
    highest = max((run.clock_mhz for run in runs if run.ok), default=0.0)
    reached = runs[-1].fmax_mhz
    if _MARGIN * reached > highest:
        return _MARGIN * reached
    bounds = [run.clock_mhz for run in runs if run.clock_mhz > highest]
    return (highest + min([*bounds, max(run.fmax_mhz for run in runs)])) / 2
