"""Scaled sums of blocks and aligned dot products: against the matrix product of their formats."""

from fractions import Fraction

import gfloat  # type: ignore[import-untyped]
import numpy as np
import pytest

from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.nvfp4 import NvFormat
from golden.gemm import GemmSpec, gemm
from golden.npe.aligned_dot import AlignedDotSpec, aligned_dot
from golden.npe.block_scale import BlockScaleSpec, block_scale
from verif.golden.formats.reference import UE5M3


@pytest.mark.parametrize("name", ["mx_e4m3", "mx_e2m1", "mx_e3m2", "mx_int8f6", "mx_e2m3"])
def test_block_scale_agrees_with_the_matrix_product(name: str) -> None:
    fmt = parse(name)
    assert isinstance(fmt, MxFormat)
    rng = np.random.default_rng(1)
    depth = 32 * 12
    a = fmt.quantise(rng.normal(size=(5, depth)) * 2.0 ** rng.integers(-40, 10, (5, depth)))
    b = fmt.quantise(rng.normal(size=(depth, 4)), axis=0)
    a.scales[0, 3] = 255
    a.scales[1] += 100
    b.scales[:, 2] = 254
    spec = BlockScaleSpec(sum_width=63, fraction_width=-2 * fmt.element.lsb)
    left, right = (fmt.element.decode(part.codes).fixed(fmt.element.lsb) for part in (a, b))
    expected = gemm(GemmSpec(a_format=fmt, b_format=fmt, saturate=False), a, b)
    for i in range(5):
        for j in range(4):
            sums = (left[i].astype(object) * right[:, j]).reshape(12, 32).sum(axis=1)
            last = np.arange(12) == 11
            none = np.zeros(12, dtype=bool)
            got = block_scale(spec, sums.astype(np.int64), a.scales[i], b.scales[:, j], none, last)
            assert got.tolist() == [expected[i, j]], (i, j)


def test_exact_blocks_agree_with_the_matrix_product() -> None:
    fmt = NvFormat()
    rng = np.random.default_rng(2)
    depth = 16 * 30
    a = fmt.quantise(rng.normal(size=(4, depth)) * 2.0 ** rng.integers(-9, 9, (4, depth)))
    b = fmt.quantise(rng.normal(size=(depth, 3)), axis=0)
    a.scales[3, 7] = 127
    for blocks in (a, b):
        object.__setattr__(blocks, "tensor_scale", 1.0)
    spec = BlockScaleSpec(scale="e4m3", sum_width=13, fraction_width=2, depth=30)
    left, right = (fmt.element.decode(part.codes).fixed(-1) for part in (a, b))
    expected = gemm(GemmSpec(a_format=fmt, b_format=fmt, saturate=False), a, b)
    last, none = np.arange(30) == 29, np.zeros(30, dtype=bool)
    for i in range(4):
        for j in range(3):
            sums = (left[i] * right[:, j]).reshape(30, 16).sum(axis=1)
            got = block_scale(spec, sums, a.scales[i], b.scales[:, j], none, last)
            assert got.tolist() == [expected[i, j]], (i, j)


@pytest.mark.parametrize("width", [13, 28, 63])
def test_exact_totals_of_any_width(width: int) -> None:
    """Runs of several lengths; of wide sums totals need more than 64 bits."""
    spec = BlockScaleSpec(scale="e4m3", sum_width=width, fraction_width=2, depth=8)
    rng, half, count = np.random.default_rng(3), 1 << width - 1, 60
    sums = rng.integers(-half, half, count)
    a, b = rng.integers(0, 127, (2, count))
    last, invalid = rng.random(count) < 0.4, rng.random(count) < 0.05
    made = block_scale(spec, sums, a, b, invalid, last)
    fp32, e4m3 = parse("fp32"), parse("e4m3")
    assert isinstance(fp32, MinifloatFormat)
    assert isinstance(e4m3, MinifloatFormat)
    start = 0
    for number, stop in enumerate(np.flatnonzero(last) + 1):
        run = slice(start, stop)
        scales = zip(e4m3.to_float(a[run]), e4m3.to_float(b[run]), strict=True)
        terms = zip(sums[run].tolist(), scales, strict=True)
        total = sum(one * Fraction(x) * Fraction(y) / 4 for one, (x, y) in terms)
        due = float(np.float32(np.float64(total)))
        if invalid[run].any():
            assert np.isnan(fp32.to_float(made[number]))
        else:
            assert fp32.to_float(made[number]) == due or width == 63
            assert fp32.to_float(made[number]) == pytest.approx(due, rel=2**-23)
        start = int(stop)
    assert len(made) == np.count_nonzero(last)


