"""Shifters against Amaranth's own shifts, for all inputs."""

import itertools

import pytest
from amaranth import C, Cat, Module, Signal, Value

from hw.arith.shifter import normalise, normalise_part, shift_left, shift_right
from verif.support.formal import holds


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


@pytest.mark.parametrize(("width", "amount"), [(1, 2), (4, 3), (5, 4), (24, 5)])
def test_shift_right_of_ones_is_that_of_the_complement(width: int, amount: int) -> None:
    def claim(m: Module, x: Signal, places: Signal, fill: Signal) -> Value:
        shifted, lost = shift_right(m, x, places, "fill", fill)
        # The bits that come in as a number's own, in front of it.
        whole = Cat(x, fill.replicate(1 << amount))
        return (shifted == (whole >> places)[:width]) & (
            lost == ((whole & ~(~C(0, len(whole)) << places)[: len(whole)]) != 0)
        )

    assert holds(claim, width, amount, 1)


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", [2, 3, 4, 8, 13, 32, 48])
def test_normalise_shifts_the_leading_one_to_the_top(width: int) -> None:
    def claim(m: Module, x: Signal) -> Value:
        shifted, places = normalise(m, x)
        some = shifted[-1] & (shifted == (x << places)[:width]) & (shifted >> places == x)
        return (x == 0) & (shifted == 0) & places.all() | (x != 0) & some

    assert holds(claim, width)


@pytest.mark.parametrize(
    ("width", "keep", "levels", "calls"),
    [(8, 3, 3, 1), (13, 4, 3, 1), (13, 6, 4, 2), (5, 9, 3, 1), (30, 5, 4, 2), (40, 12, 5, 2)],
)
def test_normalise_part_shifts_out_the_sign(width: int, keep: int, levels: int, calls: int) -> None:
    def claim(m: Module, x: Signal, sign: Signal) -> Value:
        bits: Value = x
        count: Value = C(0, 0)
        lost: Value = C(0, 1)
        cuts = [levels, levels // 2, 0] if calls == 2 else [levels, 0]
        for high, low in itertools.pairwise(cuts):
            reach = keep + (1 << low) - 1
            bits, made, more = normalise_part(m, bits, reach, range(low, high), sign, f"part{low}")
            count, lost = Cat(made, count), lost | more
        # Against a shift by that amount, with room for what comes in.
        room = max(keep - width, 0) + (1 << levels)
        whole = Cat(C(0, room), x)
        moved = (whole << count)[: len(whole)]
        front = (Cat(x, C(0, room)) ^ Cat(sign.replicate(width), C(0, room))) << count
        skipped = front >> width == 0
        there = bits[-1] != sign
        return (
            (bits == moved[-keep:])
            & (lost == moved[:-keep].any())
            & skipped
            & (there | count.all())
        )

    assert holds(claim, width, 1)


def test_shifter_proof_can_fail() -> None:
    def claim(m: Module, x: Signal) -> Value:
        return normalise(m, x)[0] == (x << 1)[: len(x)]

    assert not holds(claim, 8)
