"""Products on a bit heap: rows of digits, an AND array, or the synthesis tool's multiplier."""

from collections.abc import Sequence

from amaranth import C, Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.recode import Digit, booth_digits, ent_digits

__all__ = ["ENCODINGS", "add_product", "add_rows"]

ENCODINGS = ("booth", "ent", "none", "operator")

# Arrivals in XOR gates after the operands: of a recoded row the bits, the lowest bit and the carry;
# an AND gate; a whole multiplier.
_ROW, _LOWEST, _CARRY, _AND, _OPERATOR = 3.0, 2.0, 3.4, 0.6, 10.0


def add_product(
    m: Module,
    heap: BitHeap,
    a: Value,
    b: Value,
    a_format: IntFormat,
    b_format: IntFormat,
    encoding: str,
) -> None:
    """Put the bits of a x b on the heap.

    Parameters
    ----------
    m, heap : where the gates and the bits go.
    a, b : operands, as wide as their formats.
    a_format, b_format : widths and signs.
    encoding : "booth" recodes b in radix 4 and halves the rows; "ent" does so with EN-T
        digits, each of which waits for those before; "none" is an AND array, negative weights by
        complement (Baugh, Wooley 1973); "operator" leaves the multiplier to the synthesis tool,
        which puts it in a DSP block where there is one.
    """
    match encoding:
        case "booth":
            add_rows(m, heap, a, a_format, booth_digits(m, b, b_format))
        case "ent":
            add_rows(m, heap, a, a_format, ent_digits(m, b, b_format))
        case "none":
            _add_and_array(m, heap, a, b, a_format, b_format)
        case "operator":
            signed = a_format.signed or b_format.signed
            x = a.as_signed() if a_format.signed else a.as_unsigned()
            y = b.as_signed() if b_format.signed else b.as_unsigned()
            product = Signal(a_format.width + b_format.width, name="product")
            m.d.comb += product.eq(x * y)
            heap.add_term(list(product), signed=signed, arrival=_OPERATOR)
        case _:
            raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")


def add_rows(
    m: Module, heap: BitHeap, a: Value, a_format: IntFormat, digits: Sequence[Digit]
) -> None:
    """Put one row on the heap for each digit of a multiplier: the multiple of a that it says.

    Parameters
    ----------
    m, heap : where the gates and the bits go.
    a : multiplicand, as wide as its format.
    a_format : width and sign.
    digits : of radix 4, lowest first, see :mod:`hw.arith.recode`.
    """
    width = a_format.width
    extended = [*a[:width], a[width - 1] if a_format.signed else C(0, 1)]
    for digit, (one, two, negative) in enumerate(digits):
        # Negative multiples are of the complement of a, chosen while the digit is still made.
        multiplicand: list[Value] = []
        for position, own in enumerate(extended):
            flipped: Value = Signal(name=f"x{digit}_{position}")
            m.d.comb += flipped.eq(own if negative is None else own ^ negative)
            multiplicand.append(flipped)
        row: list[Value] = []
        for position, flipped in enumerate(multiplicand):
            chosen = Signal(name=f"p{digit}_{position}")
            if position == 0:
                m.d.comb += chosen.eq(one & a[0])
            else:
                m.d.comb += chosen.eq((one & flipped) | (two & multiplicand[position - 1]))
            row.append(chosen)
        if negative is not None:
            # The complement is the negative less one: the lowest bit has taken the one in already,
            # and this is its carry.
            carry = Signal(name=f"n{digit}")
            m.d.comb += carry.eq(negative & (two | (one & ~a[0])))
            heap.add_bit(carry, 2 * digit + 1, arrival=_CARRY)
            if not a_format.signed:
                row.append(negative & (one | two))
        signed = a_format.signed or negative is not None
        heap.add_bit(row[0], 2 * digit, arrival=_LOWEST)
        heap.add_term(row[1:], 2 * digit + 1, signed=signed, arrival=_ROW)


def _add_and_array(
    m: Module, heap: BitHeap, a: Value, b: Value, a_format: IntFormat, b_format: IntFormat
) -> None:
    for i in range(a_format.width):
        a_negative = a_format.signed and i == a_format.width - 1
        for j in range(b_format.width):
            b_negative = b_format.signed and j == b_format.width - 1
            bit = Signal(name=f"p{i}_{j}")
            m.d.comb += bit.eq(a[i] & b[j])
            heap.add_bit(bit, i + j, arrival=_AND, negative=a_negative != b_negative)
