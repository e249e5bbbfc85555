"""Shares of one-pass attention against their definition, exact powers, and float64 softmax."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from golden.npe.exps import divide, exps, least_exponent, mantissas, reciprocals, sums
from golden.npe.requantiser import Requantisation
from golden.npe.vector import VectorUnitSpec, softmax
from golden.npe.vector_unit import vector_rows

OPERATIONS = "softmax,exps,divide"
SPECS: list[dict[str, Any]] = [
    {},
    {"signed": True, "block": 32},
    {"width": 15, "scale_width": 8, "out_width": 16},
    {"width": 5, "scale_width": 0, "lanes": 1, "block": 1, "length": 40},
    {"width": 12, "scale_width": 7, "out_width": 15, "signed": True, "length": 24, "block": 8},
    {"width": 16, "scale_width": 8, "out_width": 16, "signed": True},
]


def spec_of(**fields: Any) -> VectorUnitSpec:
    return VectorUnitSpec(operations=OPERATIONS, **fields)


def near(multiplier: int = 1, shift: int = 0) -> Requantisation:
    """Return a requantisation of zero point 0."""
    multipliers, shifts, zeros = (np.array([number]) for number in (multiplier, shift, 0))
    return Requantisation(multiplier=multipliers, shift=shifts, zero_point=zeros)


@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("scale_width", range(9))
def test_mantissas_are_powers_of_two_rounded(scale_width: int, bits: int) -> None:
    """Against mpmath, of 60 digits; no table has more than the greatest code."""
    with mpmath.workdps(60):
        exact = [
            int(mpmath.nint(mpmath.power(2, mpmath.mpf(r) / 2**scale_width + bits - 1)))
            for r in range(1 << scale_width)
        ]
    assert mantissas(scale_width, bits) == [min(one, (1 << bits) - 1) for one in exact]


@pytest.mark.parametrize("width", range(4, 17))
def test_octaves_are_of_the_logarithm(width: int) -> None:
    with mpmath.workdps(60):
        factor = int(mpmath.nint(mpmath.log(mpmath.e, 2) * 2**width))
    spec = VectorUnitSpec(width=width)
    assert spec.octave_factor == factor
    # A value's octaves are less than half of their last bit apart from the exact ones.
    assert abs(factor / 2**width - math.log2(math.e)) * 2 ** (width - 1) <= 0.25


def exact_shares(spec: VectorUnitSpec, row: list[int]) -> tuple[list[int], list[int]]:
    """Follow the definition in fractions, one code after the other."""
    unit, table = 1 << spec.scale_width, mantissas(spec.scale_width, spec.share_width)
    turned = [math.floor(Fraction(x * spec.octave_factor, 1 << spec.width)) for x in row]
    codes: list[int] = []
    exponents: list[int] = []
    for start in range(0, len(row), spec.block):
        # Exponents are bytes.
        part = [
            (min(max(t // unit, -128), 127), t % unit) for t in turned[start : start + spec.block]
        ]
        exponents.append(max(whole for whole, _ in part))
        carried, one = Fraction(1, 2), 1 << spec.carry_width
        for whole, rest in part:
            power = Fraction(table[rest]) / 2 ** (exponents[-1] - whole)
            carried += Fraction(math.floor(power * one), one)
            codes.append(math.floor(carried))
            carried -= codes[-1]
    return codes, exponents


@pytest.mark.parametrize("fields", SPECS, ids=str)
def test_exps_match_definition(fields: dict[str, Any]) -> None:
    spec = spec_of(**fields)
    rng = np.random.default_rng(1)
    high, most = spec.in_format.high, 0
    for length in sorted({
        1,
        2,
        spec.block,
        spec.block + 1,
        spec.length if spec.length < 50 else 50,
    }):
        spread = rng.uniform(0, high, (6, 1))
        rows = np.clip(np.rint(rng.normal(0, spread, (6, length))), -high - 1, high).astype(
            np.int64
        )
        rows[0], rows[1, -1] = -high - 1, high
        codes, exponents = exps(spec, rows)
        assert exponents.shape == (6, spec.blocks(length))
        for row, one, of_blocks in zip(rows.tolist(), codes, exponents, strict=True):
            assert (one.tolist(), of_blocks.tolist()) == exact_shares(spec, row)
        most = max(most, int(codes.max()))
    assert most < 1 << spec.share_width
    assert -128 <= exponents.min() <= exponents.max() <= 127


def test_sums_do_not_depend_on_the_parts_of_a_row() -> None:
    """Parts of a row, and blocks in any order, add up to the same integers of 48 bits or fewer."""
    spec, rng = spec_of(), np.random.default_rng(2)
    x = np.clip(np.rint(rng.normal(0, 40, (8, 4096))), -128, 127).astype(np.int64)
    x[0], x[1] = 127, -128
    values = np.c_[rng.integers(-128, 128, (4096, 6)), np.full(4096, -128), np.ones(4096)]
    values = values.astype(np.int64)
    whole = sums(spec, exps(spec, x), values)
    for part in (64, 112, 1024):
        total = np.zeros_like(whole)
        for at in reversed(range(0, 4096, part)):
            total += sums(spec, exps(spec, x[:, at : at + part]), values[at : at + part])
        assert (total == whole).all()
    normal = abs(whole[2:]).max()
    assert int(normal).bit_length() < 48
    # All shares the greatest, of the greatest exponent: what a build for any scores takes.
    assert int(abs(whole).max()).bit_length() == 8 + 7 + 12 + 11 - least_exponent(spec)


def attention(spec: VectorUnitSpec, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Divide exact sums at the end."""
    total = sums(spec, exps(spec, x), np.c_[values, np.ones(len(values), np.int64)])
    return (total[:, :-1] / total[:, -1:]).astype(float)


