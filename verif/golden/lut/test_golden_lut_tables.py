"""Tables of floats, tables rounded to int8, aligned activations: against numpy and fractions."""

from fractions import Fraction
from math import floor, log2

import ml_dtypes
import numpy as np
import pytest

from golden.formats.names import minifloat
from golden.lut.align import align, aligned_format
from golden.lut.float_table import FloatLookupSpec, float_lookup_matmul, float_tables
from golden.lut.lookup import LookupSpec, lookup_matmul
from golden.lut.table import TableSpec, tables
from golden.lut.table_scale import quantise_tables, scaled_matmul

FP16 = minifloat("fp16")
Half = np.float16


def draw(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """Draw fp16 numbers of many exponents, subnormals and zeros among them."""
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=shape) * 2.0 ** rng.integers(-22, 8, shape)).astype(Half)
    values[rng.random(shape) < 0.1] = 0
    values[rng.random(shape) < 0.05] = -0.0
    return values


def codes_of(values: np.ndarray) -> np.ndarray:
    return values.view(np.uint16).astype(np.int64)


def entries_of(row: np.ndarray) -> list[np.ndarray]:
    """Entries by the documented tree, in numpy's fp16, which rounds each addition once."""
    if len(row) == 2:
        return [-row[0] - row[1], row[0] - row[1]]
    if len(row) == 3:
        high = entries_of(row[1:])
        return [low + part for part in high for low in (-row[0], row[0])]
    low = entries_of(row[:2])
    four = [low[0], low[1], -low[1], -low[0]]
    return [first + part for part in entries_of(row[2:]) for first in four]


@pytest.mark.parametrize("group", [2, 3, 4, 5])
def test_float_entries_are_rounded_in_the_documented_order(group: int) -> None:
    values = draw((300, group), group)
    found = float_tables(FloatLookupSpec(group=group), codes_of(values))[:, 0]
    expected = np.array([entries_of(row) for row in values], dtype=Half)
    assert np.array_equal(found, expected.view(np.uint16))
    if group == 4:
        plain = ((-values[:, 0] - values[:, 1]) - values[:, 2]) - values[:, 3]
        assert not np.array_equal(expected[:, 0], plain)


@pytest.mark.parametrize("order", ["inner", "outer"])
@pytest.mark.parametrize(("name", "dtype"), [("fp32", np.float32), ("fp16", Half)])
def test_float_sums_are_added_in_the_documented_order(name: str, dtype: type, order: str) -> None:
    group, lookups, planes, depth = 4, 2, 3, 21
    values = draw((3, depth))
    weights = np.random.default_rng(2).integers(0, 8, (depth, 5))
    spec = FloatLookupSpec(
        group=group, lookups=lookups, planes=planes, sum_format=name, order=order
    )
    found = float_lookup_matmul(spec, codes_of(values), weights)
    padded = np.pad(values, ((0, 0), (0, 3)))
    codes = np.pad(weights, ((0, 3), (0, 0)))
    for m in range(3):
        for n in range(5):
            total = dtype(0)
            for place, plane in order_of(order, planes, 3, lookups):
                part = slice(group * place, group * place + group)
                bits = (codes[part, n] >> plane & 1).tolist()
                flip = bits[-1] == 1
                index = sum((bit ^ flip) << j for j, bit in enumerate(bits[:-1]))
                entry = entries_of(padded[m, part])[index]
                term = np.float64(-entry if flip else entry) * 2**plane
                # A double holds the exact sum of two numbers of fp16; of fp32 and fp16, here too.
                total = dtype(np.float64(total) + term)
            assert found[m, n] == total.view(f"u{total.itemsize}")


def order_of(order: str, planes: int, beats: int, lookups: int) -> list[tuple[int, int]]:
    if order == "outer":
        return [(g, w) for w in reversed(range(planes)) for g in range(beats * lookups)]
    return [
        (b * lookups + g, w) for b in range(beats) for w in range(planes) for g in range(lookups)
    ]