def test_block_scale_in_numpy_float32() -> None:
    rng = np.random.default_rng(3)
    sums = rng.integers(-(1 << 40), 1 << 40, 3000) >> rng.integers(0, 40, 3000)
    a, b = rng.integers(0, 255, (2, 3000))
    last = rng.random(3000) < 0.3
    invalid = rng.random(3000) < 0.01
    codes = block_scale(BlockScaleSpec(), sums, a, b, invalid, last)
    totals = []
    total = np.float32(0)
    with np.errstate(all="ignore"):
        for s, x, y, bad, done in zip(sums, a, b, invalid, last, strict=True):
            term = np.float32(np.ldexp(np.float64(s), int(x + y - 254 - 18)))
            total = np.float32(total + (np.float32(np.nan) if bad else term))
            if done:
                totals.append(total)
                total = np.float32(0)
    expected = np.array(totals)
    bits = np.where(np.isnan(expected), 0x7FC00000, expected.view(np.uint32))
    assert np.array_equal(codes, bits)
    assert np.isinf(expected).any()
    assert ((np.abs(expected) < 2.0**-126) & (expected != 0)).any()


def test_blocks_of_e5m3_in_numpy_float32_by_the_scales_of_gfloat() -> None:
    rng = np.random.default_rng(5)
    sums = rng.integers(-(1 << 40), 1 << 40, 3000) >> rng.integers(0, 40, 3000)
    a, b = rng.integers(0, 256, (2, 3000))
    last = rng.random(3000) < 0.3
    invalid = rng.random(3000) < 0.01
    codes = block_scale(BlockScaleSpec(scale="e5m3"), sums, a, b, invalid, last)
    x, y = (gfloat.decode_ndarray(UE5M3, part) for part in (a, b))
    with np.errstate(invalid="ignore"):
        terms = np.where(invalid, np.nan, sums * x * y / 2.0**18).astype(np.float32)
    total, totals = np.float32(0), []
    for term, done in zip(terms, last, strict=True):
        total = np.float32(total + term)
        if done:
            totals.append(total)
            total = np.float32(0)
    expected = np.array(totals)
    assert 10 < np.isnan(expected).sum() < 90
    assert np.array_equal(codes, np.where(np.isnan(expected), 0x7FC00000, expected.view(np.uint32)))