def errors(fields: dict[str, Any], sigma: float, length: int) -> tuple[float, float]:
    """Return relative errors of the outputs of one pass, and of softmaxes of whole rows."""
    spec, rng = spec_of(**fields), np.random.default_rng((3, length))
    low, high = spec.in_format.low, spec.in_format.high
    drawn = np.rint(rng.normal(0, sigma, (32, length)) * 2**spec.scale_width)
    x = np.clip(drawn, low, high).astype(np.int64)
    values = rng.integers(-127, 128, (length, 16))
    weights = np.exp((x - x.max(axis=1, keepdims=True)) / 2.0**spec.scale_width)
    right = weights / weights.sum(axis=1, keepdims=True) @ values
    codes, exponents = softmax(spec, x)
    whole = codes @ values / 2.0 ** exponents[:, None]
    one, other = (
        math.sqrt(((made - right) ** 2).mean() / (right**2).mean())
        for made in (attention(spec, x, values), whole)
    )
    return one, other


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("fields", [{}, {"width": 15, "scale_width": 8}, {"block": 32}], ids=str)
def test_one_pass_is_nearer_than_whole_rows_at_every_length(
    fields: dict[str, Any], signed: bool
) -> None:
    """Of the same widths, and flat: within 3 % from 128 keys on."""
    for length in (128, 512, 4096):
        one, whole = errors({**fields, "signed": signed}, 2.0, length)
        assert one < whole / 1.5
        assert one < 0.03


def test_attention_of_extremes() -> None:
    """Equal scores, of any value, make the mean; one key that is far above all is copied."""
    spec, values = spec_of(), np.arange(-24, 24)[:, None]
    for code in (-128, -1, 0, 127):
        assert attention(spec, np.full((1, 48), code), values)[0, 0] == pytest.approx(-0.5, abs=0.1)
    peak = np.full((1, 48), -128)
    peak[0, 40] = 127
    assert attention(spec, peak, values)[0, 0] == pytest.approx(16, abs=1e-3)


@pytest.mark.parametrize("fields", SPECS, ids=str)
def test_divide_is_of_the_reciprocal(fields: dict[str, Any]) -> None:
    """Against fractions; divisors below 1 make a factor of ones."""
    spec = spec_of(**fields)
    high, bits = spec.in_format.high, spec.reciprocal_width - spec.signed
    divisors = np.unique(np.r_[-high - 1, -1, 0, 1, 2, 3, 4, 5, high // 2, high - 1, high])
    factors, digits = reciprocals(spec, divisors)
    for divisor, factor, places in zip(divisors.tolist(), factors, digits, strict=True):
        assert factor.item().bit_length() == bits
        if divisor > 0:
            assert factor == math.floor(Fraction(1 << int(places), divisor))
    rng = np.random.default_rng(5)
    rows = np.c_[rng.integers(-high - 1, high + 1, (len(divisors), 9)), divisors]
    for shift in (0, 2, spec.out_width - 2, 63):
        codes = divide(spec, rows, near(shift=shift))
        limit = (-1 << spec.out_width - 1, (1 << spec.out_width - 1) - 1)
        for row, made, factor, places in zip(rows, codes, factors, digits, strict=True):
            less = max(int(places) + 8 - shift, 0)
            exact = [Fraction(int(x) * 256 * int(factor), 1 << less) for x in row]
            right = [
                min(max(math.floor(x + Fraction(less > 0, 2)), limit[0]), limit[1]) for x in exact
            ]
            assert made.tolist() == right


def test_unit_has_both_operations() -> None:
    spec = spec_of()
    rows = np.random.default_rng(6).integers(-128, 128, (3, 40))
    for one, other in zip(vector_rows(spec, "exps", rows), exps(spec, rows), strict=True):
        np.testing.assert_array_equal(one, other)
    codes, exponents = vector_rows(spec, "divide", rows, near(shift=4))
    np.testing.assert_array_equal(codes, divide(spec, rows, near(shift=4)))
    assert not exponents.any()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"operations": "exps"}, "operations must have both of exps, divide, or none"),
        ({"operations": "softmax,divide"}, "operations must have both of exps, divide, or none"),
        ({"operations": OPERATIONS, "block": 4}, "block must be a power of two of 8 codes"),
        ({"operations": OPERATIONS, "block": 24}, "block must be a power of two .*, not 24"),
        ({"operations": OPERATIONS, "width": 13}, "width must be 12 or less with exps, not 13"),
    ],
)
def test_exps_refuse(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        VectorUnitSpec(**fields)
