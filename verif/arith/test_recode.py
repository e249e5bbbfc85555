"""Recoders against the value that they recode, and against what each promises of its digits."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.recode import (
    Digit,
    booth_digits,
    ent_decode,
    ent_digits,
    ent_direct_digits,
    ent_encode,
    naf_digits,
)
from verif.support.formal import holds


def ent_coded_digits(m: Module, b: Value, fmt: IntFormat) -> list[Digit]:
    code = ent_encode(m, b, fmt)
    assert len(code) == fmt.width + 1
    return ent_decode(m, code, fmt)


RECODERS: dict[str, Callable[[Module, Value, IntFormat], list[Digit]]] = {
    "booth": booth_digits,
    "ent": ent_digits,
    "ent_coded": ent_coded_digits,
    "ent_direct": ent_direct_digits,
    "naf": naf_digits,
}


def is_ent(digits: list[Digit], sign: Value) -> Value:
    """No -2, and with the sign of the value taken off; such digits are unique."""
    legal: Value = C(1, 1)
    for _, two, negative in digits:
        legal = legal & ~(two & (negative_of(negative) ^ sign))
    return legal


def is_ent_direct(digits: list[Digit], sign: Value) -> Value:
    """No -2 but in the last digit."""
    return is_ent(digits[:-1], C(0, 1))


def is_naf(digits: list[Digit], sign: Value) -> Value:
    """Of two neighbouring binary digits one is zero; such digits are unique, and the fewest."""
    legal: Value = C(1, 1)
    for (_, two, _), (one, _, _) in pairwise(digits):
        legal = legal & ~(two & one)
    return legal


def is_booth(digits: list[Digit], sign: Value) -> Value:
    """Any digits."""
    return C(1, 1)


def negative_of(negative: Value | None) -> Value:
    return C(0, 1) if negative is None else negative


PROMISES: dict[str, Callable[[list[Digit], Value], Value]] = {
    "booth": is_booth,
    "ent": is_ent,
    "ent_coded": is_ent,
    "ent_direct": is_ent_direct,
    "naf": is_naf,
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("kind", RECODERS)
def test_digits_make_the_value(kind: str, signed: bool) -> None:
    """All widths in one proof, each with an input of its own."""
    formats = [IntFormat(width=width, signed=signed) for width in range(2, 17)]

    def claim(m: Module, *inputs: Signal) -> Value:
        right: Value = C(1, 1)
        for x, fmt in zip(inputs, formats, strict=True):
            width = fmt.width
            total: Value = C(0, 1)
            digits = RECODERS[kind](m, x, fmt)
            for position, (one, two, negative) in enumerate(digits):
                magnitude = Cat(one, two)
                digit = Mux(negative_of(negative), -magnitude, magnitude)
                total = total + (digit << 2 * position)
                right = right & ~(one & two)
            assert len(digits) == ((width + 1) // 2 if signed else width // 2 + 1)
            assert (digits[-1][2] is None) == (not signed)
            right = right & (total == (x.as_signed() if signed else x))
            right = right & PROMISES[kind](digits, x[-1] if signed else C(0, 1))
        return right

    assert holds(claim, *(fmt.width for fmt in formats))


@pytest.mark.parametrize(
    ("recode", "promise"),
    [
        (booth_digits, "ent"),
        (booth_digits, "naf"),
        (ent_digits, "naf"),
        (naf_digits, "ent"),
        (ent_digits, "ent_direct"),
        (ent_direct_digits, "ent"),
    ],
)
def test_recoders_differ(
    recode: Callable[[Module, Value, IntFormat], list[Digit]], promise: str
) -> None:
    """What one recoder promises is not true of another, so that the proofs above say something."""

    def claim(m: Module, x: Signal) -> Value:
        return PROMISES[promise](recode(m, x, IntFormat(width=8)), x[-1])

    assert not holds(claim, 8)