def test_float_tables_keep_zeros_overflow_and_nan() -> None:
    spec = FloatLookupSpec(group=2, planes=8)
    half_max = 0x7BFF
    a = np.array([[0, 0], [half_max, half_max], [0x7C00, 0x7C00], [1, 0], [0x8000, 0x8000]])
    found = float_tables(spec, a)[:, 0]
    assert found[0].tolist() == [0x8000, 0]
    assert found[1].tolist() == [0xFC00, 0]  # too great is an infinity
    assert found[2].tolist() == [0xFC00, 0x7E00]  # infinity less infinity
    assert found[3].tolist() == [0x8001, 1]  # subnormals are kept
    # Raised by seven planes, zeros stay zeros, unlike where the exponent field is added to.
    ones = np.full((2, 1), 128)
    sums = float_lookup_matmul(spec, a[:1], ones)
    assert sums.tolist() == [[0]]
    assert float_lookup_matmul(spec, a[3:4], np.full((2, 1), 255)).tolist() == [
        [int(np.float32(255 * 2.0**-24).view(np.uint32))]
    ]


def test_float_tables_of_bf16_are_those_of_ml_dtypes() -> None:
    rng = np.random.default_rng(3)
    values = (rng.normal(size=(200, 2)) * 2.0 ** rng.integers(-10, 10, (200, 2))).astype(
        ml_dtypes.bfloat16
    )
    codes = values.view(np.uint16).astype(np.int64)
    found = float_tables(FloatLookupSpec(group=2, a_format="bf16"), codes)[:, 0]
    expected = np.stack([-values[:, 0] - values[:, 1], values[:, 0] - values[:, 1]], axis=1)
    assert np.array_equal(found, expected.view(np.uint16))


