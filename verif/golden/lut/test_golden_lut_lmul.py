"""L-Mul: every pair of FP8 codes against ml_dtypes, the definition and the stated rules."""

from fractions import Fraction
from math import frexp, inf, isnan, ldexp

import ml_dtypes
import numpy as np
import pytest

from golden.formats.names import minifloat
from golden.pe.lmul import LmulSpec, carries, cycles, lmul

ORACLES = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e3m2": ml_dtypes.float6_e3m2fn,
}
OFFSETS = {"e4m3": 55, "e5m2": 59, "bf16": 0x3F78, "fp16": 0x3BC0}
MODES = {"mitchell": 0, "lmul": 0, "constant": 1, "exact": 0}


def pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of codes up to 8 bits; of more, all corners with each other, and random ones."""
    width = minifloat(name).width
    if width <= 8:
        a, b = np.meshgrid(np.arange(1 << width), np.arange(1 << width))
        return a.reshape(-1), b.reshape(-1)
    fmt = minifloat(name)
    least = 1 << fmt.mantissa_bits
    corners = [0, 1, least - 1, least, least + 1, fmt.bias * least, fmt.bias * least + least - 1]
    corners += [fmt.max_code, fmt.max_code - 1, fmt.max_code + 1, fmt.max_code + 2]
    corners = [code | sign for code in corners for sign in (0, fmt.sign_code)]
    a, b = np.meshgrid(corners, corners)
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 1 << width, (2, 60000))
    return np.append(a.reshape(-1), drawn[0]), np.append(b.reshape(-1), drawn[1])


def values(name: str, codes: np.ndarray) -> np.ndarray:
    """Values by the oracle's package; subnormals as zeros."""
    dtype = np.dtype(ORACLES[name])
    raw = codes.astype(np.uint8 if dtype.itemsize == 1 else np.uint16)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        found = raw.view(dtype).astype(np.float64)
    smallest = 2.0 ** minifloat(name).min_exponent
    return np.where(np.abs(found) < smallest, np.copysign(0, found), found)


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e4m3fnuz", "e3m2"])
def test_exact_mode_rounds_every_product_to_the_nearest(name: str, saturate: bool) -> None:
    """The product is scaled into the normal range, rounded there by ml_dtypes, scaled back."""
    spec = LmulSpec(format=name, mode="exact", saturate=saturate)
    fmt = spec.number
    a, b = pairs(name)
    got = lmul(spec, a, b)
    with np.errstate(invalid="ignore"):
        exact = values(name, a) * values(name, b)
    fraction, exponent = np.frexp(np.where(np.isfinite(exact), exact, 0))
    rounded = fraction.astype(ORACLES[name]).astype(np.float64)
    expected = np.ldexp(rounded, exponent)
    expected = np.where(np.abs(expected) < 2.0**fmt.min_exponent, 0 * expected, expected)
    greatest = ldexp(float(fmt.bounds[1]), fmt.lsb)
    over = np.abs(expected) > greatest
    beyond = inf if fmt.infinity_code is not None else np.nan
    if saturate or fmt.specials == "finite":
        beyond = greatest
    expected = np.where(over, np.copysign(beyond, expected), expected)
    expected = np.where(np.isfinite(exact), expected, exact)
    assert np.array_equal(fmt.to_float(got), expected, equal_nan=True)
    # Signs of zeros too, and one NaN.
    zero = expected == 0
    signs = np.signbit(values(name, a)) ^ np.signbit(values(name, b))
    if fmt.specials != "fnuz":
        assert np.array_equal(got[zero], np.where(signs[zero], fmt.sign_code, 0))
    assert set(got[np.isnan(expected)]) <= {fmt.nan_code}
    assert got.size == 1 << 2 * fmt.width


def test_exact_mode_agrees_with_ml_dtypes_where_nothing_is_subnormal() -> None:
    """The published claim, with no scaling in between: pairs whose product is a normal number."""
    for name in ("e4m3", "e5m2"):
        spec = LmulSpec(format=name, mode="exact")
        a, b = pairs(name)
        with np.errstate(invalid="ignore"):
            products = values(name, a) * values(name, b)
        normal = np.abs(products) >= 2.0**spec.number.min_exponent
        normal &= np.abs(products) < 2.0**spec.number.max_exponent
        direct = products[normal].astype(ORACLES[name]).view(np.uint8)
        assert normal.sum() > 20000
        assert np.array_equal(lmul(spec, a[normal], b[normal]), direct)


