"""Recoded integers: digits written in octal, against plain integers and the recoders."""

import itertools
from typing import Any

import numpy as np
import pytest

from golden.arith.recode import booth, ent, ent_direct, naf, naf_bits
from golden.engine import EngineSpec
from golden.formats.integer import IntFormat
from golden.formats.recoded import RecodedFormat, Recoder
from golden.operands import OperandsSpec
from golden.pe.mac import MacSpec
from golden.pe.opt3 import ENCODINGS
from golden.tpe.digit_column import DigitColumnSpec

RECODERS: dict[str, Recoder] = {"booth": booth, "ent": ent, "ent_direct": ent_direct, "naf": naf}
FORMATS = [
    IntFormat(width=width, signed=signed) for width in range(1, 13) for signed in (True, False)
]
DIGITS = {"0": 0, "1": 1, "2": 2, "5": -1, "6": -2}
INT8 = RecodedFormat(integer=IntFormat(width=8))
EIGHT: Any = 8


def all_integers(fmt: IntFormat) -> np.ndarray:
    return np.arange(fmt.low, fmt.high + 1)


def digits_of(code: int, count: int) -> list[int]:
    """Read the digits of a code, lowest first, from its octal numeral."""
    return [DIGITS[numeral] for numeral in reversed(f"{code:0{count}o}")]


