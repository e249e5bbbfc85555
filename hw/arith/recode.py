"""Recoders: multipliers as signed radix-4 digits -2 .. 2, for partial products or zero skipping.

A digit takes two bits of the multiplier and a carry in; it is their sum, or their sum minus four
with a carry out. Where the sum is two, either is right: the recoders differ in this tie break.
"""

from itertools import pairwise

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat

__all__ = [
    "Digit",
    "booth_digits",
    "ent_decode",
    "ent_digits",
    "ent_direct_digits",
    "ent_direct_values",
    "ent_encode",
    "naf_digits",
]

Digit = tuple[Value, Value, Value | None]
"""(one, two, negative): the magnitude is 1, 2 or, with neither, 0; `negative` is the sign, None
for a digit that is never negative. Zero may come as negative zero."""


def booth_digits(m: Module, b: Value, b_format: IntFormat) -> list[Digit]:
    """Recode with no carry chain (Booth 1951, modified by MacSorley 1961).

    Parameters
    ----------
    m : where the gates go.
    b : multiplier, as wide as its format.
    b_format : width and sign.

    Returns
    -------
    Digits, lowest first: (width + 1) // 2 for a signed b, width // 2 + 1 for an unsigned one.
    """
    _, high = _pairs(b, b_format)
    return _digits(m, b, b_format, [C(0, 1), *high[:-1]])


def ent_digits(m: Module, b: Value, b_format: IntFormat) -> list[Digit]:
    """Recode in digits -1 .. 2 of the magnitude, with the sign of b (EN-T 2024).

    The magnitude is not computed: a negative b breaks ties the other way. Parameters and result:
    as :func:`booth_digits`.
    """
    return _digits(m, b, b_format, _ent_carries(m, b, b_format))


def ent_direct_digits(m: Module, b: Value, b_format: IntFormat) -> list[Digit]:
    """Recode in digits -1 .. 2, the last -2 .. 2, whatever the sign (EN-T on two's complement).

    Parameters and result: as :func:`booth_digits`.
    """
    low, high = _pairs(b, b_format)
    return _digits(m, b, b_format, _carries(m, low, high, [C(0, 1)] * len(low)))


def ent_direct_values(b_format: IntFormat) -> list[list[int]]:
    """Return the nonzero values that each digit of :func:`ent_direct_digits` can have.

    Examples
    --------
    >>> ent_direct_values(IntFormat(width=4, signed=True))
    [[1, 2, -1], [1, 2, -1, -2]]
    """
    count = _count(b_format)
    # The last digit is the rest: the bits above the others', and a carry.
    rest = b_format.width - 2 * (count - 1)
    least = -(1 << rest - 1) if b_format.signed else 0
    most = (1 << (rest - 1 if b_format.signed else rest)) - 1
    last = [value for value in (1, 2, -1, -2) if least <= value <= most + (count > 1)]
    return [[1, 2, -1]] * (count - 1) + [last]


def naf_digits(m: Module, b: Value, b_format: IntFormat) -> list[Digit]:
    """Recode in the fewest non-zero digits: the non-adjacent form, two digits in one.

    Parameters and result: as :func:`booth_digits`.
    """
    low, high = _pairs(b, b_format)
    return _digits(m, b, b_format, _carries(m, low, high, low[1:]))


def ent_encode(m: Module, b: Value, b_format: IntFormat) -> Value:
    """Encode the digits of :func:`ent_digits` in width + 1 bits, to be passed on in place of b.

    Two bits for each digit of the magnitude, lowest first: 0, 1, 2, or 3 for -1; one bit for the
    last where it is 0 or 1. The highest bit is the sign, if b is signed.
    """
    low, high = _pairs(b, b_format)
    sign = _sign(b, b_format)
    codes: list[Value] = []
    for one, two, carry in zip(low, high, _ent_carries(m, b, b_format), strict=True):
        codes += [one ^ carry, two ^ sign ^ ((one ^ sign) & (carry ^ sign))]
    if b_format.signed:
        codes = [*codes[: b_format.width], sign]
    code = Signal(b_format.width + 1, name="code")
    m.d.comb += code.eq(Cat(codes))
    return code


def ent_decode(m: Module, code: Value, b_format: IntFormat) -> list[Digit]:
    """Decode the digits from :func:`ent_encode`'s code of a b in `b_format`."""
    bits = [*code, C(0, 1)]
    if b_format.signed:
        bits[b_format.width] = C(0, 1)
    digits: list[Digit] = []
    for digit in range(_count(b_format)):
        low, high = bits[2 * digit : 2 * digit + 2]
        two = Signal(name=f"two{digit}")
        negative = Signal(name=f"negative{digit}")
        m.d.comb += two.eq(high & ~low)
        m.d.comb += negative.eq((high & low) ^ (code[-1] if b_format.signed else 0))
        digits.append((low, two, negative))
    return _unsigned_top(digits, b_format)


def _count(b_format: IntFormat) -> int:
    return (b_format.width + 1) // 2 if b_format.signed else b_format.width // 2 + 1


def _sign(b: Value, b_format: IntFormat) -> Value:
    return b[b_format.width - 1] if b_format.signed else C(0, 1)


def _pairs(b: Value, b_format: IntFormat) -> tuple[list[Value], list[Value]]:
    """Lower and higher bit of each group of two."""
    more = 2 * _count(b_format) - b_format.width
    bits = [*b[: b_format.width], *[_sign(b, b_format)] * more]
    return bits[0::2], bits[1::2]


def _ent_carries(m: Module, b: Value, b_format: IntFormat) -> list[Value]:
    low, high = _pairs(b, b_format)
    return _carries(m, low, high, [_sign(b, b_format)] * len(low))


def _carries(m: Module, low: list[Value], high: list[Value], ties: list[Value]) -> list[Value]:
    """Return the carry into each digit: the digit below sums to 3, or to 2 with its tie set."""
    carries: list[Value] = [C(0, 1)]
    for digit, (one, two, tie) in enumerate(zip(low[:-1], high, ties, strict=False)):
        below = carries[-1]
        carry = Signal(name=f"k{digit + 1}")
        m.d.comb += carry.eq((two & (one | below | tie)) | (tie & one & below))
        carries.append(carry)
    return carries


def _digits(m: Module, b: Value, b_format: IntFormat, carries: list[Value]) -> list[Digit]:
    """Make digits from the sums, minus four where there is a carry out; the last is the sign."""
    low, high = _pairs(b, b_format)
    digits: list[Digit] = []
    for digit, (below, after) in enumerate(pairwise([*carries, _sign(b, b_format)])):
        one = Signal(name=f"one{digit}")
        two = Signal(name=f"two{digit}")
        m.d.comb += one.eq(low[digit] ^ below)
        m.d.comb += two.eq(Mux(high[digit], ~(low[digit] | below), low[digit] & below))
        digits.append((one, two, after))
    return _unsigned_top(digits, b_format)


def _unsigned_top(digits: list[Digit], b_format: IntFormat) -> list[Digit]:
    """Mark the last digit as never negative, for unsigned formats."""
    one, two, negative = digits[-1]
    return [*digits[:-1], (one, two, negative if b_format.signed else None)]