def test_exact_mode_is_exact_for_normal_numbers_only() -> None:
    """The figures of the docstring: all pairs of E4M3 against the product, rounded once."""
    spec = LmulSpec(format="e4m3", mode="exact")
    fmt = spec.number
    a, b = (grid.reshape(-1) for grid in np.meshgrid(*[np.arange(256)] * 2))
    product = fmt.to_float(a) * fmt.to_float(b)
    rounded = fmt.to_float(fmt.encode(product, saturate=False))
    found = fmt.to_float(lmul(spec, a, b))
    differs = (found != rounded) & ~(np.isnan(found) & np.isnan(rounded))
    least = 2.0**fmt.min_exponent
    small = np.minimum(abs(fmt.to_float(a)), abs(fmt.to_float(b))) < least
    assert differs.sum() == 9228
    assert not differs[~small & (abs(product) >= least)].any()
    assert (differs & ~small & (abs(rounded) == least)).sum() == 120
    assert (differs & ~small & (abs(rounded) > least)).sum() == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "bf16", "fp16"])
@pytest.mark.parametrize("mode", ["mitchell", "lmul", "constant"])
def test_sum_of_codes_is_as_defined(name: str, mode: str) -> None:
    """Written out on fractions: with s = x + y + c, (1 + s) 2^e below 1, then 2 s, 4 (s - 1)."""
    spec = LmulSpec(format=name, mode=mode, offset=MODES[mode])
    fmt = spec.number
    one = 1 << fmt.mantissa_bits
    place = {2: 2, 3: 3}.get(fmt.mantissa_bits, 4)
    added = {"mitchell": Fraction(0), "lmul": Fraction(1, 2**place)}
    c = added.get(mode, Fraction(1, one))
    a, b = pairs(name)
    got = lmul(spec, a, b)
    checked = 0
    choice = np.random.default_rng(2).choice(a.size, 3000, replace=False)
    x, y = values(name, a), values(name, b)
    for at in choice.tolist():
        if not (np.isfinite(x[at]) and np.isfinite(y[at]) and x[at] and y[at]):
            continue
        (f, e), (g, h) = frexp(abs(x[at])), frexp(abs(y[at]))
        sum_ = (2 * Fraction(f) - 1) + (2 * Fraction(g) - 1) + c
        # Where s is 2 or more, as it can be with an offset, the carry adds 2 to the exponent.
        whole = sum_.numerator // sum_.denominator
        value = (1 + sum_ - whole) * Fraction(2) ** (e + h - 2 + whole)
        negative = (x[at] < 0) != (y[at] < 0)
        if value < Fraction(2) ** fmt.min_exponent:
            expected = 0.0
        elif value > Fraction(fmt.bounds[1]) * Fraction(2) ** fmt.lsb:
            expected = inf if fmt.infinity_code is not None else np.nan
        else:
            expected = float(value)
        found = float(fmt.to_float(got[at : at + 1])[0])
        assert isnan(found) if isnan(expected) else found == (-expected if negative else expected)
        checked += 1
    assert checked > 1500


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_are_the_published_constants(name: str) -> None:
    spec = LmulSpec(format=name)
    least = 1 << spec.number.mantissa_bits
    assert (spec.number.bias << spec.number.mantissa_bits) - spec.addend == OFFSETS[name]
    a = spec.number.bias * least
    # One times one is not one, as the paper has it.
    assert lmul(spec, np.array([a]), np.array([a])).tolist() == [a + spec.addend]


def test_carries_are_the_published_tables() -> None:
    assert np.argwhere(carries(2)).tolist() == [[1, 2], [2, 1]]
    rows = {
        1: [4, 5, 6],
        2: [3, 4, 5, 6],
        3: [2, 3, 4, 5, 6],
        4: [1, 2, 3, 4, 5],
        5: [1, 2, 3, 4, 5],
        6: [1, 2, 3],
    }
    expected = [[x, y] for x, row in rows.items() for y in row]
    assert np.argwhere(carries(3)).tolist() == expected
    assert len(expected) == 25
    assert set(carries(3).reshape(-1).tolist()) == {0, 1}
    assert carries(4).max() > 1


