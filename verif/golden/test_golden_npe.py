"""The array of lanes: against exact products of matrices, the lane, Fractions and ml_dtypes."""

import itertools
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from golden.engine import EngineSpec
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.gemm import GemmSpec, gemm
from golden.npe.lane import LaneSpec
from golden.npe.lane_sums import lane_sums
from golden.npe.npe import NpeSpec, cycles, npe, pack
from golden.tpe.rows import RowsEngineSpec
from golden.tpe.rows import cycles as rows_cycles
from verif.golden.formats.reference import element

SPEC = NpeSpec()
LANE = SPEC.element
PAIRS = LANE.pairs
NARROW = "int8,int4,e2m1"
NAMES = [f"{LANE.names[a]}-{LANE.names[b]}" for a, b in PAIRS]


def codes(
    rng: np.random.Generator, index: int, shape: tuple[int, int], lane: LaneSpec = LANE
) -> np.ndarray:
    """Draw codes of a format, NaR and NaN among them."""
    fmt = lane.elements[index]
    return rng.integers(fmt.low, fmt.high, shape, endpoint=True)


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_npe_is_the_exact_product(pair: tuple[int, int]) -> None:
    rng = np.random.default_rng(PAIRS.index(pair))
    a, b = codes(rng, pair[0], (20, 33)), codes(rng, pair[1], (33, 25))
    sums, invalid, overflow = npe(SPEC, a, b, *pair)
    spec = GemmSpec(
        a_format=LANE.elements[pair[0]],
        b_format=LANE.elements[pair[1]],
        c_format=IntFormat(width=48, fraction_width=-LANE.lsb(*pair)),
        accumulation="exact",
    )
    assert np.array_equal(sums[~invalid], gemm(spec, a, b)[~invalid])
    fp32 = element("fp32")
    rounded = gemm(replace(spec, c_format=fp32), a, b)
    assert np.array_equal(np.isnan(fp32.to_float(rounded)), invalid)
    encoded = fp32.encode(Exact.finite(sums, LANE.lsb(*pair)))
    assert np.array_equal(encoded[~invalid], rounded[~invalid])
    assert not overflow


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_npe_of_numbers_alone_is_the_exact_product(pair: tuple[int, int]) -> None:
    """Codes without NaN take another way; long sums may not."""
    rng = np.random.default_rng(PAIRS.index(pair))
    for depth in (1, 40, 5000):
        found = [codes(rng, pair[0], (3, depth)), codes(rng, pair[1], (depth, 4))]
        for number, side in enumerate(pair):
            nan = LANE.elements[side].decode(found[number]).nan
            found[number] = np.where(nan, 0, found[number])
        sums, invalid, _ = npe(SPEC, found[0], found[1], *pair)
        parts = [LANE.elements[side].decode(x) for side, x in zip(pair, found, strict=True)]
        a, b = (
            (x.significand.astype(object) << (x.exponent - LANE.elements[side].lsb).astype(object))
            for side, x in zip(pair, parts, strict=True)
        )
        half = 1 << SPEC.accumulator_width - 1
        assert np.array_equal(sums, (a @ b + half) % (2 * half) - half)
        assert not invalid.any()


@pytest.mark.parametrize("width", [40, 48, 63, 64, 100])
@pytest.mark.parametrize("pair", PAIRS[::5], ids=NAMES[::5])
def test_npe_is_the_lane_for_each_number(pair: tuple[int, int], width: int) -> None:
    check_lanes(NpeSpec(accumulator_width=width), pair, width)


def test_npe_is_the_lane_of_16_bits_for_each_number() -> None:
    names = "int8,int4,posit8e0,int16,posit16e1"
    spec = NpeSpec(lane="sl16", formats=names, accumulator_width=128)
    for seed, pair in enumerate(spec.element.pairs):
        check_lanes(spec, pair, seed)