@pytest.mark.parametrize("width", [24, 63])
def test_blocks_of_e5m3_at_their_ends(width: int) -> None:
    """The greatest sums and scales, exact in no double, and the least ones; by fractions."""
    spec = BlockScaleSpec(scale="e5m3", sum_width=width, fraction_width=64)
    top = 1 << width - 1
    for number in (-top, top - 1, 1, -1, 0):
        for x, y in ((0, 254), (1, 1), (7, 8), (8, 9), (254, 254), (254, 1)):
            one = np.array([number]), np.array([x]), np.array([y])
            made = block_scale(spec, *one, np.array([False]), np.array([True]))
            factors = [
                Fraction(v % 8 + 8 * (v > 7)) * Fraction(2) ** (max(v // 8, 1) - 18) for v in (x, y)
            ]
            exact = number * factors[0] * factors[1] / 2**64 * 2**200
            assert exact.denominator == 1
            significand = np.array([int(exact)], dtype=object)
            assert made[0] == spec.total.encode(Exact.finite(significand, -200))[0]


def test_exact_blocks_wrap_beyond_their_depth() -> None:
    spec = BlockScaleSpec(scale="e4m3", sum_width=4, fraction_width=0, depth=1)
    assert spec.scale_format is not None
    most = spec.scale_format.max_code
    sums, scales = np.full(3, -8), np.full(3, most)
    none, last = np.zeros(3, dtype=bool), np.array([True, False, True])
    one, two = spec.total.to_float(block_scale(spec, sums, scales, scales, none, last)).tolist()
    assert one == -8 * 448.0**2
    assert two == 2 * one + 2.0 ** (spec.accumulator_width + spec.exact_lsb)


def test_invalid_blocks_and_scales_are_nan() -> None:
    one, none, last = np.array([1]), np.array([False]), np.array([True])
    for spec, nan, unit in (
        (BlockScaleSpec(), 255, 127),
        (BlockScaleSpec(scale="e4m3"), 127, 0x38),
        (BlockScaleSpec(scale="e5m3"), 255, 0x78),
    ):
        nans, units = np.array([nan]), np.array([unit])
        assert block_scale(spec, one, nans, units, none, last).tolist() == [0x7FC00000]
        assert block_scale(spec, one, units, nans, none, last).tolist() == [0x7FC00000]
        assert block_scale(spec, one, units, units, ~none, last).tolist() == [0x7FC00000]
        good = spec.total.to_float(block_scale(spec, one, units, units, none, last))
        assert Fraction(float(good[0])) == Fraction(2) ** spec.lsb
    tiny = block_scale(BlockScaleSpec(fraction_width=0), one, one * 0, one * 127, none, last)
    assert tiny.tolist() == [1 << 22]


def test_block_scale_rejects() -> None:
    with pytest.raises(ValueError, match="scale must be one of e8m0, e4m3, e5m3, not 'x'"):
        BlockScaleSpec(scale="x")
    with pytest.raises(ValueError, match=r"sum_width must be 4\.\.63 bits, not 3"):
        BlockScaleSpec(sum_width=3)
    with pytest.raises(TypeError, match="fraction_width must be"):
        BlockScaleSpec(fraction_width=0.5)  # type: ignore[arg-type]
    one = np.array([1])
    with pytest.raises(ValueError, match="b_scales must be"):
        block_scale(BlockScaleSpec(scale="e4m3"), one, one, one * 128, one > 2, one > 0)


@pytest.mark.parametrize(
    ("name", "kept", "bits", "group"),
    [("fp16", 24, 23, 8), ("bf16", 25, 23, 16), ("e4m3", 13, 13, 32), ("e5m2", 25, 23, 32)],
)
def test_aligned_dot_agrees_with_the_matrix_product(
    name: str, kept: int, bits: int, group: int
) -> None:
    fmt = parse(name)
    assert isinstance(fmt, MinifloatFormat)
    rng = np.random.default_rng(4)
    values = rng.normal(size=(9, 2 * group)) * 2.0 ** rng.integers(-6, 6, (9, 2 * group))
    others = rng.normal(size=(2 * group, 1))
    a, b = fmt.encode(values), fmt.encode(others)
    a[1, 3] = fmt.nan_code
    spec = AlignedDotSpec(
        a_format=name, b_format=name, group=group, fraction_width=kept, sum_mantissa_bits=bits
    )
    product = GemmSpec(
        a_format=fmt,
        b_format=fmt,
        accumulation="aligned",
        saturate=False,
        group=group,
        fraction_width=kept,
        sum_mantissa_bits=bits,
    )
    expected = gemm(product, a, b)
    rows = np.tile(b[:, 0].reshape(-1, group), (9, 1))
    got = aligned_dot(spec, a.reshape(-1, group), rows, np.arange(18) % 2 == 1)
    assert np.array_equal(got, expected[:, 0])
    assert got[1] == 0x7FC00000
