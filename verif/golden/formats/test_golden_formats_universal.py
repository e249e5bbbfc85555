"""Posits against Universal, of which there are no wheels for every Python."""

import numpy as np
import pytest

from golden.formats.exact import Exact
from golden.formats.posit import PositFormat
from golden.formats.product import matmul
from verif.golden.formats.reference import points

universal_dtypes = pytest.importorskip("universal_dtypes")

# Universal's types: a name that ends in no es has 2, as in the Standard of 2022.
UNIVERSAL = {
    (8, 0): "posit8e0",
    (8, 1): "posit8e1",
    (8, 2): "posit8",
    (16, 1): "posit16e1",
    (16, 2): "posit16",
    (32, 2): "posit32",
}


def form(width: int, es: int) -> PositFormat:
    return PositFormat(width=width, exponent_bits=es)


def universal(fmt: PositFormat) -> type:
    return getattr(universal_dtypes, UNIVERSAL[fmt.width, fmt.exponent_bits])


def as_universal(fmt: PositFormat, codes: np.ndarray) -> np.ndarray:
    return codes.astype(f"u{fmt.width // 8}").view(universal(fmt))


@pytest.mark.parametrize(("width", "es"), UNIVERSAL)
def test_posit_values_are_those_of_universal(width: int, es: int) -> None:
    fmt = form(width, es)
    rng = np.random.default_rng(width)
    codes = np.arange(1 << width) if width <= 16 else rng.integers(0, 1 << 32, 100000)
    theirs = as_universal(fmt, codes).astype(np.float64)
    assert np.array_equal(fmt.to_float(codes), theirs, equal_nan=True)


@pytest.mark.parametrize(("width", "es"), [key for key in UNIVERSAL if key[0] <= 16])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_posit_rounds_as_universal_does(width: int, es: int) -> None:
    fmt = form(width, es)
    values = np.concatenate([points(fmt), [np.nan]])
    theirs = values.astype(universal(fmt)).view(f"u{width // 8}")
    assert np.array_equal(fmt.encode(values), theirs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_posit32_rounds_as_universal_does() -> None:
    fmt = form(32, 2)
    rng = np.random.default_rng(3)
    low = rng.integers(0, (1 << 31) - 2, 50000)
    low[:2000] = np.arange(2000)
    low[2000:4000] = fmt.max_code - 2 - np.arange(2000)
    middle = (fmt.to_float(low) + fmt.to_float(low + 1)) / 2
    values = np.concatenate([middle, np.nextafter(middle, np.inf), -np.nextafter(middle, 0)])
    theirs = values.astype(universal(fmt)).view(np.uint32)
    assert np.array_equal(fmt.encode(values), theirs)


@pytest.mark.parametrize(("width", "es"), [key for key in UNIVERSAL if key[0] == 8])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_product_and_sum_of_8_bits_is_universals(width: int, es: int) -> None:
    fmt = form(width, es)
    codes = np.arange(1 << width)
    theirs = as_universal(fmt, codes)
    exact = fmt.decode(codes)
    products = matmul(exact[:, None], exact[None, :])
    assert np.array_equal(fmt.encode(products), (theirs[:, None] * theirs).view(np.uint8))
    ones = Exact.finite(np.ones(256, dtype=np.int64), 0)
    pairs = matmul(_columns(exact, ones), _columns(ones, exact, axis=0))
    assert np.array_equal(fmt.encode(pairs), (theirs[:, None] + theirs).view(np.uint8))


def _columns(a: Exact, b: Exact, axis: int = 1) -> Exact:
    """Set two vectors beside each other as columns, or as rows."""
    parts = {
        name: np.stack([getattr(a, name), getattr(b, name)], axis=axis)
        for name in ("significand", "exponent", "nan", "infinity")
    }
    return Exact(**parts)
