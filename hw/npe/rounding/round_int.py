"""Rounding of fixed-point numbers to integers."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.adder import resolve
from hw.arith.shifter import shift_right
from hw.npe.rounding.rounding import NEAREST, Rounding, rounds_up

__all__ = ["round_int"]


def round_int(
    m: Module,
    fmt: IntFormat,
    number: Value,
    exponent: int | Value,
    bounds: tuple[int, int] | None = None,
    *,
    how: Rounding = NEAREST,
    nan: Value | None = None,
) -> Value:
    """Round a two's complement number to an integer times 2^-fmt.fraction_width.

    Codes are those of :meth:`golden.formats.integer.IntFormat.encode`, as bit patterns.

    Parameters
    ----------
    m : where the gates go.
    fmt : the format.
    number : two's complement; bit 0 weighs 2^exponent.
    exponent, bounds : an integer; or a signed value with its smallest and largest value.
    how : if it saturates, numbers are clamped to the range; else they wrap modulo 2^width. Its
        register place is between shifter and rounding carry.
    nan : the result is 0.

    Returns
    -------
    The code, fmt.width bits.
    """
    nan = C(0, 1) if nan is None else nan
    string, sticky = _point(m, fmt, number, exponent, bounds, how.guard_bits)
    string, sticky, nan = how.cut(string, sticky, nan)

    sign, guards, whole = string[-1], string[: how.guard_bits], string[how.guard_bits :]
    missing = max(fmt.width + 1 - len(whole), 0)
    whole = Cat(whole, sign.replicate(missing))
    inside, above = whole[: fmt.width], whole[fmt.width - fmt.signed : -1]
    up = Signal(name="round_up")
    m.d.comb += up.eq(rounds_up(m, how, guards, sticky, inside[0], sign))
    code = Signal(fmt.width, name="code")
    carry: Value = up
    if how.saturate:
        # A number just below the range can round only to its end.
        greatest = C(fmt.high, fmt.width)
        carry = Signal(name="carry")
        m.d.comb += carry.eq(up & (inside != greatest))
        over = (above ^ sign.replicate(len(above))).any() | (C(not fmt.signed, 1) & sign)
    columns: list[list[Value]] = [[inside[0], carry], *([bit] for bit in inside[1:])]
    total = resolve(m, columns, how.adder)
    if how.saturate:
        end = Mux(sign, C(fmt.low % (1 << fmt.width), fmt.width), greatest)
        total = Mux(over, end, total)
    m.d.comb += code.eq(Mux(nan, 0, total))
    return code


def _point(
    m: Module,
    fmt: IntFormat,
    number: Value,
    exponent: int | Value,
    bounds: tuple[int, int] | None,
    guard_bits: int,
) -> tuple[Value, Value]:
    """Shift the binary point of the format above the guard bits.

    Returns
    -------
    The integer followed by the guard bits; and the sticky bit.
    """
    sign = number[-1]
    if isinstance(exponent, int):
        places = exponent + fmt.fraction_width + guard_bits
        if places > 0:
            return Cat(C(0, places), number), C(0, 1)
        gone = min(-places, len(number) - 1)
        string = number[gone:]
        lost = number[:gone].any()
        if -places > gone:
            # Only the sign is left, below the guard bits.
            return sign.replicate(1 + guard_bits), lost | string.any()
        missing = max(1 + guard_bits - len(string), 0)
        return Cat(string, sign.replicate(missing)), lost
    if bounds is None:
        raise ValueError("bounds must be those of the exponent, not None")
    least, most = (bound + fmt.fraction_width for bound in bounds)
    string = Cat(C(0, max(most, 0) + guard_bits), number)
    right = Signal(range(max(most, 0) - least + 1), name="right")
    m.d.comb += right.eq(max(most, 0) - fmt.fraction_width - exponent)
    levels = len(string).bit_length()
    far = right[levels:].any()
    amount = right[:levels] | far.replicate(min(levels, len(right)))
    return shift_right(m, string, amount, "point", fill=sign)
