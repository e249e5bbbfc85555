"""Sums of blocks, sums in fp32 and aligned sums: against fractions and numpy's fp32."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.nvfp4 import NvFormat
from golden.gemm import GemmSpec, gemm
from verif.golden.formats.reference import dot, element, rounded


@pytest.mark.parametrize("name", ["mx_e2m1", "mx_e5m2", "mx_int8f6", "mx_int4f2_k64", "nvfp4"])
def test_exact_sums_of_blocks_are_those_of_their_values(name: str) -> None:
    fmt = parse(name)
    assert not isinstance(fmt, ElementFormat)
    rng = np.random.default_rng(8)
    values, others = rng.normal(size=(2, 80)), rng.normal(size=(80, 2))
    a, b = fmt.quantise(values * 2.0 ** rng.integers(-9, 9, 80)), fmt.quantise(others, axis=0)
    spec = GemmSpec(a_format=fmt, b_format=fmt, c_format=element("posit10e3"), accumulation="exact")
    rows = [[Fraction(x) for x in row] for row in fmt.to_float(a).tolist()]
    columns = [[Fraction(x) for x in column] for column in fmt.to_float(b, axis=0).T.tolist()]
    expected = [[rounded(spec.c_format, dot(row, column)) for column in columns] for row in rows]
    assert gemm(spec, a, b).tolist() == expected


@pytest.mark.parametrize("name", ["mx_e4m3", "mx_e5m2", "mx_e2m1", "mx_int8f6"])
def test_mx_sums_of_blocks_are_added_in_fp32(name: str) -> None:
    fmt = parse(name)
    assert isinstance(fmt, MxFormat)
    rng = np.random.default_rng(9)
    a = fmt.quantise(rng.normal(size=(3, 110)) * 2.0 ** rng.integers(-70, -50, 110))
    b = fmt.quantise(rng.normal(size=(110, 3)) * 2.0 ** rng.integers(-90, -60, 3), axis=0)
    a.scales[2, 1] = 255
    b.scales[:, 2] += 180
    expected = np.zeros((3, 3), dtype=np.float32)
    for start in range(0, 110, 32):
        part = slice(start, start + 32)
        x, y = fmt.element.to_float(a.codes[:, part]), fmt.element.to_float(b.codes[part])
        exponents = a.scales[:, start // 32, None] + b.scales[start // 32] - 254
        for i, j in itertools.product(range(3), range(3)):
            if a.scales[i, start // 32] == 255:
                expected[i, j] = np.nan
                continue
            total = sum(Fraction(p) * Fraction(q) for p, q in zip(x[i], y[:, j], strict=True))
            expected[i, j] += nearest_fp32(total * Fraction(2) ** int(exponents[i, j]))
    codes = gemm(GemmSpec(a_format=fmt, b_format=fmt), a, b)
    ours = codes.astype(np.uint32).view(np.float32)
    assert np.array_equal(ours, expected, equal_nan=True)
    assert np.isnan(ours[2]).all()
    assert (np.abs(ours[:2, :2]) < 2.0**-110).all()


def nearest_fp32(exact: Fraction) -> np.float32:
    """Round a fraction to fp32, ties to even, subnormals kept."""
    if exact == 0:
        return np.float32(0)
    exponent = 0
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    place = max(exponent, -126) - 23
    return np.float32(np.ldexp(float(round(exact / Fraction(2) ** place)), place))


@pytest.mark.parametrize("name", ["bf16", "fp16", "e5m2"])
def test_products_are_added_in_fp32_one_by_one(name: str) -> None:
    """Such a product is exact in fp32, so multiply and add is what numpy does."""
    fmt = element(name)
    rng = np.random.default_rng(10)
    a, b = fmt.encode(rng.normal(size=(4, 300))), fmt.encode(rng.normal(size=(300, 4)))
    spec = GemmSpec(a_format=fmt, b_format=fmt, accumulation="fp32")
    x, y = (fmt.to_float(codes).astype(np.float32) for codes in (a, b))
    total = np.zeros((4, 4), dtype=np.float32)
    for k in range(300):
        total = total + x[:, k, None] * y[k]
    assert np.array_equal(gemm(spec, a, b), total.view(np.uint32))
    exact = GemmSpec(a_format=fmt, b_format=fmt)
    assert not np.array_equal(gemm(spec, a, b), gemm(exact, a, b)) or name == "e5m2"


def cut(exact: Fraction, place: int) -> int:
    """Integers of 2^place in the magnitude, with its sign."""
    return int(exact / Fraction(2) ** place)


def exponent_of(exact: Fraction, least: int) -> int:
    """Exponent of the leading bit, at least `least`."""
    exponent = least
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    return exponent


@pytest.mark.parametrize(
    ("name", "kept", "bits", "group"),
    [("fp16", 24, 23, 8), ("bf16", 25, 23, 16), ("e4m3", 13, 13, 32), ("mx_e5m2", 25, 23, 32)],
)
def test_aligned_sums_are_cut_as_described(name: str, kept: int, bits: int, group: int) -> None:
    fmt = parse(name)
    inner = fmt.element if isinstance(fmt, MxFormat) else fmt
    assert isinstance(inner, MinifloatFormat)
    rng = np.random.default_rng(11)
    depth = 70
    x = rng.normal(size=(3, depth)) * 2.0 ** rng.integers(-8, 8, depth)
    y = rng.normal(size=(depth, 3))
    x[0, 5:9] = 0
    x[1, 3] *= 1e-3
    spec = GemmSpec(
        a_format=fmt,
        b_format=fmt,
        accumulation="aligned",
        group=group,
        fraction_width=kept,
        sum_mantissa_bits=bits,
    )
    specs = (spec, replace(spec, accumulation="exact"))
    scales = np.zeros((3, depth), dtype=int), np.zeros((depth, 3), dtype=int)
    if isinstance(fmt, MxFormat):
        blocks = fmt.quantise(x), fmt.quantise(y, axis=0)
        scales = (
            np.repeat(blocks[0].scales, 32, axis=1)[:, :depth] - 127,
            np.repeat(blocks[1].scales, 32, axis=0)[:depth] - 127,
        )
        codes = blocks[0].codes, blocks[1].codes
        ours, exact = (gemm(each, *blocks) for each in specs)
    else:
        codes = inner.encode(x), inner.encode(y)
        ours, exact = (gemm(each, *codes) for each in specs)
    left, right = (inner.to_float(part) for part in codes)
    expected = np.zeros((3, 3))
    for i, j in itertools.product(range(3), range(3)):
        total = Fraction(0)
        for start in range(0, depth, group):
            terms = [(total, exponent_of(total, -126))]
            for k in range(start, min(start + group, depth)):
                p, q = Fraction(left[i, k]), Fraction(right[k, j])
                scale = int(scales[0][i, k] + scales[1][k, j])
                exponent = sum(exponent_of(part, inner.min_exponent) for part in (p, q))
                terms.append((p * q * Fraction(2) ** scale, exponent + scale))
            top = max((exponent for term, exponent in terms if term), default=0)
            total = sum(cut(term, top - kept) for term, _ in terms) * Fraction(2) ** (top - kept)
            place = exponent_of(total, -126) - bits
            total = cut(total, place) * Fraction(2) ** place
        expected[i, j] = float(total)
    assert np.array_equal(spec.c_format.to_float(ours), expected)
    assert not np.array_equal(ours, exact)


def test_zeros_align_nothing() -> None:
    fmt = element("fp16")
    spec = GemmSpec(a_format=fmt, b_format=fmt, accumulation="aligned", group=4, fraction_width=24)
    small = (1 + 2.0**-10) * 2.0**-12
    a, b = fmt.encode(np.array([[0, small]])), fmt.encode(np.array([[65504], [small]]))
    assert spec.c_format.to_float(gemm(spec, a, b)).tolist() == [[small**2]]


def test_aligned_sums_of_what_is_no_number() -> None:
    fmt = element("e5m2")
    spec = GemmSpec(a_format=fmt, b_format=fmt, accumulation="aligned", group=4, saturate=False)
    one, infinity, nan = 0x3C, 0x7C, 0x7E
    a = np.full((4, 8), one)
    a[1, 2], a[2, 3], a[3, 1], a[3, 6] = nan, infinity, infinity, infinity | 0x80
    c = spec.c_format.to_float(gemm(spec, a, np.full((8, 1), one)))
    assert np.array_equal(c[:, 0], [8, np.nan, np.inf, np.nan], equal_nan=True)
    bf16 = element("bf16")
    huge = np.full((1, 8), bf16.max_code)  # type: ignore[attr-defined]
    spec = GemmSpec(a_format=bf16, b_format=bf16, accumulation="aligned", saturate=False)
    assert spec.c_format.to_float(gemm(spec, huge, huge.T)).tolist() == [[np.inf]]


def test_tensor_scales_count_before_the_one_rounding() -> None:
    fmt = NvFormat()
    rng = np.random.default_rng(12)
    a, b = fmt.quantise(rng.normal(size=(3, 40))), fmt.quantise(rng.normal(size=(40, 3)), axis=0)
    spec = GemmSpec(a_format=fmt, b_format=fmt)
    rows = [[Fraction(x) for x in row] for row in fmt.to_float(a).tolist()]
    columns = [[Fraction(x) for x in column] for column in fmt.to_float(b, axis=0).T.tolist()]
    expected = [[nearest_fp32(dot(r, c)) for c in columns] for r in rows]  # type: ignore[arg-type]
    assert np.array_equal(gemm(spec, a, b).astype(np.uint32).view(np.float32), expected)
    assert a.tensor_scale != 1
