"""Golden Shiftmax and ShiftGELU against I-ViT's definitions, and against what they approximate."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from golden.npe.activation import exp_shift
from golden.npe.shift_gelu import ShiftGeluSpec, shift_gelu
from golden.npe.shiftmax import ShiftmaxSpec, shiftmax

TOP = (1 << 31) - 1


def int_exp_shift(x: int, scale: Fraction, octaves: int) -> int:
    """Make the exponential as I-ViT's published code does, its floats being exact here."""
    x = x + math.floor(Fraction(x, 2)) - math.floor(Fraction(x, 16))
    x0 = math.floor(-1 / scale)
    x = max(x, octaves * x0)
    q = math.floor(Fraction(x, x0))
    r = x - x0 * q
    return max(math.floor((Fraction(r, 2) - x0) * Fraction(2) ** (octaves - q)), 0)


def int_softmax(row: list[int], scale: Fraction, octaves: int, bits: int) -> list[int]:
    """Make probabilities as I-ViT's IntSoftmax."""
    exponentials = [int_exp_shift(x - max(row), scale, octaves) for x in row]
    factor = math.floor(Fraction(TOP, min(sum(exponentials), TOP)))
    return [math.floor(Fraction(e * factor, 1 << 31 - bits + 1)) for e in exponentials]


def int_gelu(row: list[int], scale: Fraction, octaves: int, bits: int) -> list[int]:
    """Apply I-ViT's IntGELU; `scale` is that of the sigmoid's argument."""
    top = max(row)
    of_top = int_exp_shift(-top, scale, octaves)
    results = []
    for x in row:
        exponential = int_exp_shift(x - top, scale, octaves)
        factor = math.floor(Fraction(TOP, min(exponential + of_top, TOP)))
        results.append(x * math.floor(Fraction(exponential * factor, 1 << 31 - bits + 1)))
    return results


SCALES = [
    Fraction(1),
    Fraction(1, 4),
    Fraction(1, 16),
    Fraction(11, 100),
    Fraction(1, 100),
    Fraction(3, 1000),
]


def inverse(scale: Fraction) -> int:
    return math.ceil(1 / scale)


@pytest.mark.sample(7)
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("octaves", [1, 15, 22])
def test_exponential_matches_definition(scale: Fraction, octaves: int) -> None:
    spec = ShiftmaxSpec(inverse_scale=inverse(scale), octaves=octaves, width=12)
    expected = [int_exp_shift(-x, scale, octaves) for x in range(4096)]
    assert exp_shift(spec, -np.arange(4096)).tolist() == expected
    assert expected[0] == spec.greatest
    assert min(expected) >= 1


@pytest.mark.sample(7)
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("bits", [2, 8, 16])
def test_shiftmax_matches_definition(scale: Fraction, bits: int) -> None:
    rng = np.random.default_rng(1)
    spec = ShiftmaxSpec(inverse_scale=inverse(scale), out_width=bits, length=4096)
    rows = [rng.integers(-128, 128, length) for length in (1, 2, 3, 17, 197)]
    rows += [np.full(length, code) for length in (1, 64, 999) for code in (-128, 127)]
    rows += [np.array([-128, 127]), np.clip(np.rint(rng.normal(0, 20, 64)), -128, 127).astype(int)]
    for row in rows:
        found = shiftmax(spec, row).tolist()
        assert found == int_softmax(row.tolist(), scale, 15, bits)
        # Rows sum to more than one only where the sum of the exponentials saturates.
        assert sum(found) <= 1 << bits - 1 or exp_shift(spec, row - row.max()).sum() > TOP
        assert max(found) <= spec.out_format.high


def test_sum_of_exponentials_saturates() -> None:
    spec = ShiftmaxSpec(inverse_scale=4096, octaves=15, length=64)
    row = np.zeros(64, dtype=int)
    assert int(exp_shift(spec, row).sum()) > TOP
    assert shiftmax(spec, row).tolist() == int_softmax([0] * 64, Fraction(1, 4096), 15, 8)


@pytest.mark.parametrize(
    ("bits", "length", "inverse_scale", "total"),
    [
        (8, 127, 16, 127 / 128),
        (8, 128, 16, 0.0),
        (8, 197, 16, 0.0),
        (8, 1000, 64, 0.0),
        (16, 1024, 16, 0.75),
        (16, 2049, 16, 0.5),
        (16, 1025, 64, 1025 / 1024),
        (16, 1024, 4096, 64.0),
    ],
)
def test_rows_of_equal_values_sum_to_what_is_stated(
    bits: int, length: int, inverse_scale: int, total: float
) -> None:
    spec = ShiftmaxSpec(out_width=bits, length=4096, inverse_scale=inverse_scale)
    found = shiftmax(spec, np.full(length, 5)).sum() / 2 ** (bits - 1)
    low, high = spec.bounds(length)
    assert found == pytest.approx(total, rel=0.001)
    assert low <= found <= high


