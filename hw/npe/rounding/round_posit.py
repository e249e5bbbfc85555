"""Rounding of normalised numbers to posits."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.posit import PositFormat
from hw.arith.adder import resolve
from hw.arith.shifter import shift_right
from hw.npe.rounding.normalised import Normal, Reach
from hw.npe.rounding.rounding import NEAREST, Rounding, rounds_up

__all__ = ["posit_reach", "round_posit"]


def posit_reach(fmt: PositFormat, guard_bits: int = 1) -> Reach:
    """Return the bits and range that :func:`round_posit` needs."""
    # Hidden bit, the longest fraction and the guard bits.
    keep = max(fmt.width - 2 - fmt.exponent_bits + guard_bits, 1)
    # From below the smallest to above the largest number, extended to powers of two: then the
    # exponent is the shift's complement.
    half = 1 << fmt.max_exponent.bit_length()
    return Reach(keep=keep, low=-half, high=half - 1)


def round_posit(
    m: Module,
    fmt: PositFormat,
    number: Normal,
    *,
    how: Rounding = NEAREST,
    nan: Value | None = None,
) -> Value:
    """Round a two's complement number to a posit, once, on the bit string; saturating.

    Regime, exponent and fraction are assembled and rounded in two's complement if negative, as
    posits are: so there is one addition, of the rounding carry. Codes are those of
    :meth:`golden.formats.element.ElementFormat.encode`.

    Parameters
    ----------
    m : where the gates go.
    fmt : the format.
    number : its `complement` is its `sign`; a significand shorter than :func:`posit_reach` asks
        for is zero-padded.
    how : nearest is the nearest string, ties to the even code. Its register place is between the
        regime's shifter and the addition.
    nan : the result is NaR.

    Returns
    -------
    The code, fmt.width bits.
    """
    if number.complement is not number.sign:
        raise ValueError("number must be two's complement, not sign and magnitude")
    nan = C(0, 1) if nan is None else nan
    nonzero = Signal(name="some")
    m.d.comb += nonzero.eq(number.sign | number.significand.any() | number.sticky)
    string, sticky, sign, some, nan = how.cut(
        *_string(m, fmt, number, how.guard_bits), number.sign, nonzero, nan
    )

    guards, body = string[: how.guard_bits], string[how.guard_bits :]
    up = Signal(name="round_up")
    m.d.comb += up.eq(rounds_up(m, how, guards, sticky, body[0], sign))
    # No nonzero number becomes zero or NaR.
    magnitude = body ^ sign.replicate(len(body))
    carry = Signal(name="carry")
    m.d.comb += carry.eq(Mux(magnitude.all(), sign, Mux(magnitude.any(), up, ~sign)))
    code = Signal(fmt.width, name="code")
    columns: list[list[Value]] = [[body[0], carry], *([bit] for bit in body[1:]), [sign]]
    total = resolve(m, columns, how.adder)
    m.d.comb += code.eq(Mux(nan, fmt.nan_code, total & some.replicate(fmt.width)))
    return code


def _string(m: Module, fmt: PositFormat, number: Normal, guard_bits: int) -> tuple[Value, Value]:
    """Assemble regime, exponent and fraction, complemented as the number.

    Returns
    -------
    The first fmt.width - 1 bits, the guard bits below them, and the sticky bit.
    """
    es, sign = fmt.exponent_bits, number.sign
    scale = Signal(range(min(number.low, -1), number.high + 1), name="scale")
    m.d.comb += scale.eq(number.scale + number.offset)
    regime, negative = scale[es:], scale[-1]
    head = Cat(negative ^ sign, ~negative ^ sign)
    string: Value = Cat(number.significand[:-1], scale[:es] ^ sign.replicate(es), head)
    sticky = number.sticky
    excess = len(string) - (fmt.width - 1 + guard_bits)
    if excess > 0:
        sticky = sticky | string[:excess].any()
        string = string[excess:]
    else:
        string = Cat(C(0, -excess), string)
    # The first bit of the regime is repeated.
    repeats = Signal(len(regime) - 1, name="repeats")
    m.d.comb += repeats.eq(regime ^ negative.replicate(len(regime)))
    levels = fmt.width.bit_length()
    far = repeats[levels:].any()
    amount = repeats[:levels] | far.replicate(min(levels, len(repeats)))
    string, lost = shift_right(m, string, amount, "regime", fill=string[-1])
    return string, sticky | lost
