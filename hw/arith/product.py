"""Products on a bit heap: recoded rows, an AND array, or the synthesis tool's multiplier."""

from amaranth import C, Cat, Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.recode import Digit, booth_digits, ent_direct_digits, ent_direct_values

__all__ = [
    "ENCODINGS",
    "coded_width",
    "digit_ranges",
    "encode",
    "product_in_logic",
    "product_planes",
]

ENCODINGS = ("booth", "ent", "none", "operator")

# Arrival times in XOR gates after the operands: bits, lowest bit and carry of a recoded row; a row
# of a pre-encoded operand; an AND gate; a whole multiplier.
_ROW, _LOWEST, _CARRY, _CODED, _AND, _OPERATOR = 3.0, 2.0, 3.4, 1.0, 0.6, 10.0


def encode(m: Module, a: Value, a_format: IntFormat, encoding: str) -> Value:
    """Encode an operand for :func:`product_planes`, once for all products that share it.

    "ent" gives each digit one select line per nonzero value; all others leave `a` as it is.
    """
    if encoding != "ent":
        return a
    lines: list[Value] = []
    values = ent_direct_values(a_format)
    for digit, (one, two, negative) in enumerate(ent_direct_digits(m, a, a_format)):
        minus = C(0, 1) if negative is None else negative
        for value in values[digit]:
            line = Signal(name=f"d{digit}_{'n' if value < 0 else 'p'}{abs(value)}")
            # Where a magnitude occurs with one sign only, the sign is not decoded.
            sign = C(1, 1) if -value not in values[digit] else minus if value < 0 else ~minus
            m.d.comb += line.eq((one if abs(value) == 1 else two) & sign)
            lines.append(line)
    return Cat(lines)


def coded_width(a_format: IntFormat, encoding: str) -> int:
    """Width of the output of :func:`encode`."""
    if encoding != "ent":
        return a_format.width
    return sum(len(values) for values in ent_direct_values(a_format))


def digit_ranges(a_format: IntFormat, encoding: str) -> dict[int, tuple[int, int]]:
    """Return the least and the greatest value of each digit of a, by the logarithm of its weight.

    Bounds: no digit is outside of them.
    """
    width, top = a_format.width, a_format.width - 1
    match encoding:
        case "booth":
            count = (width + 1) // 2 if a_format.signed else width // 2 + 1
            return {2 * digit: (-2, 2) for digit in range(count)}
        case "ent":
            return {
                2 * digit: (min(0, *values), max(0, *values))
                for digit, values in enumerate(ent_direct_values(a_format))
            }
        case "none":
            ranges = dict.fromkeys(range(width), (0, 1))
            return ranges | {top: (-1, 0)} if a_format.signed else ranges
        case "operator":
            return {0: (a_format.low, a_format.high)}
    raise _unknown(encoding)


def _unknown(encoding: str) -> ValueError:
    return ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")


def product_planes(
    m: Module,
    a: Value,
    b: Value,
    a_format: IntFormat,
    b_format: IntFormat,
    encoding: str,
    width: int,
    index: int = 0,
) -> dict[int, BitHeap]:
    """Make the partial products of a x b, one heap for each digit of a.

    Parameters
    ----------
    m : where the gates go.
    a : multiplier, as :func:`encode` makes it.
    b : multiplicand, as wide as its format.
    a_format, b_format : widths and signs.
    encoding : "booth" recodes a in radix 4 and halves the rows; "ent" takes EN-T digits -1 .. 2
        as select lines, so that a row is one gate a bit; "none" is an AND array, negative weights
        by complement (Baugh, Wooley 1973); "operator" leaves the multiplier to the synthesis
        tool, which maps it to a DSP block where there is one, and has one heap.
    width : bits of the product, modulo 2^width.
    index : number of the product among those that share a heap: each puts its two's complement
        correction bits in other columns, so that no column grows much higher than the rest.

    Returns
    -------
    For each digit the logarithm of its weight, and its heap.
    """
    match encoding:
        case "booth":
            return {
                2 * position: _row(m, b, b_format, digit, position, width - 2 * position)
                for position, digit in enumerate(booth_digits(m, a, a_format))
                if 2 * position < width
            }
        case "ent":
            lines = iter(a)
            digits = [
                {value: next(lines) for value in values} for values in ent_direct_values(a_format)
            ]
            return {
                2 * position: _coded_row(
                    m, b, b_format, digit, position, width - 2 * position, index % 3
                )
                for position, digit in enumerate(digits)
                if 2 * position < width
            }
        case "none":
            return {
                position: _and_row(m, a, b, a_format, b_format, position, width - position)
                for position in range(min(a_format.width, width))
            }
        case "operator":
            return {0: _operator(m, a, b, a_format, b_format, width)}
    raise _unknown(encoding)


