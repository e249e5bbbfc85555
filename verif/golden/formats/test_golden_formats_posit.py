"""Posits against their definition, published tables, and posits of one bit more."""

from fractions import Fraction

import numpy as np
import pytest

from golden.formats.posit import PositFormat
from verif.golden.formats.reference import NAN, points, posit, rounded

SMALL = [(width, es) for width in range(3, 11) for es in range(4)]


def form(width: int, es: int) -> PositFormat:
    return PositFormat(width=width, exponent_bits=es)


def all_codes(fmt: PositFormat) -> np.ndarray:
    return np.arange(1 << fmt.width)


@pytest.mark.parametrize(("width", "es"), SMALL)
def test_posit_decodes_its_string_of_bits(width: int, es: int) -> None:
    fmt = form(width, es)
    exact = fmt.decode(all_codes(fmt))
    assert not exact.infinity.any()
    for code in range(1 << width):
        expected = posit(code, width, es)
        assert exact.nan[code] == (expected == NAN) == (code == fmt.nan_code)
        if isinstance(expected, Fraction):
            significand, exponent = int(exact.significand[code]), int(exact.exponent[code])
            assert significand * Fraction(2) ** exponent == expected
            assert abs(significand).bit_length() <= fmt.significand_width
            units = expected / Fraction(2) ** fmt.lsb
            assert units.denominator == 1
            assert fmt.bounds[0] <= units <= fmt.bounds[1]
    assert set(np.unique(exact.exponent)) == set(fmt.exponents)
    assert np.abs(exact.significand).max() == (1 << fmt.significand_width) - 1


def test_posits_of_four_bits() -> None:
    """Es 0 and 1 as listed; squares of those with es 1 are those with es 2."""
    assert form(4, 0).to_float(np.arange(8)).tolist() == [0, 0.25, 0.5, 0.75, 1, 1.5, 2, 4]
    assert form(4, 1).to_float(np.arange(8)).tolist() == [0, 1 / 16, 0.25, 0.5, 1, 2, 4, 16]
    assert form(4, 2).to_float(np.arange(8)).tolist() == [0, 1 / 256, 1 / 16, 0.25, 1, 4, 16, 256]
    for es in (0, 1, 2):
        values = form(4, es).to_float(np.arange(16))
        assert np.array_equal(values[:8:-1], -values[1:8])


@pytest.mark.sample(26)
@pytest.mark.parametrize(("width", "es"), SMALL)
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
def test_posit_rounds_its_string_of_bits(width: int, es: int, rounding: str) -> None:
    """At and next to every posit of one bit more, which are the ties."""
    fmt = form(width, es)
    values = points(fmt)
    expected = [
        rounded(fmt, Fraction(x) if np.isfinite(x) else x, rounding == "rne")
        for x in values.tolist()
    ]
    assert fmt.encode(values, rounding=rounding).tolist() == expected
    assert fmt.encode(values, rounding=rounding, saturate=False).tolist() == expected


@pytest.mark.parametrize(
    ("width", "es", "max_exponent", "significand_width", "fixed_width"),
    [
        (4, 0, 2, 2, 6),
        (4, 1, 4, 1, 10),
        (4, 2, 8, 1, 18),
        (8, 0, 6, 6, 14),
        (8, 1, 12, 5, 26),
        (8, 2, 24, 4, 50),
        (16, 1, 28, 13, 58),
        (16, 2, 56, 12, 114),
    ],
)
def test_posit_parameters(
    width: int, es: int, max_exponent: int, significand_width: int, fixed_width: int
) -> None:
    fmt = form(width, es)
    assert fmt.max_exponent == max_exponent
    assert fmt.lsb == -max_exponent
    assert fmt.significand_width == significand_width
    assert fmt.fixed_width == fixed_width
    assert fmt.to_float(np.array([fmt.max_code, 1])).tolist() == [
        2.0**max_exponent,
        2.0**-max_exponent,
    ]


def test_shifts_of_the_right_aligned_posit8() -> None:
    fmt = form(8, 0)
    assert [exponent - fmt.lsb for exponent in fmt.exponents] == [0, 1, 3, 5, 7, 9, 11, 12]


@pytest.mark.parametrize(("width", "es"), [(3, 0), (3, 3), (32, 0), (32, 3), (17, 1)])
def test_posit_codes_return(width: int, es: int) -> None:
    fmt = form(width, es)
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 1 << width, 20000)
    codes[:4] = [0, 1, fmt.max_code, fmt.max_code + 2]
    assert np.array_equal(fmt.encode(fmt.to_float(codes)), codes)
    assert np.array_equal(fmt.encode(fmt.decode(codes)), codes)


def test_posit_order_is_that_of_integers() -> None:
    fmt = form(10, 2)
    codes = np.arange(-511, 512)
    assert (np.diff(fmt.to_float(codes % 1024)) > 0).all()


def test_posit_rejects() -> None:
    with pytest.raises(ValueError, match=r"width must be 3\.\.32 bits, not 33"):
        form(33, 0)
    with pytest.raises(ValueError, match=r"exponent_bits must be 0\.\.3 bits, not 4"):
        form(8, 4)
    with pytest.raises(TypeError, match=r"width must be 3\.\.32 bits, not '8'"):
        PositFormat(width="8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"codes must be 0\.\.255 \(posit8e0\), not -1"):
        form(8, 0).decode(np.array([-1]))
