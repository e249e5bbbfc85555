"""Golden lane of 16-bit words against fractions, exact integers and SoftPosit's quire."""

from fractions import Fraction

import numpy as np
import pytest

from golden.check import Subset, parameters_of
from golden.npe.sl8 import Sl8Spec, sl8
from golden.npe.sl16 import Sl16Spec, cycles, sl16
from hw.catalog import Design
from verif.golden.test_golden_lane import fractions

ALL = Sl16Spec(formats=",".join(Sl16Spec.FORMATS), accumulator_width=128)


def draw(rng: np.random.Generator, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw words of a and b, and the ends of runs of these lengths."""
    last = np.zeros(lengths.sum(), dtype=bool)
    last[np.cumsum(lengths) - 1] = True
    words = rng.integers(0, 1 << 16, (2, len(last)))
    words[rng.random(words.shape) < 0.02] = 0x8000
    return words, last


def test_sl16_matches_fractions() -> None:
    """Every pair of formats, from the bits of words."""
    rng = np.random.default_rng(16)
    pairs = np.array(ALL.pairs * 3)
    lengths = rng.integers(1, 12, len(pairs))
    (a, b), last = draw(rng, lengths)
    a_format, b_format = np.repeat(pairs, lengths, axis=0).T
    sums, invalid, overflow = sl16(ALL, a, b, a_format, b_format, last)
    start = 0
    for run, (length, (x, y)) in enumerate(zip(lengths, pairs.tolist(), strict=True)):
        total, wrong = Fraction(0), False
        widest = max(ALL.elements[index].width for index in (x, y))
        pitch = next(size for size in (4, 8, 16) if widest <= size)
        for p, q in zip(a[start:][:length], b[start:][:length], strict=True):
            values = (fractions(ALL, int(w), index, pitch) for w, index in ((p, x), (q, y)))
            for one, other in zip(*values, strict=True):
                wrong |= one is None or other is None
                total += (one or 0) * (other or 0)
        assert sums[run] == total / Fraction(2) ** ALL.lsb(x, y)
        assert invalid[run] == wrong
        start += length
    assert not overflow.any()
    assert 0 < invalid.sum() < len(invalid)


def test_sl16_is_two_lanes_of_8_bits() -> None:
    """Codes of up to 8 bits: the halves of words, each in a lane of its own."""
    rng = np.random.default_rng(17)
    half = Sl8Spec(accumulator_width=128)
    pairs = np.array(half.pairs)
    lengths = rng.integers(1, 9, len(pairs))
    (a, b), last = draw(rng, lengths)
    x, y = np.repeat(pairs, lengths, axis=0).T
    sums, invalid, _ = sl16(ALL, a, b, x, y, last)
    low, high = (sl8(half, a >> at & 255, b >> at & 255, x, y, last) for at in (0, 8))
    assert np.array_equal(sums, low[0] + high[0])
    assert np.array_equal(invalid, low[1] | high[1])


def test_sl16_matches_exact_integers() -> None:
    rng = np.random.default_rng(18)
    spec = Sl16Spec(formats="int16", accumulator_width=40)
    index, lengths = 0, rng.integers(1, 300, 50)
    (a, b), last = draw(rng, lengths)
    sums, invalid, overflow = sl16(spec, a, b, index, index, last)
    assert not invalid.any()
    x, y = (words.astype(np.uint16).view(np.int16).tolist() for words in (a, b))
    stops = np.cumsum(lengths)
    for total, start, stop in zip(sums.tolist(), stops - lengths, stops, strict=True):
        exact = sum(p * q for p, q in zip(x[start:stop], y[start:stop], strict=True))
        assert total == (exact + (1 << 39)) % (1 << 40) - (1 << 39)
    assert overflow.tolist() == (lengths > spec.k_max_words(0, 0)).tolist()


def test_sl16_matches_quire16() -> None:
    softposit = pytest.importorskip("softposit")
    rng = np.random.default_rng(19)
    index = ALL.index("posit16e1")
    lengths = rng.integers(1, 200, 150)
    (a, b), last = draw(rng, lengths)
    a[a == 0x8000], b[b == 0x8000] = 1, 0x7FFF
    sums, invalid, overflow = sl16(ALL, a, b, index, index, last)
    assert not invalid.any()
    assert not overflow.any()
    fmt = ALL.elements[index]
    found, total = [], softposit.quire16()
    for x, y, end in zip(a.tolist(), b.tolist(), last, strict=True):
        total.qma(softposit.posit16(bits=x), softposit.posit16(bits=y))
        if end:
            found.append(total.toPosit().v.v & 0xFFFF)
            total = softposit.quire16()
    ours = []
    for value in sums.tolist():
        # What is behind the first 50 bits of a sum only counts as not zero.
        cut = max(abs(value).bit_length() - 50, 0)
        size = abs(value) >> cut
        size |= int(size << cut != abs(value))
        ours.append(float(np.ldexp(np.copysign(size, value), cut - 56)))
    assert (fmt.encode(np.array(ours)) & 0xFFFF).tolist() == found


def test_limit_of_16_bits_is_the_longest_that_cannot_overflow() -> None:
    for x, y in ALL.pairs:
        limit, count = ALL.k_max_words(x, y), ALL.codes(x, y)
        corners = [p * q for p in ALL.elements[x].bounds for q in ALL.elements[y].bounds]
        assert limit * count * max(corners) < 1 << 127
        beyond = (limit + 1) * count
        assert beyond > ALL.LIMIT or beyond * max(corners) >= 1 << 127
    index = ALL.index("posit16e1")
    assert ALL.k_max_words(index, index) == 32767
    for length in (32767, 32768):
        worst = np.full(length, 0x7FFF)
        sums, _, overflow = sl16(ALL, worst, worst, index, index, np.arange(length) == length - 1)
        assert (sums[0] == length << 112) == (length == 32767)
        assert overflow.tolist() == [length > 32767]


@pytest.mark.parametrize("passes", [1, 2])
def test_pairs_of_16_bits_take_as_many_cycles_as_passes(passes: int) -> None:
    spec = Sl16Spec(formats="int8,int4,int16", passes=passes)
    ones = np.ones(6, dtype=np.int64)
    last = np.array([False, True, False, True, True, False])
    # Formats behind the first words of a run do not count.
    a, b = np.array([0, 2, 2, 0, 1, 1]), np.array([1, 2, 0, 0, 2, 0])
    found = cycles(spec, ones, ones, a, b, last).tolist()
    assert found == [1, 1, passes, passes, passes, 1]
    assert cycles(spec, ones, ones, 2, 2, last).tolist() == [passes] * 6


def test_sl16_packs_words() -> None:
    for x, y in ALL.pairs:
        fmt, pitch = ALL.elements[x], ALL.pitch(x, y)
        codes = np.random.default_rng(x).integers(fmt.low, fmt.high, (3, 7), endpoint=True)
        packed = ALL.pack(codes, x, pitch)
        assert packed.shape == (3, -(-7 // ALL.codes(x, y)))
        assert packed.max() < 1 << 16
        assert np.array_equal(ALL.unpack(packed, x, pitch).reshape(3, -1)[:, :7], codes)
    assert [ALL.codes(*pair) for pair in ((0, 0), (1, 1), (1, 0), (1, 8), (9, 9))] == [
        2,
        4,
        2,
        1,
        1,
    ]


def test_sl16_rejects() -> None:
    kind = parameters_of(Sl16Spec)["formats"]
    assert isinstance(kind, Subset)
    assert kind.parse("formats", "posit16e1,int8") == "int8,posit16e1"
    with pytest.raises(
        ValueError, match=r"accumulator_width must be 114\.\.128 bits for posit16e1"
    ):
        Sl16Spec(formats="posit16e1")
    with pytest.raises(ValueError, match=r"accumulator_width must be 32\.\.128 bits for int16"):
        Sl16Spec(formats="int16", accumulator_width=31)
    with pytest.raises(ValueError, match=r"passes must be 1\.\.2 cycles, not 3"):
        Sl16Spec(passes=3)
    with pytest.raises(ValueError, match=r"formats must be one or more of int8, .*, not 'int16'"):
        Sl8Spec(formats="int16")
    assert Design("sl16").module == "sl16"
