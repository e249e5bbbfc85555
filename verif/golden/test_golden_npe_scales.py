"""The array of lanes with scales of blocks: against matrix products of gemm, and Fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from golden.formats.block import Blocks
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.mx import MxFormat
from golden.formats.nvfp4 import NvFormat
from golden.formats.ue5m3 import Ue5m3Format
from golden.gemm import GemmSpec, gemm
from golden.npe.npe import NpeSpec, cycles, npe
from verif.golden.formats.reference import element

SPEC = NpeSpec()
LANE = SPEC.element
PAIRS = LANE.pairs[::7]
NAMES = [f"{LANE.names[a]}-{LANE.names[b]}" for a, b in PAIRS]


def drawn(
    rng: np.random.Generator, spec: NpeSpec, index: int, k: int, nan: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw codes that are numbers, 9 x k and k x 8, and scales: some least, greatest and NaN."""
    fmt = spec.element.elements[index]
    every = np.arange(fmt.low, fmt.high + 1)
    every = every[~fmt.decode(every).nan]
    blocks = -(-k // spec.block)
    a, b = rng.choice(every, (9, k)), rng.choice(every, (k, 8))
    a_scales, b_scales = (rng.integers(0, nan, s) for s in ((9, blocks), (blocks, 8)))
    a_scales[0], a_scales[1], b_scales[:, 0], b_scales[:, 1] = 0, nan - 1, 0, nan - 1
    a_scales[2, rng.integers(blocks)] = b_scales[rng.integers(blocks), 2] = nan
    return a, b, a_scales, b_scales


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("k", [1, 32, 75, 200])
@pytest.mark.parametrize("name", ["e4m3", "e2m1", "e2m3", "e3m2", "int8", "posit8e0"])
def test_scaled_results_are_those_of_gemm(name: str, k: int, saturate: bool) -> None:
    spec = NpeSpec(scale="e8m0", result="fp32", saturate=saturate)
    index = LANE.index(name)
    rng = np.random.default_rng(k)
    a, b, a_scales, b_scales = drawn(rng, spec, index, k, 255)
    blocks = Blocks(codes=a, scales=a_scales), Blocks(codes=b, scales=b_scales)
    mx = MxFormat(element=LANE.elements[index])
    like = GemmSpec(a_format=mx, b_format=mx, saturate=saturate)
    found, invalid, overflow = npe(spec, a, b, index, index, a_scales, b_scales)
    due = gemm(like, *blocks)
    assert np.array_equal(found, due)
    assert invalid[2].all()
    assert invalid[:, 2].all()
    assert invalid.sum() == 16
    assert not overflow


def test_scaled_integers_are_those_of_mx_but_for_their_point() -> None:
    spec = NpeSpec(scale="e8m0", result="fp32", saturate=False)
    rng = np.random.default_rng(7)
    a, b, a_scales, b_scales = drawn(rng, spec, 0, 100, 255)
    a_scales, b_scales = a_scales.clip(6, 255), b_scales.clip(6, 255)
    mx = MxFormat(element=IntFormat(width=8, fraction_width=6))
    like = GemmSpec(a_format=mx, b_format=mx, saturate=False)
    due = gemm(like, Blocks(codes=a, scales=a_scales), Blocks(codes=b, scales=b_scales))
    a_scales, b_scales = (np.where(x == 255, 255, x - 6) for x in (a_scales, b_scales))
    assert np.array_equal(npe(spec, a, b, 0, 0, a_scales, b_scales)[0], due)


@pytest.mark.parametrize("name", ["int8", "int4", "e2m1", "e4m3"])
def test_scaled_results_are_those_of_gemm_in_ue5m3(name: str) -> None:
    spec = NpeSpec(scale="e5m3", result="fp32", saturate=False)
    index = LANE.index(name)
    a, b, a_scales, b_scales = drawn(np.random.default_rng(9), spec, index, 150, 255)
    fmt = Ue5m3Format(element=LANE.elements[index])
    like = GemmSpec(a_format=fmt, b_format=fmt, saturate=False)
    due = gemm(like, Blocks(codes=a, scales=a_scales), Blocks(codes=b, scales=b_scales))
    found, invalid, overflow = npe(spec, a, b, index, index, a_scales, b_scales)
    assert np.array_equal(found, due)
    assert invalid.sum() == 16
    assert not overflow
    assert spec.k_max_words(index, index) is None


@pytest.mark.parametrize("k", [1, 16, 75, 400])
def test_scaled_results_are_those_of_gemm_in_nvfp4(k: int) -> None:
    spec = NpeSpec(scale="e4m3", result="fp32", block=16)
    index = LANE.index("e2m1")
    a, b, a_scales, b_scales = drawn(np.random.default_rng(k), spec, index, k, 127)
    like = GemmSpec(a_format=NvFormat(), b_format=NvFormat())
    due = gemm(like, Blocks(codes=a, scales=a_scales), Blocks(codes=b, scales=b_scales))
    found, invalid, _ = npe(spec, a, b, index, index, a_scales, b_scales)
    assert np.array_equal(found, due)
    assert invalid.sum() == 16


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_sums_with_scales_of_e4m3_are_those_of_fractions(pair: tuple[int, int]) -> None:
    spec = NpeSpec(scale="e4m3", result="fp32", block=4)
    rng = np.random.default_rng(PAIRS.index(pair))
    a, b = (
        rng.integers(fmt.low, fmt.high, shape, endpoint=True)
        for fmt, shape in zip((LANE.elements[x] for x in pair), ((3, 11), (11, 3)), strict=True)
    )
    scales = rng.integers(0, 128, (3, 3)), rng.integers(0, 128, (3, 3))
    found, invalid, _ = npe(spec, a, b, *pair, *scales)
    x, y = (LANE.elements[index].to_float(part) for index, part in zip(pair, (a, b), strict=True))
    e4m3, fp32 = element("e4m3"), element("fp32")
    xs, ys = (e4m3.to_float(part) for part in scales)
    for i, j in itertools.product(range(3), range(3)):
        factors = [(x[i, k], y[k, j], xs[i, k // 4], ys[k // 4, j]) for k in range(11)]
        if np.isnan(factors).any():
            assert invalid[i, j]
            assert np.isnan(fp32.to_float(found[i, j]))
            continue
        exact = sum((math.prod(map(Fraction, part)) for part in factors), Fraction(0))
        integer = np.array([int(exact * Fraction(2) ** 60)], dtype=object)
        assert found[i, j] == fp32.encode(Exact.finite(integer, -60).to_odd())[0]
        assert not invalid[i, j]


def test_scaled_sums_overflow_beyond_their_depth() -> None:
    spec = NpeSpec(scale="e4m3", result="fp32", block=16, depth=3, formats="e2m1")
    assert spec.k_max_words(0, 0) == 24
    for k, due in ((48, False), (49, True)):
        a, b = np.full((1, k), 7), np.full((k, 1), 7)
        scales = np.full((1, -(-k // 16)), 126)
        found, _, overflow = npe(spec, a, b, 0, 0, scales, scales.T)
        assert overflow == due
        assert due or element("fp32").to_float(found)[0, 0] == 48 * 36 * 448**2
    mx = NpeSpec(scale="e8m0", result="fp32")
    assert mx.k_max_words(0, 0) is None


def test_cycles_of_blocks_that_are_shorter_than_a_drain() -> None:
    spec = NpeSpec(m=9, n=4, scale="e8m0", result="fp32", block=8)
    drain = spec.drain
    e2m1, e4m3 = LANE.index("e2m1"), LANE.index("e4m3")

    def spent(*tiles: tuple[int, int]) -> int:
        words = [(np.zeros((9, count)), np.zeros((count, 4))) for count, _ in tiles]
        return cycles(spec, words, 20, [(index, index) for _, index in tiles])

    assert spent((8, e4m3)) == 8 - 1 + 20 + drain
    assert spent((16, e4m3)) == 8 + drain - 1 + 20 + drain
    assert spent((16, e2m1)) == 4 + 3 * drain - 1 + 20 + drain
    assert spent((9, e4m3), (4, e2m1)) == 8 + 2 * drain - 1 + 20 + drain


def test_npe_rejects_scales_that_do_not_fit() -> None:
    spec = NpeSpec(scale="e4m3", result="fp32")
    a, b, s = np.zeros((2, 33), int), np.zeros((33, 2), int), np.zeros((2, 2), int)
    with pytest.raises(TypeError, match="a_scales and b_scales must be there"):
        npe(spec, a, b, 0, 0)
    with pytest.raises(TypeError, match="a_scales and b_scales must be there"):
        npe(SPEC, a, b, 0, 0, s, s)
    with pytest.raises(
        ValueError, match=r"must be \(2, 2\) and \(2, 2\), one for each block of 32"
    ):
        npe(spec, a, b, 0, 0, s, s[:1])
    with pytest.raises(ValueError, match=r"a_scales must be 0\.\.127 \(uint7\), not 128"):
        npe(spec, a, b, 0, 0, s + 128, s)
    with pytest.raises(ValueError, match="result must be fp32 with scales e8m0, not 'fixed'"):
        NpeSpec(scale="e8m0")
    with pytest.raises(ValueError, match="rounding must be rne with scales e8m0, not 'rtz'"):
        NpeSpec(scale="e8m0", result="fp32", rounding="rtz")
    with pytest.raises(ValueError, match="block must be a multiple of the 2 codes of a word, not"):
        NpeSpec(scale="e8m0", result="fp32", block=3)
    with pytest.raises(ValueError, match=r"accumulator_width must be 42\.\.128 bits"):
        NpeSpec(scale="e8m0", result="fp32", accumulator_width=41)
    with pytest.raises(ValueError, match="block must be 1"):
        NpeSpec(scale="e8m0", result="fp32", block=0)
