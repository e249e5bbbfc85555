"""Fast products of weights in groups are those of the slow ones, bit by bit."""

import numpy as np
import pytest

from golden.lut.grouped import FastWeights
from golden.lut.scale import activation_sums, group_sums, scale_groups
from golden.lut.weights import GroupedWeights


def weights(
    rng: np.random.Generator, levels: str, bits: int, k: int = 96, columns: int = 7
) -> GroupedWeights:
    def halves(scale: float) -> np.ndarray:
        values = rng.normal(0, scale, (k // 32, columns)).astype(np.float16)
        return values.view(np.uint16).astype(np.int64)

    return GroupedWeights(
        codes=rng.integers(0, 3 if levels == "ternary" else 1 << bits, (k, columns)),
        bits=bits,
        levels=levels,
        group=32,
        scale_format="fp16",
        scales=halves(0.01),
        zeros=np.full((k // 32, columns), 1 << bits - 1) if levels == "uniform" else None,
        offsets=halves(0.1) if levels == "affine" else None,
    )


@pytest.mark.parametrize(
    ("levels", "bits"),
    [("affine", 4), ("uniform", 4), ("uniform", 8), ("affine", 5), ("ternary", 2)],
)
def test_fast_products_are_those_of_scale_groups(levels: str, bits: int) -> None:
    rng = np.random.default_rng(bits)
    whole = weights(rng, levels, bits)
    a, powers = rng.integers(-127, 128, (5, 96)), rng.integers(-20, 20, (5, 3))
    sums = group_sums(a, whole.integers, 32)
    wanted = scale_groups(whole, sums, activation_sums(a, 32), exponents=powers.T)
    found = FastWeights(whole).product(a, powers)
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize(
    ("levels", "bits", "zeros", "kind"),
    [
        ("uniform", 4, (0, 16), np.int8),
        ("uniform", 8, (128, 128), np.int8),
        ("uniform", 8, (127, 128), np.int16),
        ("uniform", 8, (0, 256), np.int16),
        ("uniform", 7, (1, 128), np.int8),
        ("uniform", 7, (0, 129), np.int16),
        ("uniform", 2, (-100, 100), np.int8),
        ("uniform", 2, (-126, 0), np.int16),
        ("uniform", 2, (-3000, 40), np.int16),
        ("affine", 8, None, np.int16),
        ("affine", 7, None, np.int8),
        ("ternary", 2, None, np.int8),
    ],
)
def test_integers_are_of_the_smallest_type(
    levels: str, bits: int, zeros: tuple[int, int] | None, kind: type[np.integer]
) -> None:
    """With zero points at both ends of what they are; codes may be of 16 bits."""
    rng = np.random.default_rng(bits)
    whole = weights(rng, levels, bits)
    if zeros is not None:
        whole = whole.replaced(zeros=rng.choice(zeros, (3, 7)))
    whole.codes[0, :2] = 0, 2 if levels == "ternary" else (1 << bits) - 1
    fast = FastWeights(whole.replaced(codes=whole.codes.astype(np.int16)))
    assert fast.integers.dtype == kind
    assert np.array_equal(fast.integers.reshape(96, 7), whole.integers)
    assert fast.greatest == np.abs(whole.integers).max()
    a, powers = rng.integers(-40, 41, (5, 96)), rng.integers(-20, 20, (5, 3))
    sums = group_sums(a, whole.integers, 32)
    wanted = scale_groups(whole, sums, activation_sums(a, 32), exponents=powers.T)
    assert np.array_equal(fast.product(a, powers).view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("levels", ["affine", "uniform"])
def test_fast_products_of_many_columns_and_of_extremes(levels: str) -> None:
    """Columns are cut where a core's cache is full; here all of 0, few, and the last ones."""
    rng = np.random.default_rng(4)
    columns = (1 << 17) // 2048 + 3
    whole = weights(rng, levels, 8, columns=columns)
    whole.codes[:, :20] = np.where(rng.random((96, 20)) < 0.5, 0, 255)
    a, powers = rng.integers(-127, 128, (2048, 96)), rng.integers(-60, 61, (2048, 3))
    a[:40], powers[:40] = np.where(rng.random((40, 96)) < 0.5, -127, 127), 60
    a[40:60] = 127
    powers[20:50], a[60] = -60, 0
    sums = group_sums(a, whole.integers, 32)
    wanted = scale_groups(whole, sums, activation_sums(a, 32), exponents=powers.T)
    found = FastWeights(whole).product(a, powers)
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


def test_fast_products_of_one_row() -> None:
    """Columns are cut where weights, as floats, fill a core's cache."""
    rng = np.random.default_rng(5)
    whole = weights(rng, "uniform", 4, columns=(1 << 16) // 32 + 3)
    a, powers = rng.integers(-127, 128, (1, 96)), rng.integers(-20, 20, (1, 3))
    sums = group_sums(a, whole.integers, 32)
    wanted = scale_groups(whole, sums, activation_sums(a, 32), exponents=powers.T)
    found = FastWeights(whole).product(a, powers)
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


def test_fast_products_refuse_what_is_not_exact() -> None:
    rng = np.random.default_rng(1)
    fast = FastWeights(weights(rng, "uniform", 8))
    zeros = np.zeros((1, 3), np.int64)
    for a, powers, says in (
        (np.ones((1, 95), np.int64), zeros, "a must be M x 96"),
        (np.ones((1, 96), np.int64), zeros + 61, "powers must be -60..60"),
        (np.full((1, 96), 1 << 13), zeros, "sums of groups must be below"),
    ):
        with pytest.raises(ValueError, match=says):
            fast.product(a, powers)
    with pytest.raises(ValueError, match="whole groups of 32"):
        FastWeights(weights(rng, "uniform", 4).replaced(codes=np.zeros((95, 7), np.int64)))
