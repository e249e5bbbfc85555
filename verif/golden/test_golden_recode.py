"""Golden recoders: exact for every value, the published digits and counts, and the fewest."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from golden.arith.recode import booth, ent, ent_direct, naf, naf_bits, nonzero, value
from golden.formats.integer import IntFormat

Recoder = Callable[[np.ndarray, IntFormat], np.ndarray]
RECODERS: dict[str, Recoder] = {"booth": booth, "ent": ent, "ent_direct": ent_direct, "naf": naf}
FORMATS = [
    IntFormat(width=width, signed=signed) for width in range(2, 17) for signed in (True, False)
]
INT8 = IntFormat(width=8)


def all_codes(fmt: IntFormat) -> np.ndarray:
    return np.arange(fmt.low, fmt.high + 1)


def normal_weights(sigma: float) -> np.ndarray:
    """Probabilities of the int8 codes: N(0, sigma) rounded to nearest, what is outside rejected."""
    edges = (np.arange(INT8.low, INT8.high + 2) - 0.5) / sigma
    below = np.array([math.erf(edge / math.sqrt(2)) for edge in edges])
    weights = np.diff(below)
    return weights / weights.sum()


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("kind", RECODERS)
def test_digits_make_every_value(kind: str, fmt: IntFormat) -> None:
    codes = all_codes(fmt)
    digits = RECODERS[kind](codes, fmt)
    width = fmt.width
    assert digits.dtype == np.int8
    assert digits.shape == (len(codes), (width + 1) // 2 if fmt.signed else width // 2 + 1)
    assert np.abs(digits).max() <= 2
    assert fmt.signed or digits[:, -1].min() >= 0
    assert value(digits).tolist() == codes.tolist()


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_digit_sets(fmt: IntFormat) -> None:
    """What makes each form unique; EN-T's magnitude has no -2, the non-adjacent form no pair."""
    codes = all_codes(fmt)
    assert (ent(codes, fmt) * np.where(codes < 0, -1, 1)[:, None]).min(initial=0) >= -1
    assert ent_direct(codes, fmt)[:, :-1].min(initial=0) >= -1
    bits = naf_bits(codes, fmt)
    assert np.abs(bits).max() == 1
    assert not (bits[:, 1:] & bits[:, :-1] & 1).any()
    assert value(bits, radix=2).tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("code", "digits"), [(127, [2, 0, 0, -1]), (124, [2, 0, -1, 0]), (91, [1, 2, -1, -1])]
)
def test_ent_published_examples(code: int, digits: list[int]) -> None:
    """Highest digit first, as in the EN-T paper."""
    assert ent(np.array([code, -code]), INT8)[:, ::-1].tolist() == [digits, [-x for x in digits]]


@pytest.mark.parametrize("width", [4, 7, 8, 12])
def test_ent_follows_the_published_encoder(width: int) -> None:
    """Gate by gate: groups of the magnitude, their carries, and the codes 0, 1, 2, 3 for -1."""
    fmt = IntFormat(width=width)
    for code in range(fmt.low, fmt.high + 1):
        carry, expected = 0, []
        for digit in range((width + 1) // 2):
            low, high = abs(code) >> 2 * digit & 1, abs(code) >> 2 * digit + 1 & 1
            group = (low + 2 * high + carry) % 4
            carry = (high & low) | (high & carry)
            expected.append((-1 if code < 0 else 1) * (-1 if group == 3 else group))
        assert ent(np.array(code), fmt).tolist() == expected
        assert carry == 0


@pytest.mark.parametrize("width", range(2, 9))
@pytest.mark.parametrize("signed", [True, False])
def test_naf_is_the_fewest(width: int, signed: bool) -> None:
    """Against all digit strings, one digit longer than needed."""
    fmt = IntFormat(width=width, signed=signed)
    length = naf(np.array(0), fmt).size + 1
    strings = np.array(list(itertools.product(range(-2, 3), repeat=length)), dtype=np.int8)
    values, counts = value(strings), nonzero(strings)
    codes = all_codes(fmt)
    fewest = np.full(len(codes), length)
    inside = (values >= fmt.low) & (values <= fmt.high)
    np.minimum.at(fewest, values[inside] - fmt.low, counts[inside])
    assert nonzero(naf(codes, fmt)).tolist() == fewest.tolist()


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        (None, [3.000, 2.918, 3.000, 2.777]),
        (10, [1.925, 1.762, 1.954, 1.731]),
        (20, [2.294, 2.115, 2.344, 2.063]),
        (30, [2.530, 2.335, 2.559, 2.259]),
        (40, [2.673, 2.490, 2.689, 2.397]),
    ],
)
def test_published_counts_of_nonzero_digits(sigma: float | None, expected: list[float]) -> None:
    """Mean over int8 operands, uniform or normal; three digits of each figure are known."""
    codes = all_codes(INT8)
    weights = np.full(256, 1 / 256) if sigma is None else normal_weights(sigma)
    means = [float(weights @ nonzero(RECODERS[kind](codes, INT8))) for kind in RECODERS]
    assert means == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize("kind", RECODERS)
def test_recoders_keep_the_shape(kind: str) -> None:
    codes = np.arange(-12, 12).reshape(2, 3, 4)
    digits = RECODERS[kind](codes, IntFormat(width=5))
    assert digits.shape == (2, 3, 4, 3)
    assert (value(digits) == codes).all()
    assert nonzero(digits).shape == (2, 3, 4)


@pytest.mark.parametrize("kind", RECODERS)
def test_recoders_at_their_widest(kind: str) -> None:
    for fmt in (IntFormat(width=32), IntFormat(width=32, signed=False)):
        codes = np.array([fmt.low, fmt.low + 1, 0, 1, fmt.high // 3, fmt.high - 1, fmt.high])
        assert value(RECODERS[kind](codes, fmt)).tolist() == codes.tolist()


@pytest.mark.parametrize("kind", RECODERS)
def test_recoders_reject_wrong_kind(kind: str) -> None:
    with pytest.raises(TypeError, match=r"codes must be integers \(int8\), not float64"):
        RECODERS[kind](np.array([0.5]), INT8)


@pytest.mark.parametrize("kind", RECODERS)
def test_recoders_reject_out_of_range(kind: str) -> None:
    with pytest.raises(ValueError, match=r"codes must be -128\.\.127 \(int8\), not 128"):
        RECODERS[kind](np.array([128]), INT8)
    with pytest.raises(ValueError, match=r"fmt must be of 1\.\.32 bits, not int33"):
        RECODERS[kind](np.array([0]), IntFormat(width=33))
