"""Widths of exact sums: as published, and by the greatest sums themselves."""

from fractions import Fraction

import numpy as np
import pytest

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.names import parse
from golden.formats.nvfp4 import NvFormat
from golden.formats.product import matmul
from golden.formats.quire import QuireSpec
from verif.golden.formats.reference import element


def parsed(name: str) -> ElementFormat | NvFormat:
    fmt = parse(name)
    assert isinstance(fmt, ElementFormat | NvFormat)
    return fmt


WIDTHS = {
    ("int4", "int4"): {1: 8, 32: 13, 256: 16, 1024: 18, 4096: 20, 65536: 24},
    ("int8", "int8"): {1: 16, 32: 21, 256: 24, 1024: 26, 4096: 28, 65536: 32},
    ("int16", "int16"): {1: 32, 32: 37, 65536: 48},
    ("e2m1", "e2m1"): {1: 9, 32: 14, 256: 17, 1024: 19, 4096: 21, 65536: 25},
    ("e2m3", "e2m3"): {1: 13, 32: 18, 256: 21, 1024: 23, 4096: 25, 65536: 29},
    ("e3m2", "e3m2"): {1: 19, 32: 24, 256: 27, 1024: 29, 4096: 31, 65536: 35},
    ("e3m4", "e3m4"): {1: 21, 32: 26, 256: 29, 1024: 31, 4096: 33, 65536: 37},
    ("e4m3", "e4m3"): {1: 37, 32: 42, 256: 45, 1024: 47, 4096: 49, 65536: 53},
    ("e5m2", "e5m2"): {1: 65, 32: 70, 256: 73, 1024: 75, 4096: 77, 65536: 81},
    ("e5m2", "e4m3"): {1: 51, 32: 56, 4096: 63},
    ("e4m3", "e2m1"): {1: 23, 32: 28, 4096: 35},
    ("posit4e0", "posit4e0"): {1: 10, 32: 15, 65536: 26},
    ("posit4e1", "posit4e1"): {1: 18, 32: 23, 65536: 34},
    ("posit8e0", "posit8e0"): {1: 26, 32: 31, 256: 34, 1024: 36, 4096: 38, 65536: 42},
    ("posit8e2", "posit8e2"): {1: 98, 32: 103, 65536: 114},
    ("posit16e1", "posit16e1"): {1: 114, 32: 119, 256: 122, 65536: 130},
    ("posit8e0", "posit4e1"): {1: 22, 4096: 34},
    ("fp16", "fp16"): {1: 81, 32: 86, 65536: 97},
    ("bf16", "bf16"): {1: 523, 32: 528, 65536: 539},
    ("nvfp4", "nvfp4"): {16: 48, 1024: 54, 4096: 56, 16384: 58},
}


@pytest.mark.parametrize("names", WIDTHS, ids="-".join)
def test_quire_width_is_the_least(names: tuple[str, str]) -> None:
    """As listed, and by the greatest sums themselves."""
    a_format, b_format = (parsed(name) for name in names)
    for k_max, width in WIDTHS[names].items():
        quire = QuireSpec(a_format=a_format, b_format=b_format, k_max=k_max)
        assert quire.width == width
        low, high = quire.product_bounds
        assert -(1 << width - 1) <= k_max * low < k_max * high < 1 << width - 1
        assert not (-(1 << width - 2) <= k_max * low and k_max * high < 1 << width - 2)
        assert quire.k_max_of(width) >= k_max > quire.k_max_of(width - 1)


@pytest.mark.parametrize(
    ("name", "width", "limit"),
    [
        ("int8", 24, 511),
        ("int8", 32, 131071),
        ("e2m1", 24, 58254),
        ("e2m3", 24, 2330),
        ("e2m3", 32, 596523),
        ("e3m2", 24, 41),
        ("e3m2", 32, 10699),
        ("posit4e1", 24, 127),
        ("posit4e1", 32, 32767),
        ("posit8e0", 24, 0),
        ("posit8e0", 32, 127),
        ("posit8e0", 40, 32767),
        ("e4m3", 40, 10),
        ("e4m3", 48, 2674),
        ("int16", 32, 1),
        ("int16", 40, 511),
        ("int16", 48, 131071),
        ("e5m2", 72, 167),
        ("posit16e1", 128, 32767),
    ],
)
def test_products_without_overflow(name: str, width: int, limit: int) -> None:
    fmt = element(name)
    assert QuireSpec(a_format=fmt, b_format=fmt).k_max_of(width) == limit


@pytest.mark.parametrize(("name", "k_max"), [("e4m3", 2674), ("posit8e0", 32767), ("int8", 5000)])
def test_sums_of_extremes_do_not_overflow(name: str, k_max: int) -> None:
    fmt = element(name)
    quire = QuireSpec(a_format=fmt, b_format=fmt, k_max=k_max)
    values = fmt.to_float(np.arange(fmt.low, fmt.high + 1))
    top = np.full((1, k_max), fmt.low + np.nanargmax(values))
    bottom = np.full((k_max, 1), fmt.low + np.nanargmin(values))
    for a, b in ((top, top.T), (top, bottom), (bottom.T, bottom)):
        sums = matmul(fmt.decode(a), fmt.decode(b)).fixed(quire.lsb)
        expected = k_max * Fraction(fmt.to_float(a)[0, 0]) * Fraction(fmt.to_float(b)[0, 0])
        assert sums.tolist() == [[expected / Fraction(2) ** quire.lsb]]
        assert IntFormat(width=quire.width).check("sums", sums) is not None


def test_quires_of_integers_that_are_not_symmetric() -> None:
    unsigned = QuireSpec(a_format=element("uint4"), b_format=element("uint8"), k_max=3)
    assert unsigned.product_bounds == (0, 15 * 255)
    assert (unsigned.width, unsigned.product_width, unsigned.signed) == (14, 12, False)
    assert unsigned.k_max_of(14) == ((1 << 14) - 1) // (15 * 255)
    mixed = QuireSpec(a_format=element("int4"), b_format=element("uint1"), k_max=8)
    assert mixed.product_bounds == (-8, 7)
    assert (mixed.width, mixed.product_width, mixed.signed) == (7, 4, True)
    assert mixed.k_max_of(7) == 8