def _operator(
    m: Module, a: Value, b: Value, a_format: IntFormat, b_format: IntFormat, width: int
) -> BitHeap:
    """Leave the multiplier to the synthesis tool."""
    signed = a_format.signed or b_format.signed
    x = a.as_signed() if a_format.signed else a.as_unsigned()
    y = b.as_signed() if b_format.signed else b.as_unsigned()
    product = Signal(a_format.width + b_format.width, name="product")
    m.d.comb += product.eq(x * y)
    heap = BitHeap(width)
    heap.add_term(list(product), signed=signed, arrival=_OPERATOR)
    return heap


def _row(
    m: Module, b: Value, b_format: IntFormat, digit: Digit, position: int, width: int
) -> BitHeap:
    """Multiply b by a digit, see :mod:`hw.arith.recode`."""
    heap = BitHeap(width)
    one, two, negative = digit
    # Negative multiples use the complement of b, selected while the digit is still computed.
    multiplicand: list[Value] = []
    for weight, bit in enumerate(_extended(b, b_format)):
        flipped: Value = Signal(name=f"x{position}_{weight}")
        m.d.comb += flipped.eq(bit if negative is None else bit ^ negative)
        multiplicand.append(flipped)
    row: list[Value] = []
    for weight, flipped in enumerate(multiplicand):
        chosen = Signal(name=f"p{position}_{weight}")
        if weight == 0:
            m.d.comb += chosen.eq(one & b[0])
        else:
            m.d.comb += chosen.eq((one & flipped) | (two & multiplicand[weight - 1]))
        row.append(chosen)
    if negative is not None:
        # The complement is the negative minus one: the lowest bit has the one added already,
        # and this is its carry.
        carry = Signal(name=f"n{position}")
        m.d.comb += carry.eq(negative & (two | (one & ~b[0])))
        heap.add_bit(carry, 1, arrival=_CARRY)
        if not b_format.signed:
            row.append(negative & (one | two))
    heap.add_bit(row[0], 0, arrival=_LOWEST)
    heap.add_term(row[1:], 1, signed=b_format.signed or negative is not None, arrival=_ROW)
    return heap


def _coded_row(
    m: Module,
    b: Value,
    b_format: IntFormat,
    lines: dict[int, Value],
    position: int,
    width: int,
    exact: int,
) -> BitHeap:
    """Select the multiple of b whose line is set; `values` are the digit values with a line.

    The complement is the negative minus one. The lowest `exact` bits, 0 .. 2, have the one added
    already; their carry goes on the heap above them.
    """
    heap = BitHeap(width)
    extended = _extended(b, b_format)
    negative = [line for value, line in lines.items() if value < 0]
    row: list[Value] = []
    for weight, multiples in enumerate(zip(extended, [C(0, 1), *extended[:-1]], strict=True)):
        bit = Signal(name=f"p{position}_{weight}")
        terms: list[Value] = []
        for value, line in lines.items():
            multiple = multiples[abs(value) - 1]
            if value < 0:
                # Up to the lowest one bit of a number, its negative has the same bits.
                below = Cat(_low(extended, value, weight)).any()
                multiple = multiple ^ below if weight < exact else ~multiple
            terms.append(line & multiple)
        m.d.comb += bit.eq(Cat(terms).any())
        row.append(bit)
    for value, line in lines.items():
        if value < 0:
            heap.add_bit(line & ~Cat(_low(extended, value, exact)).any(), exact)
    if negative and not b_format.signed:
        row.append(Cat(negative).any())
    heap.add_term(row, signed=b_format.signed or bool(negative), arrival=_CODED)
    return heap


def _low(extended: list[Value], value: int, count: int) -> list[Value]:
    """Return the lowest bits of b or, for an even value, of 2 b."""
    return [C(0, 1), *extended][:count] if value % 2 == 0 else extended[:count]


def _and_row(
    m: Module,
    a: Value,
    b: Value,
    a_format: IntFormat,
    b_format: IntFormat,
    position: int,
    width: int,
) -> BitHeap:
    """Make b times one bit of a."""
    heap = BitHeap(width)
    a_negative = a_format.signed and position == a_format.width - 1
    for weight in range(b_format.width):
        b_negative = b_format.signed and weight == b_format.width - 1
        bit = Signal(name=f"p{position}_{weight}")
        m.d.comb += bit.eq(a[position] & b[weight])
        heap.add_bit(bit, weight, arrival=_AND, negative=a_negative != b_negative)
    return heap


def _extended(b: Value, b_format: IntFormat) -> list[Value]:
    """Extend b by one bit, to the width of 2 b."""
    return [*b[: b_format.width], b[b_format.width - 1] if b_format.signed else C(0, 1)]


def product_in_logic(x: Value, y: Value | int) -> Value:
    """Multiply unsigned numbers as a sum of `x` shifted, once for each bit of `y` that may be set.

    For few bits, and for constants: tools for FPGAs make a multiplier block of any ``x * y``, which
    is far from the rest where an array takes most of them.
    """
    if isinstance(y, int):
        places = [weight for weight in range(y.bit_length()) if y >> weight & 1]
        rows = [Cat(C(0, weight), x) for weight in places]
    else:
        rows = [Cat(C(0, weight), x & bit.replicate(len(x))) for weight, bit in enumerate(y)]
    return sum(rows[1:], rows[0]) if rows else C(0, 1)
