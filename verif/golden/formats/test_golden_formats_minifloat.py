"""Minifloats against ml_dtypes, gfloat, numpy and exact fractions: all codes, all thresholds."""

from fractions import Fraction

import gfloat.formats  # type: ignore[import-untyped]
import ml_dtypes
import numpy as np
import pytest
from gfloat import RoundMode, decode_float, encode_float, round_float

from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from verif.golden.formats.reference import NAN, points, rounded, value

# Name here, numpy's type, and gfloat's format where it has one.
ORACLES = {
    "e2m1": (ml_dtypes.float4_e2m1fn, gfloat.formats.format_info_ocp_e2m1),
    "e2m3": (ml_dtypes.float6_e2m3fn, gfloat.formats.format_info_ocp_e2m3),
    "e3m2": (ml_dtypes.float6_e3m2fn, gfloat.formats.format_info_ocp_e3m2),
    "e4m3": (ml_dtypes.float8_e4m3fn, gfloat.formats.format_info_ocp_e4m3),
    "e5m2": (ml_dtypes.float8_e5m2, gfloat.formats.format_info_ocp_e5m2),
    "e3m4": (ml_dtypes.float8_e3m4, None),
    "e4m3ieee": (ml_dtypes.float8_e4m3, None),
    "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, None),
    "e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, None),
    "e4m3fnuz_b3": (ml_dtypes.float8_e4m3b11fnuz, None),
    "fp16": (np.float16, None),
    "bf16": (ml_dtypes.bfloat16, None),
}
# Others by their fields: few and many bits, all rules, shifted bias.
ODD = [
    "e1m2",
    "e3m0",
    "e1m1nan",
    "e2m0nan",
    "e2m5nan",
    "e6m1finite",
    "e4m3finite",
    "e2m2ieee_b5",
    "e7m1nan",
]


def minifloat(name: str) -> MinifloatFormat:
    fmt = parse(name)
    assert isinstance(fmt, MinifloatFormat)
    assert fmt.name == name
    return fmt


def all_codes(fmt: MinifloatFormat) -> np.ndarray:
    return np.arange(1 << fmt.width)


def as_type(codes: np.ndarray, kind: type) -> np.ndarray:
    """Read bit patterns as numpy's type, in double precision."""
    unsigned = f"u{np.dtype(kind).itemsize}"
    with np.errstate(invalid="ignore"):
        return codes.astype(unsigned).view(kind).astype(np.float64)


def same_floats(a: np.ndarray, b: np.ndarray) -> bool:
    """Compare bit by bit, but NaNs with one another."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)])
    )


def test_signalling_nans_are_nans() -> None:
    """Without numpy's warning, which is an error here."""
    halves = np.array([0x7C01, 0xFD00], dtype=np.uint16).view(np.float16)
    singles = np.array([0x7F800001, 0xFFA00000], dtype=np.uint32).view(np.float32)
    for values in (halves, singles):
        for name in ("fp32", "e4m3", "bf16"):
            fmt = minifloat(name)
            assert np.isnan(fmt.to_float(fmt.encode(values))).all()
        assert Exact.from_float(values).nan.all()


@pytest.mark.parametrize("name", ORACLES)
def test_minifloat_values_are_those_of_numpy_types(name: str) -> None:
    fmt = minifloat(name)
    codes = all_codes(fmt)
    assert same_floats(fmt.to_float(codes), as_type(codes, ORACLES[name][0]))


@pytest.mark.parametrize("name", [name for name in ORACLES if ORACLES[name][1]])
def test_minifloat_values_are_those_of_gfloat(name: str) -> None:
    fmt = minifloat(name)
    codes = all_codes(fmt)
    theirs = np.array([decode_float(ORACLES[name][1], int(code)).fval for code in codes])
    assert same_floats(fmt.to_float(codes), theirs)


@pytest.mark.parametrize("name", [*ORACLES, *ODD])
def test_minifloat_decodes_exactly(name: str) -> None:
    fmt = minifloat(name)
    exact = fmt.decode(all_codes(fmt))
    for code in range(0, 1 << fmt.width, 1 if fmt.width <= 8 else 7):
        expected = value(fmt, code)
        assert exact.nan[code] == (expected == NAN)
        assert exact.infinity[code] == (np.sign(expected) if isinstance(expected, float) else 0)
        if isinstance(expected, Fraction):
            significand, exponent = int(exact.significand[code]), int(exact.exponent[code])
            assert significand * Fraction(2) ** exponent == expected
            assert abs(significand).bit_length() <= fmt.significand_width
            assert exponent in fmt.exponents
        else:
            assert exact.significand[code] == 0
    assert set(np.unique(exact.exponent)) == set(fmt.exponents)


