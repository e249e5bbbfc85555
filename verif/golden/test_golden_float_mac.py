"""Fused multiply-adds: against fractions, numpy's fp32 and the exact matrix product."""

from fractions import Fraction
from math import copysign, inf, isfinite, isinf, isnan, nan

import numpy as np
import pytest

from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from golden.gemm import GemmSpec, gemm
from golden.npe.float_mac import FloatMacSpec, float_mac
from golden.npe.float_sum import add_to_odd

NAMES = ["bf16", "fp16", "e5m2", "tf32", "e4m3", "e2m1"]


def minifloat(name: str) -> MinifloatFormat:
    found = parse(name)
    assert isinstance(found, MinifloatFormat)
    return found


def reference(fmt: MinifloatFormat, total: float, x: float, y: float) -> float:
    """IEEE 754 fused multiply-add in integers: to the nearest multiple of the place's power."""
    product = nan if isnan(x) or isnan(y) or (0 in (x, y) and inf in (abs(x), abs(y))) else x * y
    if not isfinite(product) or not isfinite(total):
        return total + product
    exact = Fraction(total) + Fraction(x) * Fraction(y)
    if exact == 0:
        same = copysign(1, total) == copysign(1, x) * copysign(1, y) == -1
        return -0.0 if same else 0.0
    length = exact.numerator.bit_length() - exact.denominator.bit_length()  # or one too much
    exponent = max(length - (abs(exact) < Fraction(2) ** length), fmt.min_exponent)
    unit = Fraction(2) ** (exponent - fmt.mantissa_bits)
    result = abs(round(exact / unit) * unit)  # half to even
    if result >= Fraction(2) ** (fmt.max_exponent + 1):
        return copysign(inf, exact)
    return copysign(float(result), exact)


def expect(spec: FloatMacSpec, a: np.ndarray, b: np.ndarray, last: np.ndarray) -> list[float]:
    totals = []
    total = 0.0
    x, y = (fmt.to_float(codes).tolist() for fmt, codes in zip(spec.operands, (a, b), strict=True))
    for p, q, done in zip(x, y, last, strict=True):
        total = reference(spec.total, total, p, q)
        if done:
            totals.append(total)
            total = 0.0
    return totals


def same(codes: np.ndarray, fmt: MinifloatFormat, expected: list[float]) -> bool:
    """Equal in bits, and NaN the one NaN."""
    return codes.tolist() == [
        fmt.nan_code if isnan(x) else int(fmt.encode(np.array([x]), saturate=False)[0])
        for x in expected
    ]


@pytest.mark.sample(10)
@pytest.mark.parametrize("sum_format", ["fp32", "fp16", "e5m2", "e3m2ieee"])
@pytest.mark.parametrize("name", NAMES)
def test_float_mac_is_ieee_fused_multiply_add(name: str, sum_format: str) -> None:
    spec = FloatMacSpec(a_format=name, b_format=name, sum_format=sum_format)
    rng = np.random.default_rng(1)
    fmt = minifloat(name)
    a, b = rng.integers(0, 1 << fmt.width, (2, 1500))
    last = rng.random(1500) < 0.4
    codes = float_mac(spec, a, b, last)
    assert codes.size == last.sum()
    assert same(codes, spec.total, expect(spec, a, b, last))


def test_float_mac_of_bf16_is_float32_where_products_are_no_less_than_normal() -> None:
    fmt = minifloat("bf16")
    rng = np.random.default_rng(2)
    a, b = fmt.encode(rng.normal(size=(2, 5000)) * 2.0 ** rng.integers(-20, 20, (2, 5000)))
    last = np.arange(5000) % 50 == 49
    x, y = (fmt.to_float(codes).astype(np.float32) for codes in (a, b))
    total = np.zeros(100, dtype=np.float32)
    for k in range(50):
        total = total + (x * y).reshape(100, 50)[:, k]
    assert np.array_equal(float_mac(FloatMacSpec(), a, b, last), total.view(np.uint32))