def check_lanes(spec: NpeSpec, pair: tuple[int, int], seed: int) -> None:
    """Compare each number of C with the sum of a lane."""
    rng, lane = np.random.default_rng(seed), spec.element
    a, b = codes(rng, pair[0], (4, 21), lane), codes(rng, pair[1], (21, 3), lane)
    sums, invalid, overflow = npe(spec, a, b, *pair)
    a_words, b_words = pack(spec, a, b, *pair)
    beats = a_words.shape[1]
    assert beats == -(-21 // lane.codes(*pair)) == b_words.shape[0]
    for i, j in itertools.product(range(4), range(3)):
        last = np.arange(beats) == beats - 1
        one = lane_sums(lane, a_words[i], b_words[:, j], *pair, last)
        assert [part[0] for part in one] == [sums[i, j], invalid[i, j], overflow]


def test_npe_is_the_sum_of_fractions() -> None:
    rng = np.random.default_rng(3)
    for pair in PAIRS:
        a, b = codes(rng, pair[0], (3, 5)), codes(rng, pair[1], (5, 3))
        values = []
        for index, part in zip(pair, (a, b), strict=True):
            floats = LANE.elements[index].to_float(part)
            values.append([[Fraction(0 if np.isnan(x) else x) for x in row] for row in floats])
        sums, _, _ = npe(SPEC, a, b, *pair)
        for i, j in itertools.product(range(3), range(3)):
            exact = sum((values[0][i][k] * values[1][k][j] for k in range(5)), Fraction(0))
            assert exact == int(sums[i, j]) * Fraction(2) ** LANE.lsb(*pair)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("e4m3", ml_dtypes.float8_e4m3fn),
        ("e2m1", ml_dtypes.float4_e2m1fn),
        ("e2m3", ml_dtypes.float6_e2m3fn),
        ("e3m2", ml_dtypes.float6_e3m2fn),
        ("int4", ml_dtypes.int4),
        ("int8", np.int8),
    ],
)
def test_npe_is_the_product_of_ml_dtypes(name: str, dtype: type) -> None:
    index = LANE.index(name)
    rng = np.random.default_rng(index)
    a, b = codes(rng, index, (9, 64)), codes(rng, index, (64, 7))
    low = LANE.elements[index].low
    floats = [
        (x.astype(dtype) if low else x.astype(np.uint8).view(dtype)).astype(np.float64)
        for x in (a, b)
    ]
    sums, invalid, _ = npe(SPEC, a, b, index, index)
    product = floats[0] @ floats[1]
    assert np.array_equal(np.isnan(product), invalid)
    assert np.array_equal(np.ldexp(sums, LANE.lsb(index, index))[~invalid], product[~invalid])


def test_npe_flags_exactly_the_row_and_the_column() -> None:
    index = LANE.index("e4m3")
    a, b = np.full((4, 6), 0x38), np.full((6, 5), 0x38)
    a[2, 3] = 0xFF
    b[0, 4] = 0x7F
    sums, invalid, _ = npe(SPEC, a, b, index, index)
    assert invalid.tolist() == [[i == 2 or j == 4 for j in range(5)] for i in range(4)]
    assert sums[2, 0] == 5 << 18  # what is no number counts as zero
    assert sums[0, 0] == 6 << 18


@pytest.mark.parametrize("names", [("e4m3", "e4m3"), ("int4", "int4"), ("int8", "e2m1")])
def test_npe_overflows_beyond_the_limit(names: tuple[str, str]) -> None:
    wide = "e4m3" in names
    spec = NpeSpec(accumulator_width=37) if wide else NpeSpec(accumulator_width=20, formats=NARROW)
    lane = spec.element
    pair = lane.index(names[0]), lane.index(names[1])
    worst, values = [], []
    for index in pair:
        fmt = lane.elements[index]
        every = np.arange(fmt.low, fmt.high + 1)
        fixed = fmt.decode(every).fixed(fmt.lsb)
        worst.append(every[np.abs(fixed).argmax()])
        values.append(int(fixed[np.abs(fixed).argmax()]))
    most = lane.k_max_words(*pair) * lane.codes(*pair)
    for depth, due in ((most, False), (most + 1, True)):
        a, b = np.full((1, depth), worst[0]), np.full((depth, 1), worst[1])
        sums, _, overflow = npe(spec, a, b, *pair)
        assert overflow == due
        assert due or sums[0, 0] == depth * values[0] * values[1]