def test_fp32_values_are_those_of_numpy() -> None:
    fmt = minifloat("fp32")
    rng = np.random.default_rng(1)
    codes = np.concatenate([rng.integers(0, 1 << 32, 20000), np.arange(512) << 23])
    assert same_floats(fmt.to_float(codes), as_type(codes, np.float32))


@pytest.mark.parametrize("name", ORACLES)
def test_minifloat_rounds_as_numpy_types_do(name: str) -> None:
    """Not saturating; ml_dtypes makes -0 of NaN where there is none, so NaN is apart.

    It also rounds doubles to fp32 first, so the doubles here are numbers of fp32.
    """
    fmt, kind = minifloat(name), ORACLES[name][0]
    values = points(fmt, np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        expected = values.astype(kind)
    codes = fmt.encode(values, saturate=False)
    assert same_floats(as_type(codes, kind), expected.astype(np.float64))
    unsigned = f"u{np.dtype(kind).itemsize}"
    usual = ~np.isnan(expected.astype(np.float64))
    assert np.array_equal(codes[usual], expected.view(unsigned)[usual])
    assert len(values) > 2 * (1 << fmt.width)


@pytest.mark.parametrize("name", ORACLES)
def test_nan_becomes_the_quiet_nan_or_zero(name: str) -> None:
    fmt = minifloat(name)
    for saturate in (True, False):
        (code,) = fmt.encode(np.array([np.nan]), saturate=saturate)
        if fmt.nan_code is None:
            assert code == 0
        else:
            expected = np.array([np.nan]).astype(ORACLES[name][0])
            assert code == int.from_bytes(expected.tobytes(), "little") == fmt.nan_code


def test_fp32_rounds_as_numpy_does() -> None:
    fmt = minifloat("fp32")
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 1 << 31, 20000)
    low, high = fmt.to_float(codes), fmt.to_float(codes + 1)
    keep = np.isfinite(low) & np.isfinite(high)
    ties = (low[keep] + high[keep]) / 2
    values = np.concatenate([ties, np.nextafter(ties, np.inf), -np.nextafter(ties, 0.0)])
    expected = values.astype(np.float32).view(np.uint32)
    assert np.array_equal(fmt.encode(values, saturate=False), expected)


@pytest.mark.parametrize("rounding", ["rne", "rtz"])
@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("name", [name for name in ORACLES if ORACLES[name][1]])
def test_minifloat_rounds_as_gfloat_does(name: str, saturate: bool, rounding: str) -> None:
    fmt, info = minifloat(name), ORACLES[name][1]
    mode = {"rne": RoundMode.TiesToEven, "rtz": RoundMode.TowardZero}[rounding]
    values = points(fmt)
    codes = fmt.encode(values, rounding=rounding, saturate=saturate)
    # gfloat refuses what does not fit where there is neither infinity nor NaN.
    theirs = saturate or fmt.nan_code is None
    expected = [
        encode_float(info, round_float(info, float(x), mode, sat=bool(theirs))) for x in values
    ]
    # Its NaN of an overflow has another sign.
    nan = np.isnan(fmt.to_float(np.array(expected)))
    assert np.array_equal(codes[~nan], np.array(expected)[~nan])
    assert np.isnan(fmt.to_float(codes[nan])).all()


@pytest.mark.sample(18)
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("name", [*ODD, "e3m4", "e4m3"])
def test_minifloat_rounds_as_fractions_do(name: str, saturate: bool, rounding: str) -> None:
    fmt = minifloat(name)
    values = points(fmt)
    # Fractions have no -0.
    values = values[(values != 0) | ~np.signbit(values)]
    expected = [
        rounded(fmt, Fraction(x) if np.isfinite(x) else x, rounding == "rne", saturate)
        for x in values.tolist()
    ]
    codes = fmt.encode(values, rounding=rounding, saturate=saturate)
    assert codes.tolist() == expected


@pytest.mark.parametrize("name", [*ORACLES, *ODD])
def test_minifloat_codes_return(name: str) -> None:
    fmt = minifloat(name)
    codes = all_codes(fmt)
    values = fmt.to_float(codes)
    numbers = ~np.isnan(values)
    assert np.array_equal(fmt.encode(values, saturate=False)[numbers], codes[numbers])


