"""Cost of products as jobs: what the planner of the golden model moves, and padded tiles."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered import golden
from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.run.alone import of_work, product_job
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.products import least_cycles, product_cycles
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.soc.blocking import cost, plan
from hw.catalog import Design

INTEGERS = Target(Design("coprocessor", {"engine": "cube(m=3,n=5,k=2)", "code_bytes": 2}))
PAIRS = Target(Design("coprocessor", {"engine": "npe(m=2,n=3,formats=int8,int4)"}))
HOW = Requantisation(multiplier=1, shift=3)
START = INTEGERS.start


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
        found = spent(product_job(work_of(m, k, n, **more), INTEGERS), INTEGERS)
        slots = 3 * math.ceil(m / 3) * 5 * math.ceil(n / 5) * 2 * math.ceil(k / 2)
        assert (found.macs, found.slots) == (m * k * n, slots)
        # Rows of a few beats, one by one, take longer than in the mean; simulated, too.
        assert due.cycles < found.cycles <= 1.25 * due.cycles + 1.25 * START
        assert found.moved == beat * (due.read_beats + due.write_beats)


def test_pairs_of_codes_take_half_the_words() -> None:
    """Words of two codes, the last of which may have one; each is two products."""
    two = next(mode for mode in PAIRS.modes.values() if mode.codes == 2)
    stores, bits = two.stores(PAIRS.info.stores), PAIRS.info.sums.bits
    for k in (1, 2, 7, 8, 33):
        words = math.ceil(k / 2)
        due = cost(stores, plan(stores, 4, 5, words, bits), 4, 5, words, bits)
        found = spent(product_job(work_of(4, k, 5, mode=two), PAIRS), PAIRS)
        assert due.cycles < found.cycles <= due.cycles + 1.25 * START
        assert found.slots == 4 * 6 * 2 * words * stores.tile_k / stores.tile_k
        assert found.moved == (due.read_beats + due.write_beats) * stores.data_width // 8


def test_codes_of_a_wider_engine_are_two_to_a_word() -> None:
    wide = Target(Design("coprocessor", {"engine": "npe(m=2,n=3,lane=sl16,formats=int8,int16)"}))
    assert wide.mode.codes == 2
    stores, bits = wide.mode.stores(wide.info.stores), wide.info.sums.bits
    due = cost(stores, plan(stores, 4, 5, 17, bits), 4, 5, 17, bits)
    found = product_cycles(wide, (4, 33, 5), scales=0)
    assert found == spent(of_work("", work_of(4, 33, 5), wide).job, wide).cycles
    assert due.cycles < found <= due.cycles + 1.25 * wide.start


@pytest.mark.parametrize("scales", [0, 1, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_a_shape_takes_what_its_job_does_by_itself(scales: int, bias: bool) -> None:
    for m, k, n in ((1, 1, 1), (7, 9, 11), (200, 33, 64)):
        how = replace(HOW, shift=np.full(n, 3)) if scales > 1 else HOW
        own: dict[str, Any] = {"requantisation": how} if scales else {}
        if bias:
            own["bias"] = np.zeros(n, np.int64)
        job = of_work("", work_of(m, k, n, **own), INTEGERS).job
        found = product_cycles(INTEGERS, (m, k, n), scales=scales, bias=bias)
        assert found == spent(job, INTEGERS).cycles
        assert least_cycles(INTEGERS, (m, k, n), scales=scales) < found


@pytest.mark.parametrize("count", [1, 2, 4, 40])
def test_products_that_are_alike_take_what_their_start_does(count: int) -> None:
    job = of_work("", work_of(30, 33, 20), INTEGERS).job
    job = replace(job, b=1 << 16, c=1 << 17)
    due = cycles_of(JobGroup(job=job, count=count, a=2048, c=2048), INTEGERS)
    found = product_cycles(INTEGERS, (30, 33, 20), scales=0, count=count)
    assert found == (due if count <= 4 else pytest.approx(due, rel=0.02))
    # Those that are not are read whole, each.
    other = product_cycles(INTEGERS, (30, 33, 20), scales=0, count=count, alike=False)
    assert other >= found


def test_rows_that_fit_are_whole_tiles_and_one_at_least() -> None:
    def rows(count: int, cycles: int) -> int:
        return of_work("", work_of(count, 40, 30), INTEGERS).within(cycles, INTEGERS).job.m

    def cycles(count: int) -> int:
        return cycles_of(of_work("", work_of(count, 40, 30), INTEGERS).job, INTEGERS)

    assert rows(100, cycles(100)) == 100
    # Halves of the rows, up to whole tiles of three.
    some = (99, 51, 48, 27, 15, 9, 6, 3)
    assert [rows(100, cycles(one)) for one in some] == [51, 51, 27, 27, 15, 9, 6, 3]
    assert rows(100, 0) == 3
    assert rows(2, 0) == 2
    assert rows(3, 0) == 3


@pytest.mark.parametrize("target", [INTEGERS, PAIRS], ids=["integers", "pairs"])
@pytest.mark.parametrize("kind", ["sums", "codes", "columns"])
def test_golden_makes_of_a_products_bytes_what_it_makes_of_its_numbers(
    target: Target, kind: str
) -> None:
    """All of it, its first rows, and some of its columns: bytes of A, B, biases and records."""
    rng = np.random.default_rng(5)
    for mode in target.modes.values() or [None]:
        own = mode or target.mode
        m, k, n = 9, 7, 24
        a = rng.integers(own.a.low, own.a.high + 1, (m, k))
        b = rng.integers(own.b.low, own.b.high + 1, (k, n))
        how = None
        if kind != "sums" and target.requantises(1):
            shift: Any = 9 if kind == "codes" else rng.integers(8, 11, n)
            how = Requantisation(multiplier=300, shift=shift)
        bias = rng.integers(-99, 100, n)
        work = Work(a=a, b=b, mode=mode, bias=bias, requantisation=how)
        one = of_work("it", work, target)
        (due,) = golden.run(target.spec, [work])
        assert np.array_equal(one.golden(target), one.bytes_of(due, target))
        few = one.some_rows(2, 4, target)
        assert np.array_equal(few.golden(target), one.bytes_of(due[2:6], target))
        across = one.some_columns(8, 16, target)
        assert np.array_equal(across.golden(target), one.bytes_of(due[:, 8:], target))