def test_float_mac_agrees_with_the_matrix_product() -> None:
    fmt = minifloat("fp16")
    rng = np.random.default_rng(3)
    a, b = fmt.encode(rng.normal(size=(3, 40))), fmt.encode(rng.normal(size=(40, 1)))
    spec = FloatMacSpec(a_format="fp16", b_format="fp16")
    product = gemm(GemmSpec(a_format=fmt, b_format=fmt, accumulation="fp32"), a, b)
    last = np.arange(120) % 40 == 39
    ours = float_mac(spec, a.reshape(-1), np.tile(b[:, 0], 3), last)
    assert np.array_equal(ours, product[:, 0])


def test_one_rounding_differs_from_two() -> None:
    """The product decides a tie that it would itself be rounded to."""
    spec = FloatMacSpec(a_format="fp16", b_format="fp16", sum_format="e5m2")
    a, b = np.array([0x3C00, 0x1401]), np.array([0x3C00, 0x3800])
    assert spec.total.to_float(float_mac(spec, a, b, np.array([False, True]))).tolist() == [1.0]
    tie = np.array([0x3C00, 0x3000]), np.array([0x3C00, 0x3C01])
    total = spec.total.to_float(float_mac(spec, *tie, np.array([False, True])))
    assert total.tolist() == [1.25]
    assert spec.total.to_float(spec.total.encode(np.array([1.125]))).tolist() == [1.0]


def test_specials_and_zeros_are_those_of_ieee_754() -> None:
    spec = FloatMacSpec(a_format="e5m2", b_format="e5m2")
    one, infinity, quiet, zero, minus = 0x3C, 0x7C, 0x7E, 0x00, 0x80
    runs = [
        ([one, infinity], 0x7F800000),
        ([infinity | minus, one], 0xFF800000),
        ([infinity, infinity | minus], 0x7FC00000),
        ([quiet, one], 0x7FC00000),
        ([0x7D, one], 0x7FC00000),
        ([one, one | minus], 0x00000000),
        ([minus, minus], 0x00000000),
    ]
    for codes, expected in runs:
        ones = np.full(2, one)
        got = float_mac(spec, np.array(codes), ones, np.array([False, True]))
        assert got.tolist() == [expected], codes
    wrong = float_mac(spec, np.array([infinity]), np.array([zero]), np.array([True]))
    assert wrong.tolist() == [0x7FC00000]
    least = float_mac(FloatMacSpec(), np.array([1 | 0x8000]), np.array([1]), np.array([True]))
    assert least.tolist() == [0x80000000]


def test_beats_behind_the_last_end_belong_to_no_sum() -> None:
    spec = FloatMacSpec()
    ones = np.full(3, 0x3F80)
    assert float_mac(spec, ones, ones, np.array([True, False, False])).tolist() == [0x3F800000]
    assert float_mac(spec, ones, ones, np.zeros(3, dtype=bool)).size == 0


def test_add_to_odd_is_exact_or_odd() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 2000)) * 2.0 ** rng.integers(-90, 90, (2, 2000))
    for p, q, got in zip(x, y, add_to_odd(x, y), strict=True):
        exact = Fraction(p) + Fraction(q)
        if Fraction(got) != exact:
            assert np.float64(got).view(np.int64) & 1
            below, above = sorted([np.nextafter(got, -inf), np.nextafter(got, inf)])
            assert Fraction(below) < exact < Fraction(above)
    assert isinf(add_to_odd(np.array([inf]), np.array([1.0]))[0])


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("a_format", 3, TypeError),
        ("a_format", "int8", ValueError),
        ("a_format", "fp32", ValueError),
        ("b_format", "e5m2ieee", ValueError),
        ("b_format", "x", ValueError),
        ("sum_format", "e4m3", ValueError),
    ],
)
def test_float_mac_rejects(field: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"{field} must be the name of a minifloat .*, not {value!r}"):
        FloatMacSpec(**{field: value})  # type: ignore[arg-type]
    with pytest.raises(error, match=f"{field} must be"):
        FloatMacSpec.__dataclass_fields__[field].metadata["parameter"].check(field, value)
