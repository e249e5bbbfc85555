"""Golden requantiser against gemmlowp's, TFLite's and HAWQ's definitions in exact integers."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from golden.npe.requantiser import Requantisation, RequantiserSpec, dyadic, requantiser

WIDE: dict[str, Any] = {"n": 1, "out_width": 16}
TOP = (1 << 31) - 1


def high_mul(a: int, b: int) -> int:
    """Multiply as gemmlowp's SaturatingRoundingDoublingHighMul: nudge, divide toward zero."""
    if a == b == -(1 << 31):
        return TOP
    nudge = 1 << 30 if a * b >= 0 else 1 - (1 << 30)
    quotient = abs(a * b + nudge) >> 31
    return quotient if a * b + nudge >= 0 else -quotient


def divide_by_power(x: int, exponent: int) -> int:
    """Divide as gemmlowp's RoundingDivideByPOT."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))


def tflite(x: int, multiplier: int, shift: int) -> int:
    """Scale as TFLite's MultiplyByQuantizedMultiplier; `shift` is to the left, and exact."""
    left = x << max(shift, 0)
    return divide_by_power(high_mul(left, multiplier), max(-shift, 0))


def tflite_single(x: int, multiplier: int, shift: int) -> int:
    """Do the same with TFLITE_SINGLE_ROUNDING."""
    right = 31 - shift
    return (x * multiplier + (1 << right - 1)) >> right


def hawq(x: int, multiplier: int, shift: int) -> int:
    """Round as HAWQ-V3, an exact quotient; Fractions round halves to even."""
    return round(Fraction(x * multiplier, 1 << 31 - shift))


REFERENCES = {"double": tflite, "single": tflite_single, "even": hawq}


def codes(spec: RequantiserSpec, sums: list[int], multiplier: int, shift: int) -> list[int]:
    """Requantise with a left shift as TFLite counts it, without a zero point."""
    how = Requantisation(
        multiplier=np.array([multiplier]), shift=np.array([31 - shift]), zero_point=np.array([0])
    )
    return requantiser(spec, np.array(sums)[:, None], how)[:, 0].tolist()


def sums_for(rng: np.random.Generator, multiplier: int, shift: int) -> list[int]:
    """Draw sums of all sizes, corners, and such as come to half a code or next to it."""
    wide = (rng.integers(-(1 << 31), 1 << 31, 60) >> rng.integers(0, 31, 60)).tolist()
    halves = [
        int(Fraction(odd << 31 - shift, 2 * max(multiplier, 1))) + step
        for odd in range(-9, 10)
        for step in (-1, 0, 1)
    ]
    corners = [-(1 << 31), 1 - (1 << 31), -2, -1, 0, 1, 2, TOP - 1, TOP]
    return wide + corners + [x for x in halves if -(1 << 31) <= x <= TOP]


@pytest.mark.parametrize("rounding", REFERENCES)
def test_requantiser_matches_definition(rounding: str) -> None:
    rng = np.random.default_rng(1)
    spec = RequantiserSpec(**WIDE, rounding=rounding)
    for shift in range(-31, 31):
        normal = [1 << 30, TOP, (1 << 30) + 1, *rng.integers(1 << 30, 1 << 31, 3).tolist(), 0]
        for multiplier in normal:
            sums = sums_for(rng, multiplier, shift)
            exact = [REFERENCES[rounding](x, multiplier, shift) for x in sums]
            expected = np.clip(exact, -(1 << 15), (1 << 15) - 1).tolist()
            assert codes(spec, sums, multiplier, shift) == expected, (multiplier, shift)


def test_high_mul_corner_is_out_of_reach() -> None:
    """The one product that gemmlowp saturates needs a negative multiplier."""
    lowest = -(1 << 31)
    assert high_mul(lowest, lowest) == TOP
    spec = RequantiserSpec(n=1)
    with pytest.raises(ValueError, match=r"multiplier must be 0\.\.2147483647"):
        codes(spec, [lowest], lowest, 0)
    assert high_mul(lowest, TOP) == -TOP
    assert codes(RequantiserSpec(**WIDE), [lowest], TOP, -16) == [-(1 << 15)]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("single", [-2, -1, -1, 0, 0, 1, 1, 2, 2]),
        ("double", [-2, -2, -1, -1, 0, 1, 1, 2, 2]),
        ("even", [-2, -2, -1, 0, 0, 0, 1, 2, 2]),
    ],
)
def test_ties(rounding: str, expected: list[int]) -> None:
    """Halves, times 1/2 exactly: M = 2^30 and shift -1 are a quarter, of twice the integer."""
    found = codes(RequantiserSpec(**WIDE, rounding=rounding), list(range(-8, 9, 2)), 1 << 30, -1)
    assert found == expected


