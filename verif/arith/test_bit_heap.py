"""The bit heap against plain addition: proofs, and the bookkeeping of its schedule."""

import itertools
import random

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.schedule import schedule, sparse_heights
from verif.support.formal import holds


def rows_sum(columns: list[list[Value]]) -> Value:
    """Add up columns as rows."""
    rows = [
        Cat(column[row] if row < len(column) else C(0, 1) for column in columns)
        for row in range(max(map(len, columns)))
    ]
    total: Value = C(0, 1)
    for row in rows:
        total = total + row
    return total[: len(columns)]


def random_terms(seed: int) -> tuple[int, list[tuple[int, int, bool, float]]]:
    """Draw a heap's width and its terms: width, weight, sign, arrival."""
    draw = random.Random(seed)
    width = draw.randint(1, 9)
    terms = [
        (
            draw.randint(1, 6),
            draw.randint(0, width),
            draw.random() < 0.5,
            draw.choice([0.0, 0.6, 3]),
        )
        for _ in range(draw.randint(1, 4))
    ]
    return width, terms


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kept", ["sum", "sparse", "carry-save"])
def test_bit_heap_equals_addition(seed: int, kept: str) -> None:
    width, terms = random_terms(seed)
    constant = random.Random(seed + 1000).randint(-300, 300)

    def claim(m: Module, *values: Signal) -> Value:
        heap = BitHeap(width)
        heap.constant = constant
        expected: Value = C(constant & ((1 << width) - 1), width)
        for value, (_, weight, signed, arrival) in zip(values, terms, strict=True):
            heap.add_term(list(value), weight, signed=signed, arrival=arrival)
            expected = expected + ((value.as_signed() if signed else value) << weight)
        heights = {
            "sum": [1] * width,
            "sparse": sparse_heights(width, lambda heights: heap.schedule(heights).delay),
            "carry-save": [2] * width,
        }[kept]
        columns = heap.compress(m, heights)
        assert [len(column) for column in columns] == heights
        return rows_sum(columns) == expected[:width]

    assert holds(claim, *(term[0] for term in terms))


def test_bit_heap_proof_can_fail() -> None:
    def claim(m: Module, x: Signal, y: Signal) -> Value:
        heap = BitHeap(5)
        heap.add_term(list(x), signed=True)
        heap.add_term(list(y), signed=False)
        return rows_sum(heap.compress(m, [2] * 5)) == (x + y)[:5]

    assert not holds(claim, 4, 4)


@pytest.mark.parametrize("width", [4, 8, 9])
def test_register_keeps_the_value(width: int) -> None:
    """One cycle late the sum is the same, and carries out of the rows are not lost."""

    def claim(m: Module, x: Signal, y: Signal, z: Signal, enable: Signal) -> Value:
        heap = BitHeap(width)
        expected = Signal(width)
        for value in (x, y, z):
            heap.add_term(list(value), signed=True)
        held = heap.register(m, enable)
        total = rows_sum(held.compress(m, [2] * width))
        exact = x.as_signed() + y.as_signed() + z.as_signed()
        m.d.sync += expected.eq(Mux(enable, exact, total))
        return total == expected

    assert holds(claim, 4, 4, 4, 1, cycles=1)


@pytest.mark.parametrize("seed", range(50))
def test_schedule_uses_every_bit_once(seed: int) -> None:
    """Each bit goes into one adder or stays; with exact adders the sum is then preserved."""
    draw = random.Random(seed)
    width = draw.randint(1, 24)
    columns = [[draw.random() * 4 for _ in range(draw.randint(0, 12))] for _ in range(width)]
    heights = [draw.choice([1, 2]) for _ in range(width)]
    plan = schedule(columns, heights)
    made = {adder.sum for adder in plan.adders} | {
        adder.carry for adder in plan.adders if adder.carry is not None
    }
    given = set(range(sum(map(len, columns))))
    used = [bit for adder in plan.adders for bit in adder.inputs]
    left = [bit for column in plan.columns for bit in column]
    assert sorted(used + left) == sorted(given | made)
    assert all(len(column) <= height for column, height in zip(plan.columns, heights, strict=True))
    weights = dict(enumerate(w for w, column in enumerate(columns) for _ in column))
    for adder in plan.adders:
        assert {weights[bit] for bit in adder.inputs} == {adder.column}
        weights[adder.sum] = adder.column
        if adder.carry is None:
            assert adder.column == width - 1
        else:
            weights[adder.carry] = adder.column + 1
    assert all(weights[bit] == w for w, column in enumerate(plan.columns) for bit in column)


def test_schedule_puts_the_latest_bit_last() -> None:
    plan = schedule([[5.0, 0.0, 1.0]], [1])
    assert plan.adders[0].inputs == (1, 2, 0)
    assert plan.delay == 6.0


def test_schedule_depth_of_a_multiplier_grows_with_the_logarithm() -> None:
    """Nine rows take four full adders in a row in each column, 32 take eight."""
    for rows, levels in ((3, 1), (4, 2), (6, 3), (9, 4), (13, 5), (19, 6), (28, 7), (42, 8)):
        plan = schedule([[0.0] * rows] * 64, [2] * 64)
        assert plan.delay <= 2 * levels, (rows, plan.delay)


@pytest.mark.parametrize(("x", "y"), list(itertools.product([1, 2], repeat=2)))
def test_carry_save_packs_and_unpacks(x: int, y: int) -> None:
    layout = CarrySave([x, 2, y])
    number = layout.register("number")
    columns = layout.columns(number)
    assert [len(column) for column in columns] == [x, 2, y]
    assert len(layout.pack(columns)) == layout.size == x + 2 + y


@pytest.mark.parametrize("heights", [[], [0], [3, 1]])
def test_carry_save_rejects_out_of_range(heights: list[int]) -> None:
    with pytest.raises(ValueError, match="heights must be a list of 1 or 2"):
        CarrySave(heights)