@pytest.mark.parametrize("result", ["posit8e0", "e4m3", "fp32", "int8", "e2m1", "bf16"])
def test_results_are_those_of_gemm(result: str) -> None:
    compared = 0
    for pair in PAIRS[::3]:
        for rounding, saturate in (("rne", True), ("rtz", False)):
            spec = NpeSpec(result=result, rounding=rounding, saturate=saturate)
            rng = np.random.default_rng(PAIRS.index(pair))
            a, b = codes(rng, pair[0], (9, 14)), codes(rng, pair[1], (14, 8))
            found, _, _ = npe(spec, a, b, *pair)
            like = GemmSpec(
                a_format=LANE.elements[pair[0]],
                b_format=LANE.elements[pair[1]],
                c_format=element(result),
                accumulation="exact",
                rounding=rounding,
                saturate=saturate,
            )
            assert np.array_equal(found, gemm(like, a, b))
            compared += found.size
    assert compared > 2000


def test_cycles_are_those_of_rows_of_integers() -> None:
    rng = np.random.default_rng(1)
    for m in (1, 3, 8, 9, 17):
        spec = NpeSpec(m=m, n=4)
        like = RowsEngineSpec(m=m, n=4)
        tiles = [(np.zeros((m, k)), np.zeros((k, 4))) for k in rng.integers(1, 30, 12)]
        pairs = [(0, 1)] * len(tiles)
        assert cycles(spec, tiles, 9, pairs) == rows_cycles(like, tiles, 9)


def test_words_of_16_bits_take_their_passes() -> None:
    names = "int8,int4,int16"
    one, two = (NpeSpec(m=3, n=2, lane="sl16", formats=names, passes=p) for p in (1, 2))
    tiles = [(np.zeros((3, beats)), np.zeros((beats, 2))) for beats in (1, 2, 5)]
    # Tiles end at least three cycles apart: m rows have to leave.
    for pair, busy in (((0, 1), 9), ((0, 2), 16), ((2, 2), 16)):
        assert cycles(two, tiles, 7, [pair] * 3) == busy - 1 + 7 + 3
        assert cycles(one, tiles, 7, [pair] * 3) == 9 - 1 + 7 + 3


def test_npe_rejects_what_is_out_of_range() -> None:
    a, b = np.zeros((2, 3), int), np.zeros((3, 2), int)
    with pytest.raises(ValueError, match=r"a_format must be 0\.\.7, not 8"):
        npe(SPEC, a, b, 8, 0)
    with pytest.raises(ValueError, match=r"b_format must be 0\.\.7, not -1"):
        pack(SPEC, a, b, 0, -1)
    with pytest.raises(ValueError, match=r"a must be -8\.\.7 \(int4\), not 8"):
        npe(SPEC, a + 8, b, 1, 0)
    with pytest.raises(ValueError, match="a and b must be M x K and K x N"):
        npe(SPEC, a, a, 0, 0)
    with pytest.raises(ValueError, match="accumulator_width must be 37"):
        NpeSpec(accumulator_width=36)
    with pytest.raises(ValueError, match="lane must be one of sl8, sl16, not 'sl4'"):
        NpeSpec(lane="sl4")
    with pytest.raises(ValueError, match="result must be fixed, or a format such as"):
        NpeSpec(result="fp31")
    with pytest.raises(TypeError, match="result must be fixed"):
        NpeSpec(result=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="m must be 1"):
        NpeSpec(m=257)
    with pytest.raises(TypeError, match="formats must be"):
        NpeSpec(formats=("int8",))  # type: ignore[arg-type]
    assert not isinstance(SPEC, EngineSpec)