@pytest.mark.parametrize("rounding", ["single", "even"])
def test_all_products_of_few_bits(rounding: str) -> None:
    """Python's fractions round halves to even; and halves are where the docstring says."""
    spec = RequantiserSpec(n=1, width=6, multiplier_width=4, out_width=16, rounding=rounding)
    z = np.arange(-32, 32)
    halves = 0
    for multiplier in range(16):
        for shift in (*range(13), 63):
            how = Requantisation(
                multiplier=np.array([multiplier]), shift=np.array([shift]), zero_point=np.array([3])
            )
            found = requantiser(spec, z[:, None], how)[:, 0].tolist()
            for x, code in zip(z.tolist(), found, strict=True):
                exact = Fraction(x * multiplier, 1 << shift)
                half = exact % 1 == Fraction(1, 2)
                lowest = x * multiplier & -(x * multiplier)
                assert half == (2 * lowest == 1 << shift > 1)
                up = half and rounding == "single" and round(exact) < exact
                assert code == round(exact) + up + 3, (x, multiplier, shift)
                halves += half
    assert halves > 500


@pytest.mark.parametrize("places", [3, 5, 9])
def test_halves_are_as_frequent_as_the_docstring_says(places: int) -> None:
    """Of sums at random times 2^-places: one code in 2^(places + 1) differs."""
    sums = np.random.default_rng(5).integers(-(1 << 14 + places), 1 << 14 + places, (1 << 16, 1))
    how = Requantisation(
        multiplier=np.array([1 << 30]), shift=np.array([30 + places]), zero_point=np.array([0])
    )
    single, even = (
        requantiser(RequantiserSpec(**WIDE, rounding=rounding), sums, how)
        for rounding in ("single", "even")
    )
    assert np.mean(single != even) == pytest.approx(2.0 ** -(places + 1), rel=0.25)


def test_left_shift_does_not_overflow_as_tflites_does() -> None:
    """`x * (1 << left_shift)` of 32-bit integers, taken modulo 2^32: other codes, here limits."""
    spec = RequantiserSpec(**WIDE, rounding="double")
    differ = 0
    for shift in range(1, 31):
        for x in (-(1 << 31), -(1 << 31 - shift) - 1, -70001, 70001, 1 << 31 - shift, TOP):
            exact = x << shift
            wrapped = (exact + (1 << 31)) % (1 << 32) - (1 << 31)
            theirs = min(max(high_mul(wrapped, 1 << 30), -(1 << 15)), (1 << 15) - 1)
            (ours,) = codes(spec, [x], 1 << 30, shift)
            if wrapped == exact:
                assert ours == theirs
            else:
                assert ours == ((1 << 15) - 1 if x > 0 else -(1 << 15))
                differ += ours != theirs
    assert differ > 50


@pytest.mark.parametrize("rounding", REFERENCES)
@pytest.mark.parametrize("width", [4, 9, 16])
def test_what_leaves_the_accumulator_is_a_limit(rounding: str, width: int) -> None:
    """As the docstring says: sums times a power of two or more, one bit less in the code."""
    spec = RequantiserSpec(
        n=1, width=width, multiplier_width=5, out_width=width - 1, rounding=rounding
    )
    for shift in range(5):
        x = np.arange(-(1 << width - 1), 1 << width - 1)
        beyond = x[(x << 5 - shift < -(1 << width - 1)) | (x << 5 - shift >= 1 << width - 1)]
        for multiplier in (16, 31):
            how = Requantisation(
                multiplier=np.array([multiplier]), shift=np.array([shift]), zero_point=np.array([0])
            )
            found = requantiser(spec, beyond[:, None], how)[:, 0]
            limits = np.where(beyond > 0, spec.out_format.high, spec.out_format.low)
            assert np.array_equal(found, limits)


def test_shift_of_zero_is_the_product() -> None:
    for rounding in REFERENCES:
        spec = RequantiserSpec(**WIDE, multiplier_width=16, rounding=rounding)
        how = Requantisation(
            multiplier=np.array([7]), shift=np.array([0]), zero_point=np.array([-3])
        )
        assert requantiser(spec, np.array([[5], [-5]]), how).tolist() == [[32], [-38]]