@pytest.mark.parametrize("integer", FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("kind", RECODERS)
def test_codes_are_the_digits_of_every_integer(kind: str, integer: IntFormat) -> None:
    fmt = RecodedFormat(integer=integer)
    integers = all_integers(integer)
    codes = fmt.encode(integers, RECODERS[kind])
    assert codes.dtype == np.int64
    assert fmt.decode(codes).tolist() == integers.tolist()
    assert fmt.check("codes", codes).tolist() == codes.tolist()
    assert codes.max() < 1 << fmt.width
    found = [digits_of(code, fmt.width // 3) for code in codes.tolist()]
    assert found == RECODERS[kind](integers, integer).tolist()
    assert [sum(d << 2 * i for i, d in enumerate(row)) for row in found] == integers.tolist()


@pytest.mark.parametrize("integer", FORMATS, ids=lambda fmt: fmt.name)
def test_legal_is_each_way_to_write_each_integer(integer: IntFormat) -> None:
    """Among all bit patterns, against all strings of digits."""
    fmt = RecodedFormat(integer=integer)
    expected = np.zeros(1 << fmt.width, bool)
    values: dict[int, int] = {}
    for numerals in itertools.product(DIGITS, repeat=fmt.digits):
        value = sum(DIGITS[numeral] << 2 * i for i, numeral in enumerate(reversed(numerals)))
        if integer.low <= value <= integer.high:
            values[int("".join(numerals), 8)] = value
    expected[list(values)] = True
    for start in range(0, len(expected), 1 << 16):
        patterns = np.arange(start, min(start + (1 << 16), len(expected)))
        assert np.array_equal(fmt.legal(patterns), expected[patterns])
    assert fmt.decode(np.array(list(values))).tolist() == list(values.values())
    assert set(values.values()) == set(all_integers(integer).tolist())


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_every_illegal_pattern_is_refused(width: int, signed: bool) -> None:
    fmt = RecodedFormat(integer=IntFormat(width=width, signed=signed))
    patterns = np.arange(1 << fmt.width)
    legal = fmt.legal(patterns)
    assert legal.any()
    assert not legal.all()
    for pattern in patterns[~legal].tolist():
        with pytest.raises(ValueError, match=rf"codes must be octal .*, not {pattern:#o}$"):
            fmt.decode(np.array([0, pattern, 0]))


def test_known_codes() -> None:
    """91 = 128 - 32 - 4 - 1 in digits 2, -2, -1, -1; 91 = 64 + 32 - 4 - 1 by EN-T's recoder."""
    assert INT8.width == 12
    assert INT8.encode(np.array([91]), naf).tolist() == [0o2655]
    assert INT8.encode(np.array([91]), ent).tolist() == [0o1255]
    assert INT8.encode(np.array([-128, -1, 0, 1, 127])).tolist() == [0o6000, 0o5, 0, 1, 0o2005]
    assert RecodedFormat(integer=IntFormat(width=8, signed=False)).width == 15


def test_shape_is_kept_and_the_non_adjacent_form_is_default() -> None:
    integers = np.arange(-12, 12).reshape(2, 3, 4)
    codes = INT8.encode(integers)
    assert np.array_equal(codes, INT8.encode(integers, naf))
    assert np.array_equal(INT8.decode(codes), integers)
    assert INT8.encode(np.array(3)).shape == ()
    assert INT8.decode(np.array(0o15)).tolist() == 3
    assert INT8.encode(np.zeros((0, 2), int)).shape == (0, 2)


@pytest.mark.parametrize("signed", [True, False])
def test_widest(signed: bool) -> None:
    fmt = RecodedFormat(integer=IntFormat(width=32, signed=signed))
    low, high = fmt.integer.low, fmt.integer.high
    integers = np.array([low, low + 1, 0, 1, high // 3, high - 1, high])
    for recoder in RECODERS.values():
        assert fmt.decode(fmt.encode(integers, recoder)).tolist() == integers.tolist()


def test_names() -> None:
    assert INT8.name == "recoded_int8"
    assert RecodedFormat(integer=IntFormat(width=5, signed=False)).name == "recoded_uint5"


def binary(integers: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Take two bits at a time, which does not make digits."""
    return integers[..., None] >> 2 * np.arange(4) & 3


def inverted(integers: np.ndarray, fmt: IntFormat) -> np.ndarray:
    """Give digits of another value."""
    return -naf(integers, fmt)


@pytest.mark.parametrize("recoder", [naf_bits, binary, inverted])
def test_recoder_that_gives_other_digits_is_refused(recoder: Recoder) -> None:
    with pytest.raises(ValueError, match=r"recoder must give 4 radix-4 digits -2\.\.2"):
        INT8.encode(np.array([5, 124]), recoder)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: RecodedFormat(integer=EIGHT), TypeError, "integer must be an IntFormat, not 8"),
        (
            lambda: RecodedFormat(integer=IntFormat(width=33)),
            ValueError,
            r"integer must be of 1\.\.32 bits, not int33",
        ),
        (lambda: INT8.decode(np.array([0.5])), TypeError, "codes must be integers"),
        (
            lambda: INT8.decode(np.array([1 << 12])),
            ValueError,
            r"codes must be 0\.\.4095 \(uint12\), not 4096",
        ),
        (
            lambda: INT8.check("a", np.array([0, 0o2000])),
            ValueError,
            r"a must be octal digits 0, 1, 2, 5, 6 of -128\.\.127 \(recoded_int8\), not 0o2000",
        ),
        (lambda: INT8.encode(np.array([0.5])), TypeError, "integers must be integers"),
        (
            lambda: INT8.encode(np.array([128])),
            ValueError,
            r"integers must be -128\.\.127 \(int8\), not 128",
        ),
    ],
)
def test_recoded_rejects(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("signed", [True, False])
def test_columns_take_codes_of_their_encoding(encoding: str, signed: bool) -> None:
    spec = DigitColumnSpec(a_width=5, a_signed=signed, encoding=encoding, a_recoded=True)
    fmt = RecodedFormat(integer=spec.a_format)
    codes = all_integers(spec.a_format).reshape(4, -1)
    assert spec.a_code_width == fmt.width == 9
    assert np.array_equal(spec.a_patterns(codes), fmt.encode(codes, ENCODINGS[encoding]))


@pytest.mark.parametrize("kind", [MacSpec, EngineSpec, DigitColumnSpec])
def test_other_operands_are_plain_codes(kind: type[OperandsSpec]) -> None:
    spec = kind(a_width=5)
    codes = all_integers(spec.a_format)
    assert spec.a_code_width == 5
    assert np.array_equal(spec.a_patterns(codes), codes)