def test_bounds_hold_for_every_row() -> None:
    """And are near for some, so that they say where a unit is a softmax."""
    rng = np.random.default_rng(5)
    nearest = 1.0
    for bits, inverse, octaves in itertools.product((2, 8, 16), (1, 59, 4096), (1, 15, 18)):
        spec = ShiftmaxSpec(
            out_width=bits, length=4096, inverse_scale=inverse, octaves=octaves, width=12
        )
        for length in (1, 2, 5, 64, 1000, 4096):
            low, high = spec.bounds(length)
            rows = [
                rng.integers(-deviation, deviation + 1, (3, length))
                for deviation in (0, 1, inverse // 3, 2000)
            ]
            sums = shiftmax(spec, np.concatenate(rows)).sum(axis=1) / 2 ** (bits - 1)
            assert low <= sums.min()
            assert sums.max() <= high
            if low > 0.1:
                nearest = min(nearest, sums.min() - low)
    assert nearest < 0.01


@pytest.mark.parametrize(("octaves", "gelu", "swish"), [(23, 0.301, 0.281), (15, 0.040, 0.020)])
def test_errors_of_shift_gelu_are_those_stated(octaves: int, gelu: float, swish: float) -> None:
    """The largest of all 8-bit values, in rows of all maxima."""
    spec = ShiftGeluSpec(inverse_scale=32, octaves=octaves)
    codes, step = np.arange(-128, 128), 1 / (1.702 * 32)
    worst = np.zeros(2)
    for top in range(-128, 128):
        x = codes[: top + 129]
        found = shift_gelu(spec, np.stack([x, np.full_like(x, top)], axis=1))[:, 0] * step / 128
        reals = (x * step).tolist()
        exact = [
            [real * (1 + math.erf(real / math.sqrt(2))) / 2 for real in reals],
            [real / (1 + math.exp(-1.702 * real)) for real in reals],
        ]
        worst = np.maximum(worst, np.abs(found - np.array(exact)).max(axis=1))
    assert np.round(worst, 3).tolist() == [gelu, swish]


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
@pytest.mark.parametrize("octaves", [12, 22])
def test_shift_gelu_matches_definition(scale: Fraction, octaves: int) -> None:
    rng = np.random.default_rng(2)
    spec = ShiftGeluSpec(inverse_scale=inverse(scale), octaves=octaves, length=300)
    rows = [np.append(np.arange(-128, 128), top) for top in (127, 50, 0)]
    rows = [row[row <= row[-1]] for row in rows]
    rows += [np.append(rng.integers(-128, 128, length), 0) for length in (1, 5, 64)]
    for row in rows:
        assert shift_gelu(spec, row).tolist() == int_gelu(row.tolist(), scale, octaves, 8)


def test_rows_of_negative_values_are_as_if_a_zero_were_there() -> None:
    """Where I-ViT's own exponential would be of a positive number."""
    rng = np.random.default_rng(3)
    spec = ShiftGeluSpec(inverse_scale=16, octaves=18)
    row = rng.integers(-128, 0, 63)
    assert np.array_equal(shift_gelu(spec, row), shift_gelu(spec, np.append(row, 0))[:-1])


@pytest.mark.parametrize(
    ("inverse_scale", "error", "sum_error"),
    [(4, 0.060, 0.34), (16, 0.031, 0.34), (100, 0.022, 0.53)],
)
def test_shiftmax_is_near_softmax(inverse_scale: int, error: float, sum_error: float) -> None:
    """Bounds are rounded-up measurements: rows of 8 and 64 normal values, all deviations."""
    rng = np.random.default_rng(4)
    spec = ShiftmaxSpec(inverse_scale=inverse_scale)
    worst, lost = 0.0, 0.0
    for length in (8, 64):
        for deviation in (5, 20, 40):
            rows = rng.normal(0, deviation, (500, length))
            codes = np.clip(np.rint(rows), -128, 127).astype(int)
            found = shiftmax(spec, codes) / 128
            exact = np.exp((codes - codes.max(axis=1, keepdims=True)) / inverse_scale)
            exact /= exact.sum(axis=1, keepdims=True)
            worst = max(worst, abs(found - exact).max())
            lost = max(lost, 1 - found.sum(axis=1).min())
    assert 0.7 * error < worst < error
    assert 0.7 * sum_error < lost < sum_error


@pytest.mark.parametrize(
    ("inverse_scale", "octaves", "error"),
    [(32, 15, 0.020), (59, 15, 0.011), (16, 18, 0.036), (16, 23, 0.30), (59, 23, 0.30)],
)
def test_shift_gelu_is_near_gelu(inverse_scale: int, octaves: int, error: float) -> None:
    """Bounds are rounded-up measurements; more octaves leave the quotient fewer bits."""
    spec = ShiftGeluSpec(inverse_scale=inverse_scale, octaves=octaves)
    step = 1 / (1.702 * inverse_scale)
    x = np.arange(-128, 128)
    found = shift_gelu(spec, np.stack([x, np.full_like(x, 127)], axis=1))[:, 0] * step / 128
    exact = x * step / (1 + np.exp(-1.702 * x * step))
    assert 0.7 * error < abs(found - exact).max() < error


def test_shift_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"length must be 1\.\.4096 values, not 64\.0"):
        ShiftmaxSpec(length=64.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="x must be integers"):
        shiftmax(ShiftmaxSpec(), np.array([0.5]))


def test_shift_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"inverse_scale must be 1\.\.4096, not 0"):
        ShiftmaxSpec(inverse_scale=0)
    limit = r"inverse_scale \* 2\^octaves must be 1\.\.2147483647, not 2147483648"
    with pytest.raises(ValueError, match=limit):
        ShiftGeluSpec(inverse_scale=256)
    long = np.zeros(65, dtype=int)
    with pytest.raises(ValueError, match=r"rows must be of 1\.\.64 values, not 65"):
        shiftmax(ShiftmaxSpec(), long)
    with pytest.raises(ValueError, match=r"rows must be of 1\.\.64 values, not 65"):
        shift_gelu(ShiftGeluSpec(), long)
    with pytest.raises(ValueError, match=r"x must be -128\.\.127"):
        shiftmax(ShiftmaxSpec(), np.array([128]))
    with pytest.raises(ValueError, match=r"x must be -128\.\.127"):
        shift_gelu(ShiftGeluSpec(), np.array([128]))
