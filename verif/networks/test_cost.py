"""Cost of works: what the planner of the golden model says, and tiles that are padded."""

import math
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.target.cost import Estimate, cycles_of, estimate, rows_within, work_estimate
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.soc.blocking import cost, plan
from hw.catalog import Design

INTEGERS = Target(Design("coprocessor", {"engine": "cube(m=3,n=5,k=2)", "code_bytes": 2}))
PAIRS = Target(Design("coprocessor", {"engine": "npe(m=2,n=3,formats=int8,int4)"}))
HOW = Requantisation(multiplier=1, shift=3)


def work_of(m: int, k: int, n: int, **more: Any) -> Work:
    """Return a work of so large matrices."""
    return Work(a=np.zeros((m, k), np.int64), b=np.zeros((k, n), np.int64), **more)


@pytest.mark.parametrize(
    ("more", "bits"),
    [
        ({}, INTEGERS.info.sums.bits),
        ({"requantisation": HOW}, 8),
        ({"requantisation": HOW, "wide": True}, 16),
    ],
)
def test_cost_is_the_planners(more: dict[str, Any], bits: int) -> None:
    stores = INTEGERS.info.stores
    assert (stores.tile_m, stores.tile_n, stores.tile_k) == (3, 5, 2)
    beat = stores.data_width // 8
    for m, k, n in ((1, 1, 1), (7, 9, 11), (6, 8, 10), (200, 33, 64)):
        due = cost(stores, plan(stores, m, n, k, bits), m, n, k, bits)
        found = work_estimate(INTEGERS, work_of(5, k, n, **more), m)
        slots = 3 * math.ceil(m / 3) * 5 * math.ceil(n / 5) * 2 * math.ceil(k / 2)
        assert found == Estimate(due.cycles, beat * (due.read_beats + due.write_beats), slots)
        kinds = bool(more.get("requantisation")), bool(more.get("wide"))
        assert cycles_of(INTEGERS, m, k, n, kinds[0], wide=kinds[1]) == due.cycles


def test_pairs_of_codes_take_half_the_words() -> None:
    """Words of two codes, the last of which may have one; each is two products."""
    two = next(mode for mode in PAIRS.modes.values() if mode.codes == 2)
    stores, bits = two.stores(PAIRS.info.stores), PAIRS.info.sums.bits
    for k in (1, 2, 7, 8, 33):
        words = math.ceil(k / 2)
        due = cost(stores, plan(stores, 4, 5, words, bits), 4, 5, words, bits)
        found = work_estimate(PAIRS, work_of(4, k, 5, mode=two), 4)
        assert found.cycles == due.cycles
        assert found.slots == 4 * 6 * 2 * words * stores.tile_k / stores.tile_k
        assert found.bytes == (due.read_beats + due.write_beats) * stores.data_width // 8


def test_codes_of_a_wider_engine_are_two_to_a_word() -> None:
    wide = Target(Design("coprocessor", {"engine": "npe(m=2,n=3,lane=sl16,formats=int8,int16)"}))
    assert wide.mode.codes == 2
    stores, bits = wide.mode.stores(wide.info.stores), wide.info.sums.bits
    due = cost(stores, plan(stores, 4, 5, 17, bits), 4, 5, 17, bits)
    assert cycles_of(wide, 4, 33, 5, False) == due.cycles


def test_estimates_add_up() -> None:
    assert Estimate(1, 20, 300) + Estimate(4, 50, 600) == Estimate(5, 70, 900)
    works = [work_of(5, 6, 7), work_of(50, 16, 9)]
    before = Work(a=None, b=np.zeros((7, 2), np.int64))  # of the work before it
    compiled: Any = type("Compiled", (), {"works": [*works, before]})
    one, other = (work_estimate(INTEGERS, work, len(work.a)) for work in works)  # type: ignore[arg-type]
    assert estimate(INTEGERS, compiled.works) == one + other
    compiled.works = []
    assert estimate(INTEGERS, compiled.works) == Estimate(0, 0, 0)


def test_rows_that_fit_are_whole_tiles_and_one_at_least() -> None:
    work = work_of(100, 40, 30)

    def cycles(rows: int) -> int:
        return work_estimate(INTEGERS, work, rows).cycles

    assert rows_within(INTEGERS, work, cycles(100)) == 100
    # Halves of the rows, up to whole tiles of three.
    assert [
        rows_within(INTEGERS, work, cycles(rows)) for rows in (99, 51, 48, 27, 15, 9, 6, 3)
    ] == [51, 51, 27, 27, 15, 9, 6, 3]
    assert rows_within(INTEGERS, work, 0) == 3
    assert rows_within(INTEGERS, work_of(2, 40, 30), 0) == 2
    assert rows_within(INTEGERS, work_of(3, 40, 30), 0) == 3
