"""The search for a clock: which runs there are, and which of them is the result."""

from collections.abc import Callable

import pytest

from carrysave.boards.clock_search import Run, fastest
from carrysave.fpga.place import FpgaError


def search(
    fmax: Callable[[float, int], float],
    *,
    first: float = 75,
    seeds: int = 3,
    untimed: bool = False,
    fixed: bool = False,
) -> tuple[Run, list[Run], list[str]]:
    """Seek a clock of whole MHz; 0 MHz reached is a run that fails."""
    said: list[str] = []

    def build(mhz: float, seed: int) -> Run:
        reached = fmax(int(mhz), seed)
        if not reached:
            raise FpgaError("nextpnr: no route")
        return Run(seed=seed, clock_mhz=int(mhz), fmax_mhz=reached, untimed=untimed)

    return *fastest(build, first, seeds, said.append, fixed=fixed), said


def test_first_clock_is_no_limit() -> None:
    """A clock that is met by a little is followed by a higher one, too."""
    best, runs, _ = search(lambda mhz, seed: 83)
    assert [run.clock_mhz for run in runs] == [75, 80, 80]
    assert (best.clock_mhz, best.seed) == (80, 2)


def test_best_of_seeds_is_the_result() -> None:
    best, runs, _ = search(lambda mhz, seed: {1: 83, 2: 79, 3: 90}[seed])
    assert [(run.clock_mhz, run.ok) for run in runs] == [(75, True), (80, False), (76, True)]
    assert (best.clock_mhz, best.fmax_mhz) == (76, 90)
    # Of two with one clock, the one that reaches most.
    best, runs, _ = search(lambda mhz, seed: {1: 76, 2: 75.5, 3: 75.9}[seed], first=75)
    assert {run.clock_mhz for run in runs} == {75}
    assert best.seed == 1


def test_clock_that_is_missed_is_lowered() -> None:
    best, runs, _ = search(lambda mhz, seed: 0.9 * mhz)
    assert [run.ok for run in runs] == [False] * 4
    assert best.fmax_mhz == max(run.fmax_mhz for run in runs)
    best, runs, _ = search(lambda mhz, seed: 0.9 * mhz if mhz > 60 else mhz)
    assert [run.ok for run in runs] == [False, False, True]
    assert best is runs[-1]


def test_given_clock_is_tried_from_each_seed() -> None:
    best, runs, _ = search(lambda mhz, seed: 70 + 3 * seed, fixed=True)
    assert [(run.seed, run.clock_mhz) for run in runs] == [(1, 75), (2, 75)]
    assert best.seed == 2
    best, runs, _ = search(lambda mhz, seed: 70 - seed, fixed=True)
    assert len(runs) == 3
    assert (best.ok, best.seed) == (False, 1)


def test_untimed_design_is_not_run_faster() -> None:
    assert len(search(lambda mhz, seed: 200, untimed=True)[1]) == 1


def test_seed_that_is_not_routed_is_left_out() -> None:
    best, runs, said = search(lambda mhz, seed: 0 if seed == 2 else 80)
    assert [run.seed for run in runs] == [1, 3]
    assert said == ["seed 2: nextpnr: no route"]
    assert best.ok
    with pytest.raises(FpgaError, match="no route"):
        search(lambda mhz, seed: 0)
    with pytest.raises(FpgaError, match="no route"):
        search(lambda mhz, seed: 0, fixed=True)


def test_one_seed_is_one_run() -> None:
    assert len(search(lambda mhz, seed: 200, seeds=1)[1]) == 1