@pytest.mark.parametrize(
    ("right", "percent"), [(0, 0.0), (1, 24.6), (2, 12.8), (3, 6.4), (4, 3.1), (8, 0.18), (14, 0.0)]
)
def test_single_and_double_rounding_differ_as_often_as_measured(right: int, percent: float) -> None:
    """Of uniform sums; the shares are those of another implementation, with |sum| < 2^20."""
    rng = np.random.default_rng(3)
    count, columns = 2000, 256
    # So many that no code saturates, which would hide a difference.
    most = 1 << min(15 + right, 20)
    sums = rng.integers(1 - most, most, (count, columns))
    how = Requantisation(
        multiplier=rng.integers(1 << 30, 1 << 31, columns),
        shift=np.full(columns, 31 + right),
        zero_point=np.zeros(columns, dtype=np.int64),
    )
    single, double = (
        requantiser(
            RequantiserSpec(n=columns, out_width=16, per_column=True, rounding=rounding), sums, how
        )
        for rounding in ("single", "double")
    )
    assert abs(single - double).max() <= 1
    assert 100 * np.mean(single != double) == pytest.approx(percent, rel=0.1, abs=0.01)


def test_bias_wraps_as_the_accumulator() -> None:
    spec = RequantiserSpec(n=2, width=8, multiplier_width=2, bias=True)
    how = Requantisation(
        multiplier=np.array([1]),
        shift=np.array([0]),
        zero_point=np.array([0]),
        bias=np.array([100, -100]),
    )
    assert requantiser(spec, np.array([[100, -100], [1, 2]]), how).tolist() == [
        [-56, 56],
        [101, -98],
    ]


def test_limits_and_relu() -> None:
    spec = RequantiserSpec(n=3, out_signed=False, per_column=True)
    how = Requantisation(
        multiplier=np.array([1 << 30] * 3),
        shift=np.array([30] * 3),
        zero_point=np.array([10, 128, 0]),
        low=5,
        high=200,
        relu=True,
    )
    sums = np.array([[-9, -9, -9], [9, 9, 9], [1000, 100, 1]])
    assert requantiser(spec, sums, how).tolist() == [[10, 128, 5], [19, 137, 9], [200, 200, 5]]


@pytest.mark.parametrize("width", [31, 16, 8])
def test_dyadic_is_the_nearest(width: int) -> None:
    rng = np.random.default_rng(4)
    scales = 2.0 ** rng.uniform(-31, width - 1, 2000)
    multipliers, shifts = dyadic(scales, width)
    for scale, multiplier, shift in zip(scales, multipliers, shifts, strict=True):
        assert 1 << width - 1 <= multiplier < 1 << width
        error = abs(Fraction(int(multiplier), 1 << int(shift)) - Fraction(float(scale)))
        assert error <= Fraction(1, 2 << int(shift))


def test_dyadic_corners() -> None:
    def both(scale: float, width: int = 31) -> tuple[int, int]:
        multiplier, shift = dyadic(scale, width)
        return int(multiplier[0]), int(shift[0])

    assert both(1.0) == (1 << 30, 30)
    assert both(0.5) == (1 << 30, 31)
    assert both(1 - 2.0**-40) == (1 << 30, 30)
    assert both(0.0) == (0, 31)
    assert both(2.0**-32) == (1 << 30, 62)
    assert both(2.0**-33) == (0, 31)
    assert both(3.0, 2) == (3, 0)
    # A half rounds up: 4.5 * 2^-3 in three bits.
    assert both(4.5 / 8, 3) == (5, 3)
    for scale in (-1.0, 2.0**31, float("nan"), 2.0**31 - 2.0**-1):
        with pytest.raises(ValueError, match="scale must"):
            dyadic(scale)


def test_requantiser_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"width must be 4\.\.63 bits, not 8\.0"):
        RequantiserSpec(width=8.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="per_column must be true or false, not 1"):
        RequantiserSpec(per_column=1)  # type: ignore[arg-type]


def test_requantiser_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match="rounding must be one of single, double, even, not 'up'"):
        RequantiserSpec(rounding="up")
    spec = RequantiserSpec(n=2)
    sums = np.zeros((1, 2), dtype=np.int64)

    def how(**fields: object) -> Requantisation:
        ones = {name: np.array([1]) for name in ("multiplier", "shift", "zero_point")}
        return Requantisation(**(ones | fields))  # type: ignore[arg-type]

    refused = [
        (how(shift=np.array([64])), r"shift must be 0\.\.63"),
        (how(zero_point=np.array([128])), r"zero_point must be -128\.\.127"),
        (how(shift=np.array([1, 1])), r"shift must be 1 in a row, not of shape \(2,\)"),
        (how(low=5, high=4), "high must be 5 or more, not 4"),
        (how(high=0, relu=True), "high must be 1 or more, not 0"),
        (how(bias=np.array([0, 0])), "bias must be None"),
    ]
    for each, message in refused:
        with pytest.raises(ValueError, match=message):
            requantiser(spec, sums, each)
