"""Shifters against Amaranth's own shifts, for all inputs."""

import pytest
from amaranth import Module, Signal, Value

from hw.arith.shifter import normalise, shift_left, shift_right
from verif.formal import holds


@pytest.mark.parametrize(
    ("width", "amount", "result"), [(1, 1, 1), (4, 3, 9), (8, 3, 8), (5, 2, 3), (16, 5, 36)]
)
def test_shift_left_equals_shift(width: int, amount: int, result: int) -> None:
    def claim(m: Module, x: Signal, places: Signal) -> Value:
        return shift_left(m, x, places, result) == (x << places)[:result]

    assert holds(claim, width, amount)


@pytest.mark.parametrize(("width", "amount"), [(1, 1), (4, 3), (8, 3), (13, 4), (24, 6)])
def test_shift_right_equals_shift_and_what_is_lost(width: int, amount: int) -> None:
    def claim(m: Module, x: Signal, places: Signal) -> Value:
        shifted, lost = shift_right(m, x, places)
        return (shifted == x >> places) & (lost == (shifted << places != x))

    assert holds(claim, width, amount)


@pytest.mark.parametrize("width", [2, 3, 4, 8, 13, 32, 48])
def test_normalise_shifts_the_leading_one_to_the_top(width: int) -> None:
    def claim(m: Module, x: Signal) -> Value:
        shifted, places = normalise(m, x)
        some = shifted[-1] & (shifted == (x << places)[:width]) & (shifted >> places == x)
        return (x == 0) & (shifted == 0) & places.all() | (x != 0) & some

    assert holds(claim, width)


def test_shifter_proof_can_fail() -> None:
    def claim(m: Module, x: Signal) -> Value:
        return normalise(m, x)[0] == (x << 1)[: len(x)]

    assert not holds(claim, 8)