@pytest.mark.parametrize(
    ("name", "bias", "greatest", "least_normal", "least", "lsb", "fixed_width"),
    [
        ("e2m1", 1, 6, 1, 0.5, -1, 5),
        ("e2m3", 1, 7.5, 1, 0.125, -3, 7),
        ("e3m2", 3, 28, 0.25, 0.0625, -4, 10),
        ("e4m3", 7, 448, 2**-6, 2**-9, -9, 19),
        ("e5m2", 15, 57344, 2**-14, 2**-16, -16, 33),
        ("e3m4", 3, 15.5, 0.25, 2**-6, -6, 11),
        ("fp16", 15, 65504, 2**-14, 2**-24, -24, 41),
        ("bf16", 127, (2 - 2**-7) * 2.0**127, 2.0**-126, 2.0**-133, -133, 262),
        ("e1m2", 1, 1.75, 1, 0.25, -2, 4),
        ("e3m0", 3, 16, 0.25, 0.25, -2, 8),
    ],
)
def test_minifloat_parameters(
    name: str,
    bias: int,
    greatest: float,
    least_normal: float,
    least: float,
    lsb: int,
    fixed_width: int,
) -> None:
    """As published by OCP (OFP8, MX v1.0) and IEEE 754."""
    fmt = minifloat(name)
    assert fmt.bias == bias
    assert float(fmt.to_float(np.array([fmt.max_code]))[0]) == greatest
    assert 2.0**fmt.min_exponent == least_normal
    assert float(fmt.to_float(np.array([1]))[0]) == least
    assert fmt.bounds == (-greatest / 2.0**lsb, greatest / 2.0**lsb)
    assert fmt.lsb == lsb
    assert fmt.fixed_width == fixed_width
    assert fmt.max_exponent == np.frexp(greatest)[1] - 1


def test_overflow_of_fp8() -> None:
    """464 is the tie behind E4M3's 448, which is even; E5M2's 57344 is odd."""
    e4m3, e5m2 = minifloat("e4m3"), minifloat("e5m2")
    values = np.array([464.0, 464.1, -np.inf])
    assert e4m3.encode(values).tolist() == [0x7E, 0x7E, 0xFE]
    assert e4m3.encode(values, saturate=False).tolist() == [0x7E, 0x7F, 0xFF]
    values = np.array([61439.9, 61440.0, -np.inf])
    assert e5m2.encode(values).tolist() == [0x7B, 0x7B, 0xFB]
    assert e5m2.encode(values, saturate=False).tolist() == [0x7B, 0x7C, 0xFC]
    assert e5m2.encode(values, saturate=False, rounding="rtz").tolist() == [0x7B, 0x7B, 0xFC]


def test_minifloat_rejects() -> None:
    with pytest.raises(ValueError, match=r"exponent_bits must be 1\.\.8 bits, not 9"):
        MinifloatFormat(exponent_bits=9)
    with pytest.raises(TypeError, match=r"mantissa_bits must be 0\.\.23 bits, not True"):
        MinifloatFormat(mantissa_bits=True)
    with pytest.raises(ValueError, match="one of ieee, nan, finite, fnuz, not 'x'"):
        MinifloatFormat(specials="x")
    with pytest.raises(ValueError, match="not 'ieee'"):
        MinifloatFormat(exponent_bits=1, mantissa_bits=2, specials="ieee")
    with pytest.raises(ValueError, match="one of finite, fnuz in 2 bits, not 'nan'"):
        MinifloatFormat(exponent_bits=1, mantissa_bits=0)
    fmt = minifloat("e2m1")
    with pytest.raises(ValueError, match=r"codes must be 0\.\.15 \(e2m1\), not 16"):
        fmt.decode(np.array([3, 16]))
    with pytest.raises(TypeError, match=r"codes must be integers \(e2m1\), not float64"):
        fmt.to_float(np.array([1.0]))
    with pytest.raises(TypeError, match="floats of at most 64 bits or Exact, not int"):
        fmt.encode(np.array([1]))
    with pytest.raises(ValueError, match="rounding must be one of rne, rtz, stochastic, not 'up'"):
        fmt.encode(np.array([1.0]), rounding="up")
    with pytest.raises(TypeError, match="saturate must be true or false, not 1"):
        fmt.encode(np.array([1.0]), saturate=1)  # type: ignore[arg-type]
