"""Golden lanes against fractions, golden.gemm, SoftPosit's quire and ml_dtypes."""

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from golden.check import Subset, parameters_of
from golden.gemm import GemmSpec, gemm
from golden.npe.lane import LaneSpec
from golden.npe.sl8 import Sl8Spec, cycles, sl8
from hw.catalog import Design
from verif.golden.formats.reference import NAN, value

SPEC = Sl8Spec()
PAIRS = list(itertools.product(SPEC.names, repeat=2))


def words(rng: np.random.Generator, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw words of a and b, and the ends of runs of these lengths."""
    last = np.zeros(lengths.sum(), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    return rng.integers(0, 256, (2, len(last))), last


def fractions(spec: LaneSpec, word: int, index: int, pitch: int) -> list[Fraction | None]:
    """Values of a word's codes, by the formats' definitions; None for what is no number."""
    found: list[Fraction | None] = []
    fmt = spec.elements[index]
    for start in range(0, spec.word_width, pitch):
        code = word >> start & ((1 << fmt.width) - 1)
        if fmt.low < 0 and code > fmt.high:
            code -= 1 << fmt.width
        number = value(fmt, code)
        assert isinstance(number, Fraction) or number == NAN
        found.append(number if isinstance(number, Fraction) else None)
    return found


@pytest.mark.parametrize("width", [48, 63, 64, 128])
def test_sl8_matches_fractions(width: int) -> None:
    """Every pair of formats, from the bits of words."""
    spec = Sl8Spec(accumulator_width=width)
    rng = np.random.default_rng(width)
    lengths = rng.integers(1, 12, 4 * len(spec.pairs))
    (a, b), last = words(rng, lengths)
    a[rng.random(len(a)) < 0.02] = 0x80
    pairs = np.array(spec.pairs * 4)
    a_format, b_format = np.repeat(pairs, lengths, axis=0).T
    sums, invalid, overflow = sl8(spec, a, b, a_format, b_format, last)
    assert sums.dtype == (np.int64 if width <= 63 else object)
    start = 0
    for run, (length, (x, y)) in enumerate(zip(lengths, pairs.tolist(), strict=True)):
        total, wrong = Fraction(0), False
        widths = [max(spec.elements[index].width, 4) for index in (x, y)]
        pitch = 4 if max(widths) == 4 else 8
        for p, q in zip(a[start:][:length], b[start:][:length], strict=True):
            for one, other in zip(
                fractions(spec, int(p), x, pitch), fractions(spec, int(q), y, pitch), strict=True
            ):
                wrong |= one is None or other is None
                total += (one or 0) * (other or 0)
        assert sums[run] == total / Fraction(2) ** spec.lsb(x, y)
        assert invalid[run] == wrong
        start += length
    assert not overflow.any()
    assert invalid.any()
    assert not invalid.all()


@pytest.mark.parametrize(("a_name", "b_name"), PAIRS)
def test_sl8_matches_gemm(a_name: str, b_name: str) -> None:
    """Sums of numbers, rounded to fp32, are what the exact matrix product gives."""
    x, y = SPEC.index(a_name), SPEC.index(b_name)
    rng = np.random.default_rng(x * 8 + y)
    codes = []
    for index in (x, y):
        fmt = SPEC.elements[index]
        numbers = np.arange(fmt.low, fmt.high + 1)
        codes.append(rng.choice(numbers[~fmt.decode(numbers).nan], (5, 37)))
    pitch = SPEC.pitch(x, y)
    a, b = (SPEC.pack(side, index, pitch) for side, index in zip(codes, (x, y), strict=True))
    rows, columns = np.divmod(np.arange(25), 5)
    last = np.zeros((25, a.shape[1]), dtype=bool)
    last[:, -1] = True
    sums, invalid, overflow = sl8(
        SPEC, a[rows].reshape(-1), b[columns].reshape(-1), x, y, last.reshape(-1)
    )
    assert not invalid.any()
    assert not overflow.any()
    spec = GemmSpec(a_format=SPEC.elements[x], b_format=SPEC.elements[y], accumulation="exact")
    expected = spec.c_format.to_float(gemm(spec, codes[0], codes[1].T))
    found = np.ldexp(sums.astype(np.float64), SPEC.lsb(x, y)).astype(np.float32)
    assert np.array_equal(found.reshape(5, 5), expected)


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2", "e4m3"])
def test_sl8_matches_ml_dtypes(name: str) -> None:
    """Every product of two codes of one format."""
    kinds = {
        "e2m1": ml_dtypes.float4_e2m1fn,
        "e2m3": ml_dtypes.float6_e2m3fn,
        "e3m2": ml_dtypes.float6_e3m2fn,
        "e4m3": ml_dtypes.float8_e4m3fn,
    }
    index = SPEC.index(name)
    width = SPEC.elements[index].width
    values = np.arange(1 << width, dtype=np.uint8).view(kinds[name]).astype(np.float64)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(*[np.arange(1 << width)] * 2))
    sums, invalid, _ = sl8(SPEC, a, b, index, index, np.ones(len(a), dtype=bool))
    expected = values[a] * values[b]
    assert np.array_equal(invalid, np.isnan(expected))
    assert np.array_equal(np.ldexp(sums[~invalid], SPEC.lsb(index, index)), expected[~invalid])


def test_sl8_matches_quire8() -> None:
    softposit = pytest.importorskip("softposit")
    index = SPEC.index("posit8e0")
    rng = np.random.default_rng(8)
    lengths = rng.integers(1, 100, 60)
    (a, b), last = words(rng, lengths)
    a[a == 0x80], b[b == 0x80] = 1, 1
    sums, *_ = sl8(SPEC, a, b, index, index, last)
    expected, total = [], softposit.quire8()
    for x, y, end in zip(a.tolist(), b.tolist(), last, strict=True):
        total.qma(softposit.posit8(bits=x), softposit.posit8(bits=y))
        if end:
            expected.append(total.toPosit().v.v & 0xFF)
            total = softposit.quire8()
    fmt = SPEC.elements[index]
    assert fmt.encode(np.ldexp(sums.astype(float), -12)).tolist() == expected


@pytest.mark.parametrize("width", [37, 48])
def test_limit_is_the_longest_that_cannot_overflow(width: int) -> None:
    """The worst operands as often as it says still fit; one word more may not."""
    spec = Sl8Spec(accumulator_width=width)
    half = 1 << (width - 1)
    for x, y in spec.pairs:
        limit, count = spec.k_max_words(x, y), spec.codes(x, y)
        corners = [p * q for p in spec.elements[x].bounds for q in spec.elements[y].bounds]
        high, low = max(corners) * count, min(corners) * count
        assert limit * high < half
        assert -limit * low <= half
        beyond = (limit + 1) * count
        assert beyond > spec.LIMIT or beyond * max(corners) >= half or -beyond * min(corners) > half
    index = spec.index("e4m3")
    limit = spec.k_max_words(index, index)
    if limit > 10000:
        return
    for length in (limit, limit + 1):
        worst = np.full(length, 0x7E)
        sums, _, overflow = sl8(spec, worst, worst, index, index, np.arange(length) == length - 1)
        assert (sums[0] == length * 229376**2) == (length == limit)
        assert overflow.tolist() == [length > limit]


def test_formats_are_those_of_the_first_words() -> None:
    a, b = np.array([3, 3, 3, 3]), np.array([5, 5, 5, 5])
    last = np.array([False, True, False, True])
    index = SPEC.index("int4")
    sums, *_ = sl8(SPEC, a, b, np.array([0, 7, index, 2]), np.array([0, 1, index, 0]), last)
    assert sums.tolist() == [30, 30]
    assert cycles(SPEC, a, b, index, index, last).tolist() == [1, 1, 1, 1]


def test_pack_is_undone_by_unpack() -> None:
    for x, y in SPEC.pairs:
        fmt, pitch = SPEC.elements[x], SPEC.pitch(x, y)
        codes = np.random.default_rng(x).integers(fmt.low, fmt.high, (3, 7), endpoint=True)
        packed = SPEC.pack(codes, x, pitch)
        assert packed.shape == (3, -(-7 // SPEC.codes(x, y)))
        assert packed.max() < 256
        assert np.array_equal(SPEC.unpack(packed, x, pitch).reshape(3, -1)[:, :7], codes)


def test_words_beyond_the_last_sum_count_nothing() -> None:
    sums, *_ = sl8(SPEC, np.array([1, 2]), np.array([1, 2]), 0, 0, np.array([True, False]))
    assert sums.tolist() == [1]
    sums, *_ = sl8(SPEC, np.array([1]), np.array([1]), 0, 0, np.array([False]))
    assert sums.tolist() == []


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"formats": "int8,int9"}, ValueError, "formats must be one or more of int8, int4, e2m1"),
        ({"formats": "int4,int8"}, ValueError, "in this order, .*, not 'int4,int8"),
        ({"formats": "int8,int8"}, ValueError, "not 'int8,int8'"),
        ({"formats": ""}, ValueError, "not ''"),
        ({"formats": ("int8",)}, TypeError, r"not \('int8',\)"),
        ({"accumulator_width": 36}, ValueError, r"accumulator_width must be 37\.\.128 bits for"),
        ({"accumulator_width": 129}, ValueError, r"must be 4\.\.128 bits, not 129"),
        ({"accumulator_width": 48.0}, TypeError, r"must be 4\.\.128 bits, not 48\.0"),
        ({"formats": "int4", "accumulator_width": 8}, ValueError, r"9\.\.128 bits for int4, not 8"),
    ],
)
def test_spec_rejects(parameters: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Sl8Spec(**parameters)  # type: ignore[arg-type]


def test_sl8_rejects() -> None:
    one, last = np.array([1]), np.array([True])
    with pytest.raises(ValueError, match=r"a must be 0\.\.255 \(uint8\), not 256"):
        sl8(SPEC, np.array([256]), one, 0, 0, last)
    with pytest.raises(ValueError, match=r"b_format must be 0\.\.7, not 8"):
        sl8(SPEC, one, one, 0, 8, last)
    with pytest.raises(TypeError, match="a_format must be integers, not float64"):
        sl8(SPEC, one, one, np.array([0.0]), 0, last)
    with pytest.raises(ValueError, match=r"format must be one of int8, int4, .*, not 'fp16'"):
        SPEC.index("fp16")


def test_subset_reads_names_in_any_order() -> None:
    kind = parameters_of(Sl8Spec)["formats"]
    assert isinstance(kind, Subset)
    assert kind.parse("formats", "e2m1, int8") == "int8,e2m1"
    for text in ("int8,int8", "", "int8,", "int8;int4"):
        with pytest.raises(ValueError, match="formats must be one or more of"):
            kind.parse("formats", text)


def test_module_name_has_no_commas() -> None:
    design = Design.parse("sl8", {"formats": "e2m1,int8", "accumulator_width": "32"})
    assert design.module == "sl8_formats_int8_e2m1_accumulator_width32"
