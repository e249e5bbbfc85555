"""Exact values and integers: rounding to odd, fixed point, every rounding of an integer format."""

import random
from fractions import Fraction

import numpy as np
import pytest

from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.names import parse
from verif.golden.formats.reference import NAN, element, points, rounded, value


def exact(pairs: list[tuple[int, int]]) -> Exact:
    """Values significand * 2^exponent, in int64 if they fit."""
    kind = np.int64 if all(abs(s) < 1 << 63 for s, _ in pairs) else object
    return Exact.finite(
        np.array([s for s, _ in pairs], dtype=kind), np.array([e for _, e in pairs])
    )


def fractions(values: Exact) -> list[Fraction]:
    return [
        int(s) * Fraction(2) ** int(e)
        for s, e in zip(values.significand, values.exponent, strict=True)
    ]


def draw(seed: int, width: int, count: int = 500) -> list[tuple[int, int]]:
    """Significands of up to so many bits, runs of ones and zeros among them."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        bits = rng.randint(0, width)
        significand = (
            rng.getrandbits(bits) if rng.random() < 0.5 else (1 << bits) - rng.choice([0, 1])
        )
        significand = min(significand, (1 << width) - 1)
        if rng.random() < 0.3 and bits > 55:
            significand = (significand >> bits - 54 << bits - 54) + rng.choice([0, 1])
        pairs.append((rng.choice([-1, 1]) * significand, rng.randint(-90, 90)))
    return pairs


@pytest.mark.parametrize("width", [20, 53, 54, 55, 63, 64, 130, 600])
def test_to_odd_is_exact_or_odd_between_neighbours(width: int) -> None:
    values = exact(draw(width, width))
    doubles = values.to_odd()
    inexact = 0
    for number, double in zip(fractions(values), doubles.tolist(), strict=True):
        if Fraction(double) == number:
            continue
        inexact += 1
        low, high = sorted([double, np.nextafter(double, np.inf if number > double else -np.inf)])
        assert Fraction(low) < number < Fraction(high)
        mantissa, _ = np.frexp(double)
        assert int(mantissa * 2**53) % 2 == 1
    assert (inexact > 5) == (width > 53)


def test_to_odd_clips_what_is_beyond_every_format() -> None:
    doubles = exact([(1, 5000), (-3, -5000), (0, 5000), ((1 << 2000) + 1, 0)]).to_odd()
    assert doubles.tolist() == [2.0**999, -0.75 * 2.0**-1000, 0, np.nextafter(2.0**999, 2.0**1000)]


@pytest.mark.parametrize(
    "name", ["e4m3", "e5m5ieee", "posit8e0", "posit12e1", "posit9e3", "int8f6"]
)
def test_rounding_of_long_significands_is_rounding_once(name: str) -> None:
    """Sums just beside a tie, by less than a double can tell."""
    fmt = element(name)
    near = [x for x in points(fmt).tolist() if np.isfinite(x) and 1e-40 < abs(x) < 1e38]
    near = random.Random(1).sample(near, min(len(near), 300))
    pairs = []
    for x in near:
        numerator, denominator = x.as_integer_ratio()
        place = denominator.bit_length() - 1
        pairs += [((numerator << 200) + nudge, -place - 200) for nudge in (-1, 0, 1)]
    values = exact(pairs)
    for rounding in ("rne", "rtz"):
        expected = [rounded(fmt, number, rounding == "rne") for number in fractions(values)]
        assert fmt.encode(values, rounding=rounding).tolist() == expected


def test_from_float_returns() -> None:
    rng = np.random.default_rng(1)
    doubles = rng.integers(0, 1 << 64, 1000, dtype=np.uint64).view(np.float64)
    doubles = doubles[(np.abs(doubles) < 1e290) & (np.abs(doubles) > 1e-290)]
    doubles = np.concatenate([doubles, [0.0, np.inf, -np.inf, np.nan]])
    assert len(doubles) > 500
    assert np.array_equal(Exact.from_float(doubles).to_odd(), doubles, equal_nan=True)


@pytest.mark.parametrize("widths", [(20, 20), (40, 40), (63, 100)])
def test_product_of_exact_values(widths: tuple[int, int]) -> None:
    a, b = exact(draw(1, widths[0])), exact(draw(2, widths[1]))
    expected = [x * y for x, y in zip(fractions(a), fractions(b), strict=True)]
    assert fractions(a * b) == expected


def test_product_of_what_is_no_number() -> None:
    kinds = np.array([0.0, 2.0, -3.0, np.inf, -np.inf, np.nan])
    a, b = np.meshgrid(kinds, kinds)
    with np.errstate(invalid="ignore"):
        expected = a * b
    product = Exact.from_float(a) * Exact.from_float(b)
    assert np.array_equal(product.to_odd(), expected, equal_nan=True)


@pytest.mark.parametrize("width", [10, 60, 200])
def test_fixed_gives_the_integers(width: int) -> None:
    values = exact([(s, e // 10) for s, e in draw(3, width)])
    integers = values.fixed(-12)
    assert [int(x) * Fraction(2) ** -12 for x in integers] == fractions(values)
    with pytest.raises(ValueError, match="lsb must be the exponent of a common divisor, not 9"):
        values.fixed(9)
    assert exact([(8, 0)]).fixed(3).tolist() == [1]


@pytest.mark.parametrize(
    "fmt",
    [
        IntFormat(width=8),
        IntFormat(width=4, signed=False),
        IntFormat(width=8, fraction_width=6),
        IntFormat(width=1),
        IntFormat(width=12, fraction_width=20),
    ],
    ids=lambda fmt: fmt.name,
)
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
def test_integers_round_as_fractions_do(fmt: IntFormat, rounding: str) -> None:
    step = Fraction(1, 1 << fmt.fraction_width)
    quarters = range(4 * fmt.low - 9, 4 * fmt.high + 10)
    numbers = [quarter * step / 4 for quarter in quarters]
    integers = [round(x / step) if rounding == "rne" else int(x / step) for x in numbers]
    doubles = np.array([float(x) for x in numbers])
    expected = [min(max(x, fmt.low), fmt.high) for x in integers]
    assert fmt.encode(doubles, rounding=rounding).tolist() == expected
    assert fmt.encode(Exact.from_float(doubles), rounding=rounding).tolist() == expected
    wrapped = [(x - fmt.low) % (1 << fmt.width) + fmt.low for x in integers]
    assert fmt.encode(doubles, rounding=rounding, saturate=False).tolist() == wrapped
    assert [value(fmt, code) for code in expected] == [
        Fraction(x) for x in fmt.to_float(np.array(expected)).tolist()
    ]


@pytest.mark.parametrize("width", [53, 54, 63])
@pytest.mark.parametrize("signed", [True, False])
def test_wide_integers_round_as_fractions_do(width: int, signed: bool) -> None:
    fmt = IntFormat(width=width, signed=signed)
    pairs = [(s, e // 3) for s, e in draw(width, 90)] + [(fmt.high, 0), (fmt.low, 0), (1, width)]
    values = exact(pairs)
    for rounding, function in (("rne", round), ("rtz", int)):
        integers = [function(x) for x in fractions(values)]
        expected = [min(max(x, fmt.low), fmt.high) for x in integers]
        assert fmt.encode(values, rounding=rounding).tolist() == expected
        wrapped = [(x - fmt.low) % (1 << width) + fmt.low for x in integers]
        assert fmt.encode(values, rounding=rounding, saturate=False).tolist() == wrapped


@pytest.mark.parametrize("width", [8, 62, 63])
def test_integers_beyond_64_bits_saturate_or_wrap(width: int) -> None:
    fmt = IntFormat(width=width)
    for pair in [(1 << 60, 3), (5, 61), (-(1 << 61) - 1, 2), (7, 62), (-3, 63), (3, 200)]:
        integer = pair[0] << pair[1]
        assert fmt.encode(exact([pair])).tolist() == [fmt.high if integer > 0 else fmt.low]
        wrapped = (integer - fmt.low) % (1 << width) + fmt.low
        assert fmt.encode(exact([pair]), saturate=False).tolist() == [wrapped]


def test_integers_of_what_is_no_number() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1e300])
    assert IntFormat(width=8).encode(values).tolist() == [0, 127, -128, 127]
    assert IntFormat(width=8).encode(values[:3], saturate=False).tolist() == [0, 127, -128]
    assert IntFormat(width=60).encode(values).tolist() == [0, 2**59 - 1, -(2**59), 2**59 - 1]
    assert rounded(IntFormat(width=8), NAN) == 0


@pytest.mark.parametrize(
    "name",
    [
        "int8",
        "uint4",
        "int8f6",
        "e2m1",
        "e4m3",
        "bf16",
        "fp32",
        "e4m3fnuz_b3",
        "e5m3ieee",
        "posit8e0",
        "mx_e4m3",
        "mx_int4f2_k64",
        "nvfp4",
    ],
)
def test_names_return(name: str) -> None:
    assert parse(name).name == name


@pytest.mark.parametrize("name", ["", "int", "fp8", "e4m3x", "posit8", "mx_nvfp4", "mx_mx_e4m3"])
def test_names_of_nothing_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name must be that of a format"):
        parse(name)


def test_names_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"width must be 3\.\.32 bits, not 40"):
        parse("posit40e1")
    with pytest.raises(ValueError, match=r"block must be 1\.\.65536, not 0"):
        parse("mx_e2m1_k0")