def test_exact_mode_differs_from_lmul_as_published() -> None:
    """The published count is 25,856 pairs of E4M3; 376 of them have NaN's code for a number."""
    a, b = pairs("e4m3")
    results = [
        lmul(LmulSpec(format="e4m3", mode=mode, saturate=True), a, b) for mode in ("lmul", "exact")
    ]
    assert int((results[0] != results[1]).sum()) == 25856 - 376


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (name, mode)
        for name in ("e4m3", "e5m2", "bf16", "fp16")
        for mode in MODES
        if mode != "exact" or name in ("e4m3", "e5m2")
    ],
)
def test_specials_and_zeros(name: str, mode: str) -> None:
    for saturate in (True, False):
        spec = LmulSpec(format=name, mode=mode, offset=MODES[mode], saturate=saturate)
        fmt = spec.number
        one = fmt.bias << fmt.mantissa_bits
        sign, top, nan = fmt.sign_code, fmt.max_code, fmt.nan_code
        assert nan is not None
        subnormal = 1
        beyond = nan if fmt.infinity_code is None else fmt.infinity_code
        over = top if saturate else beyond
        minus = sign if not saturate and fmt.infinity_code is None else 0
        cases = [
            (0, one, 0),
            (0, sign | one, sign),
            (sign, sign | one, 0),
            (subnormal, top, 0),
            (sign | subnormal, top, sign),
            (nan, 0, nan),
            (sign | nan, one, nan),
            (nan, nan, nan),
            (top, top, over),
            (sign | top, top, over if minus else sign | over),
            (1 << fmt.mantissa_bits, 1 << fmt.mantissa_bits, 0),
            (sign | 1 << fmt.mantissa_bits, 1 << fmt.mantissa_bits, sign),
        ]
        if (infinity := fmt.infinity_code) is not None:
            cases += [
                (infinity, one, infinity),
                (sign | infinity, top, sign | infinity),
                (infinity, 0, nan),
                (infinity, subnormal, nan),
                (infinity, nan, nan),
                (infinity, sign | infinity, sign | infinity),
            ]
        for a, b, expected in cases:
            for x, y in ((a, b), (b, a)):
                got = lmul(spec, np.array([x]), np.array([y])).tolist()
                assert got == [expected], (hex(x), hex(y), saturate)


def test_greatest_number_of_e4m3_is_finite() -> None:
    spec = LmulSpec(format="e4m3", mode="mitchell")
    one = 0x38
    assert lmul(spec, np.array([0x7E, 0x7F]), np.array([one, one])).tolist() == [0x7E, 0x7F]


def test_lmul_is_commutative_and_monotone() -> None:
    for name, mode in (("e4m3", "lmul"), ("e4m3", "exact"), ("e5m2", "mitchell")):
        spec = LmulSpec(format=name, mode=mode, saturate=True)
        top = spec.number.max_code
        x = np.arange(top + 1)
        table = lmul(spec, x[:, None] + 0 * x, x + 0 * x[:, None])
        assert np.array_equal(table, table.T)
        assert (np.diff(table, axis=0) >= 0).all()


def test_errors_are_the_published_ones() -> None:
    """Mean relative errors of adders on the grid of m bits, in percent."""
    for name, mode, percent in (
        ("bf16", "lmul", 2.66),
        ("bf16", "mitchell", 3.85),
        ("e4m3", "lmul", 5.24),
        ("e4m3", "mitchell", 3.78),
        ("e5m2", "lmul", 14.67),
        ("fp16", "lmul", 2.66),
    ):
        spec = LmulSpec(format=name, mode=mode)
        one = 1 << spec.number.mantissa_bits
        x = spec.number.bias * one + np.arange(one)[:: max(one // 128, 1)]
        a, b = (grid.reshape(-1) for grid in np.meshgrid(x, x))
        real = values(name, a) * values(name, b)
        error = np.abs(values(name, lmul(spec, a, b)) / real - 1).mean()
        assert error * 100 == pytest.approx(percent, abs=0.03), (name, mode)


def test_lmul_takes_a_cycle() -> None:
    assert cycles(LmulSpec(), np.zeros(3, int), np.zeros(3, int)).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"format": "fp32"}, "format must be the name of a minifloat"),
        ({"format": "e3m0"}, "format must have 1 bit of mantissa and 2 of exponent"),
        ({"mode": "exact"}, "mode must be one of mitchell, lmul, constant for bf16, not 'exact'"),
        ({"offset": 3}, "offset must be 0..0 in mode lmul, not 3"),
        ({"mode": "constant", "offset": 128}, r"offset must be -127..127 for bf16, not 128"),
        ({"mode": "sum"}, "mode must be one of mitchell, lmul, constant, exact, not 'sum'"),
    ],
)
def test_lmul_rejects(parameters: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LmulSpec(**parameters)  # type: ignore[arg-type]
