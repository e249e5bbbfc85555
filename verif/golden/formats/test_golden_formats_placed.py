"""Random bits by places: against SIMON's published block; their statistics; and their places."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from golden.formats.names import minifloat
from golden.formats.placed_bits import ROUNDS, columns_of_block, placed_bits, simon32
from hw.npe.rounding.placed_bits import PlacedBits

SEEDS = (0, 1, 2, 0x12345678, (1 << 31) - 1)
LEAST = 1e-4
"""Least chance of a statistic that passes; seeds are fixed, and so is what comes out."""


def numbers(seed: int, width: int, rows: int = 256, columns: int = 256) -> np.ndarray:
    return placed_bits(seed, *np.indices((rows, columns), sparse=True), width).numbers


def encrypted(block: tuple[int, int], key: tuple[int, ...], rounds: int) -> tuple[int, ...]:
    words = np.array(block[0]), np.array(block[1])
    return tuple(int(word) for word in simon32(words, key, rounds))


def test_all_rounds_are_the_published_block() -> None:
    """The one vector of SIMON32/64, of its authors' paper; twelve rounds are a begin of it."""
    key = (0x0100, 0x0908, 0x1110, 0x1918)
    assert encrypted((0x6565, 0x6877), key, 32) == (0xC69B, 0xE9BB)
    left, right = 0x6565, 0x6877
    one, eight, two = ((left << by | left >> 16 - by) & 0xFFFF for by in (1, 8, 2))
    assert encrypted((left, right), key, 1) == (right ^ one & eight ^ two ^ key[0], left)


@pytest.mark.parametrize("width", [4, 7, 8, 16])
@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_spread_evenly(seed: int, width: int) -> None:
    counts = np.bincount(numbers(seed, width).ravel() >> max(width - 8, 0))
    assert stats.chisquare(counts).pvalue > LEAST


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("step", [(0, 1), (1, 0), (1, 1), (0, 4), (0, 16), (16, 0), (1, -1)])
def test_neighbours_have_nothing_in_common(seed: int, step: tuple[int, int]) -> None:
    here = numbers(seed, 8)
    there = np.roll(here, (-step[0], -step[1]), (0, 1))[:-16, 16:-16]
    here = here[:-16, 16:-16]
    table = np.zeros((16, 16))
    np.add.at(table, (here >> 4, there >> 4), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST
    table = np.zeros((16, 16))
    np.add.at(table, (here & 15, there & 15), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST


@pytest.mark.parametrize("steps", list(pairwise((0, 1, 2, 3, 1 << 16, 1 << 30))))
def test_seeds_have_nothing_in_common(steps: tuple[int, int]) -> None:
    table = np.zeros((16, 16))
    one, other = (numbers(seed, 4).ravel() for seed in steps)
    np.add.at(table, (one, other), 1)
    assert stats.chi2_contingency(table).pvalue > LEAST


def test_each_bit_of_a_place_and_of_a_seed_turns_half_of_all_bits() -> None:
    """The reason for the rounds: with ten, some bits turn 2 % too seldom."""
    rng, count = np.random.default_rng(5), 30_000
    half, worst = 0.5, 5 / 2 / np.sqrt(count)
    words = [rng.integers(0, 1 << bits, count) for bits in (16, 16, 16, 8, 16, 15)]
    made = simon32((words[0], words[1] & 63), tuple(words[2:]), ROUNDS)
    for word, bits in enumerate((16, 6, 16, 8, 16, 15)):
        for bit in range(bits):
            other = [one ^ (1 << bit) * (at == word) for at, one in enumerate(words)]
            turned = simon32((other[0], other[1] & 63), tuple(other[2:]), ROUNDS)
            for before, after in zip(made, turned, strict=True):
                shares = ((before ^ after)[:, None] >> np.arange(16) & 1).mean(axis=0)
                assert abs(shares - half).max() < worst


@pytest.mark.parametrize("width", [4, 8, 12])
def test_the_mean_of_rounded_numbers_is_the_number(width: int) -> None:
    """But for what is below the random bits, which is dropped, as gfloat does."""
    fmt = minifloat("e4m3")
    for number, value in enumerate((1.03, -1.03, 1.0625, 200.9, 0.00137, -3.999)):
        bits = placed_bits(number, *np.indices((300, 300), sparse=True), width)
        values = fmt.to_float(
            fmt.encode(np.full((300, 300), value), rounding="stochastic", random=bits)
        )
        steps = np.unique(abs(values))
        assert len(steps) == 2
        place = steps[1] - steps[0]
        exact = steps[0] + np.floor((abs(value) - steps[0]) / place * 2**width) / 2**width * place
        chance = (exact - steps[0]) / place
        error = 5 * place * np.sqrt(chance * (1 - chance) / values.size)
        assert abs(abs(values).mean() - exact) <= error + 1e-12


def test_bits_depend_on_the_place_alone() -> None:
    whole = numbers(7, 8)
    part = placed_bits(7, np.arange(40, 50)[:, None], np.arange(3, 90)[None], 8)
    assert np.array_equal(part.numbers, whole[40:50, 3:90])
    far = placed_bits(7, np.array([1 << 16, 1 << 23]), np.array([1 << 18, 1 << 23]), 8)
    assert len({*far.numbers.tolist(), *whole[0, :2].tolist()}) == 4


@pytest.mark.parametrize(("width", "each"), [(4, 8), (5, 4), (8, 4), (9, 2), (16, 2)])
def test_columns_of_a_block(width: int, each: int) -> None:
    assert columns_of_block(width) == each == PlacedBits(width, 4).each
    same = placed_bits(1, np.array(0), np.arange(each), width).numbers
    block = sum(int(one) << width * at for at, one in enumerate(same))
    left, right = simon32((np.array(0), np.array(0)), (0, 0, 1, 0), ROUNDS)
    assert block == (int(left) << 16 | int(right)) & (1 << width * each) - 1


@pytest.mark.parametrize(("seed", "width"), [(-1, 8), (1 << 31, 8), (0, 3), (0, 17)])
def test_seeds_and_widths_out_of_range_are_refused(seed: int, width: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        placed_bits(seed, np.array(0), np.array(0), width)
