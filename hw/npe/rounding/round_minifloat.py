"""Rounding of normalised numbers to floating-point formats."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.minifloat import MinifloatFormat
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.shifter import shift_right
from hw.npe.rounding.normalised import Normal, Reach
from hw.npe.rounding.rounding import NEAREST, Rounding, rounds_up

__all__ = ["minifloat_reach", "round_minifloat"]


def minifloat_reach(fmt: MinifloatFormat, guard_bits: int = 1) -> Reach:
    """Return the bits and range that :func:`round_minifloat` needs; subnormals are shifted once."""
    keep = fmt.mantissa_bits + 1 + guard_bits
    return Reach(keep=keep, low=fmt.min_exponent, high=fmt.max_exponent + 1)


def round_minifloat(
    m: Module,
    fmt: MinifloatFormat,
    number: Normal,
    *,
    how: Rounding = NEAREST,
    infinite: Value | None = None,
    nan: Value | None = None,
) -> Value:
    """Round a normalised number to a code, once: the back end of encoders and of adders.

    Numbers below 2^min_exponent become subnormal (by a second shifter, left out if `number.low` is
    no smaller); the mantissa's carry runs into the exponent. Codes are those of
    :meth:`golden.formats.element.ElementFormat.encode`. A zero keeps its sign, -0 if the format
    has one; so does a number rounded to zero.

    Parameters
    ----------
    m : where the gates go.
    fmt : the format.
    number : a significand of less than fmt.mantissa_bits + 1 + how.guard_bits bits is zero-padded.
    how : if it saturates, overflow and infinities become the largest number; else infinity or, if
        the format has none, NaN or, if it has none, the largest number too. Toward zero, only
        infinities overflow. Its register place is between the second shifter and the rounding
        carry.
    infinite : the value is an infinity of `number.sign`; everything else in `number` is ignored.
    nan : the result is NaN or, where there is none, 0.

    Returns
    -------
    The code, fmt.width bits.
    """
    bits = fmt.mantissa_bits
    infinite = C(0, 1) if infinite is None else infinite
    nan = C(0, 1) if nan is None else nan
    base, significand, sticky = _fields(m, fmt, number, how.guard_bits)
    sign, complement = number.sign, number.complement
    base, significand, sticky, sign, complement, infinite, nan = how.cut(
        base, significand, sticky, sign, complement, infinite, nan
    )

    # Without a mantissa, the last bit of a code is that of its exponent field.
    guards, upper = significand[: how.guard_bits], significand[how.guard_bits :]
    last = upper[0] if bits else upper[0] ^ base[0]
    # Of a number in two's complement the magnitude gets one more where that is not rounded up.
    up = Signal(name="round_up")
    m.d.comb += up.eq(rounds_up(m, how, guards, sticky, last, complement) ^ complement)
    # The hidden bit adds one to the exponent field, and so does a carry.
    heap = BitHeap(bits + max(len(base), 1) + 1)
    heap.add_term(list(upper ^ complement.replicate(bits + 1)), signed=False)
    heap.add_term(list(base), bits, signed=False)
    heap.add_bit(up, 0)
    total = resolve(m, heap.compress(m, [2] * heap.width), how.adder)

    magnitude = _bound(m, fmt, number, total, infinite, how)
    if fmt.specials == "fnuz":
        sign = sign & magnitude.any()
    code = Signal(fmt.width, name="code")
    m.d.comb += code.eq(Mux(nan, fmt.nan_code or 0, Cat(magnitude[:-1], magnitude[-1] | sign)))
    return code


def _bound(
    m: Module, fmt: MinifloatFormat, number: Normal, total: Value, infinite: Value, how: Rounding
) -> Value:
    """Return the code without its sign: of overflow and of infinities, what the rounding says."""
    greatest = C(fmt.max_code, fmt.width - 1)
    beyond = fmt.nan_code if fmt.infinity_code is None else fmt.infinity_code
    infinity = fmt.max_code if how.saturate or beyond is None else beyond
    magnitude: Value = Cat(total, C(0, fmt.width))[: fmt.width]
    # The largest possible sum: no comparison if it is in range.
    if (number.high - fmt.min_exponent + 2) << fmt.mantissa_bits > fmt.max_code:
        over = Signal(name="over")
        m.d.comb += over.eq(total > fmt.max_code)
        most = C(infinity, fmt.width) if how.mode != "rtz" else greatest
        magnitude = Mux(over, most, magnitude)[: fmt.width]
    return Mux(infinite, C(infinity, fmt.width), magnitude)[: fmt.width]


def _fields(
    m: Module, fmt: MinifloatFormat, number: Normal, guard_bits: int
) -> tuple[Value, Value, Value]:
    """Find the exponent field, minus the hidden bit, and align subnormals.

    Returns
    -------
    The field; hidden bit, mantissa and guard bits; and the sticky bit. The latter two complemented
    as in the number.
    """
    width = fmt.mantissa_bits + 1 + guard_bits
    significand, sticky = number.significand, number.sticky
    excess = len(significand) - width
    if excess > 0:
        sticky = sticky | significand[:excess].any()
        significand = significand[excess:]
    else:
        significand = Cat(C(0, -excess), significand)
    hidden = significand[-1] ^ number.complement
    base = Signal(max(number.high - fmt.min_exponent, 1).bit_length(), name="base")
    scale = number.scale + (number.offset - fmt.min_exponent)
    if number.low >= fmt.min_exponent:
        m.d.comb += base.eq(Mux(hidden, scale, 0))
        return base, significand, sticky

    depth = Signal(range(fmt.min_exponent - number.low + 1), name="depth")
    small = Signal(name="small")
    wide = scale if scale.shape().signed else Cat(scale, C(0, 1)).as_signed()
    m.d.comb += [
        small.eq(wide < 0),
        base.eq(Mux(small | ~hidden, 0, wide)),
        depth.eq(Mux(small, -wide, 0)),
    ]
    levels = width.bit_length()
    far = depth[levels:].any()
    amount = depth[:levels] | far.replicate(min(levels, len(depth)))
    shifted, lost = shift_right(m, significand, amount, "subnormal", fill=number.complement)
    return base, shifted, sticky | lost