@pytest.mark.parametrize("group", [2, 3, 4])
def test_scaled_tables_are_those_of_fp32_kernels(group: int) -> None:
    rng = np.random.default_rng(group)
    a = rng.integers(-128, 128, (3, 60))
    a[1, :40] = 0
    entries = tables(TableSpec(group=group), a)
    share = 5
    codes, scales = quantise_tables(entries, share)
    for m in range(3):
        for start in range(0, entries.shape[1], share):
            part = a[m, group * start : group * (start + share)].reshape(-1, group)
            # The greatest sum of magnitudes is the greatest entry: no entry need be looked at.
            scale = np.float32(np.abs(part).sum(axis=1).max() / 127)
            inverse = np.float32(1) / scale if scale else np.float32(0)
            wanted = np.rint(entries[m, start : start + share].astype(np.float32) * inverse)
            assert np.array_equal(codes[m, start : start + share], np.clip(wanted, -127, 127))
            assert (scales[m, start : start + share] == scale).all()
    assert not codes[1, : 40 // group // share * share].any()
    assert np.abs(codes).max() == 127


def test_scaled_tables_round_ties_to_even_and_saturate() -> None:
    # Greatest entry 254 makes the scale 2: odd entries are ties.
    entries = np.array([[[254, 1, 3, 5, -1, -3, -5, -254]]])
    codes, scales = quantise_tables(entries, 1)
    assert scales.tolist() == [[2.0]]
    assert codes.tolist() == [[[127, 0, 2, 2, 0, -2, -2, -127]]]
    codes, scales = quantise_tables(entries, 1, rule="pow2")
    assert (scales.tolist(), codes.tolist()) == ([[2.0]], [[[127, 0, 2, 2, 0, -2, -2, -127]]])
    # 255 / 2 is a tie that rounds to 128: one place more is needed.
    codes, scales = quantise_tables(np.array([[[255, 6, -6, 2]]]), 1, rule="pow2")
    assert (scales.tolist(), codes.tolist()) == ([[4.0]], [[[64, 2, -2, 0]]])


@pytest.mark.parametrize("rule", ["fp32", "pow2"])
def test_tables_of_zeros_stay_zeros(rule: str) -> None:
    entries = np.zeros((2, 3, 8), dtype=np.int64)
    codes, scales = quantise_tables(entries, 2, rule=rule)
    assert not codes.any()
    assert set(scales.reshape(-1)) == {0.0 if rule == "fp32" else 1.0}


def test_tables_refuse_infinities_and_flush_tiny_scales() -> None:
    with pytest.raises(ValueError, match="entries must be finite"):
        quantise_tables(np.full((1, 1, 2), np.inf), 1)
    codes, scales = quantise_tables(np.array([[[1e-40, 0.0]]]), 1)
    assert (codes.tolist(), scales.tolist()) == ([[[0, 0]]], [[0.0]])


@pytest.mark.parametrize("rule", ["fp32", "pow2"])
def test_products_by_scaled_tables(rule: str) -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(-128, 128, (3, 130))
    weights = rng.integers(0, 4, (130, 6))
    spec = LookupSpec(group=4, planes=2)
    codes, scales = quantise_tables(tables(spec, a), 16, rule=rule)
    got = scaled_matmul(spec, codes, scales, weights, 16)
    total = np.zeros((3, 6), dtype=np.float32)
    padded = np.pad(weights, ((0, 2), (0, 0)))
    for start in range(0, 33, 16):
        sums = np.zeros((3, 6), dtype=np.int64)
        for g in range(start, min(start + 16, 33)):
            for plane in range(2):
                bits = padded[4 * g : 4 * g + 4] >> plane & 1
                for n in range(6):
                    pattern = sum(int(bit) << j for j, bit in enumerate(bits[:, n]))
                    entry = codes[:, g, pattern] if pattern < 8 else -codes[:, g, 15 - pattern]
                    sums[:, n] += entry << plane
        total = total + (sums * scales[:, start, None]).astype(np.float32)
    assert np.array_equal(got, total)
    exact = a @ (2 * weights - 3)
    assert np.abs(got - exact).max() < 0.02 * np.abs(a).sum(axis=1).max()
    assert not np.array_equal(got, exact)


@pytest.mark.parametrize("name", ["fp16", "bf16", "e4m3", "e5m2"])
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
def test_alignment_to_the_greatest_exponent(name: str, rounding: str) -> None:
    fmt = minifloat(name)
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 1 << fmt.width, (8, 50))
    codes[~np.isfinite(fmt.to_float(codes))] = 0
    codes[0, :32] = 0
    for width in (8, 13):
        blocks = align(fmt, codes, width=width, block=32, rounding=rounding)
        for m in range(8):
            for start in (0, 32):
                part = [Fraction(x) for x in fmt.to_float(codes[m, start : start + 32]).tolist()]
                got = blocks.codes[m, start : start + 32].tolist()
                greatest = max(abs(x) for x in part)
                if not greatest:
                    assert not any(got)
                    continue
                exponent = max(floor(log2(greatest)), -127)
                assert blocks.scales[m, start // 32] == exponent + 127
                unit = Fraction(2) ** (exponent - (width - 2))
                limit = (1 << width - 1) - 1
                for x, code in zip(part, got, strict=True):
                    wanted = round(x / unit) if rounding == "rne" else int(x / unit)
                    assert code == max(min(wanted, limit), -limit)


def test_aligned_products_are_exact_but_for_the_alignment() -> None:
    """All of a row in one block of 16 bits: integers of fp16 with exponents that are near."""
    rng = np.random.default_rng(8)
    values = (rng.integers(-1023, 1024, (2, 40)) * 2.0 ** rng.integers(0, 4, (2, 40))).astype(Half)
    blocks = align(FP16, codes_of(values), width=16, block=40)
    weights = rng.integers(0, 16, (40, 3))
    spec = LookupSpec(a_width=16, symmetric=True, planes=4)
    sums = lookup_matmul(spec, blocks.codes, weights)
    exponent = blocks.scales - aligned_format(16, 40).scale_bias - 14
    exact = values.astype(np.float64) @ (2 * weights - 15)
    assert np.array_equal(sums * 2.0**exponent, exact)


def test_alignment_marks_what_is_no_number() -> None:
    blocks = align(FP16, np.array([[0x7C00, 0, 0x3C00, 0x3C00]]), width=8, block=2)
    assert blocks.scales.tolist() == [[255, 127]]
    with pytest.raises(ValueError, match=r"width must be 2\.\.16 bits, not 17"):
        align(FP16, np.array([[0]]), width=17, block=1)
