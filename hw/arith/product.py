"""Products on a bit heap: radix-4 Booth rows, an AND array, or the synthesis tool's multiplier."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap

__all__ = ["ENCODINGS", "add_product", "booth_digits"]

ENCODINGS = ("booth", "none", "operator")

# Arrivals in XOR gates after the operands: a recoded, selected and inverted bit, an AND gate, a
# whole multiplier.
_BOOTH, _AND, _OPERATOR = 3.0, 0.6, 10.0


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
    encoding : "booth" recodes b in radix 4 and halves the rows; "none" is an AND array, negative
        weights by complement (Baugh, Wooley 1973); "operator" leaves the multiplier to the
        synthesis tool, which puts it in a DSP block where there is one.
    """
    match encoding:
        case "booth":
            _add_booth_rows(m, heap, a, b, a_format, b_format)
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


def booth_digits(
    m: Module, b: Value, b_format: IntFormat
) -> list[tuple[Value, Value, Value | None]]:
    """Recode b in radix 4, lowest digit first (Booth 1951, modified by MacSorley 1961).

    Returns (one, two, negative) of each digit: its magnitude is 1, 2 or, with neither, 0, and it
    is negative where `negative`; a digit that cannot be has None there. Digit zero may come as
    negative zero. (width + 1) // 2 digits for a signed b, width // 2 + 1 for an unsigned one.
    """
    width = b_format.width
    top = b[width - 1] if b_format.signed else C(0, 1)
    extended = Cat(C(0, 1), b, top, top)
    digits: list[tuple[Value, Value, Value | None]] = []
    for digit in range((width + 1) // 2 if b_format.signed else width // 2 + 1):
        below, low, high = extended[2 * digit : 2 * digit + 3]
        one = Signal(name=f"one{digit}")
        two = Signal(name=f"two{digit}")
        m.d.comb += one.eq(low ^ below)
        m.d.comb += two.eq(Mux(high, ~(low | below), low & below))
        never = not b_format.signed and 2 * digit + 1 >= width
        digits.append((one, two, None if never else high))
    return digits


def _add_booth_rows(
    m: Module, heap: BitHeap, a: Value, b: Value, a_format: IntFormat, b_format: IntFormat
) -> None:
    width = a_format.width
    top = a[width - 1] if a_format.signed else C(0, 1)
    extended = Cat(C(0, 1), a, top)
    for digit, (one, two, negative) in enumerate(booth_digits(m, b, b_format)):
        row: list[Value] = []
        for position in range(width + 1):
            bit = Signal(name=f"p{digit}_{position}")
            magnitude = (one & extended[position + 1]) | (two & extended[position])
            m.d.comb += bit.eq(magnitude if negative is None else magnitude ^ negative)
            row.append(bit)
        # The complement of a row is its negative less one.
        if negative is not None:
            heap.add_bit(negative, 2 * digit)
            if not a_format.signed:
                row.append(negative)
        signed = a_format.signed or negative is not None
        heap.add_term(row, 2 * digit, signed=signed, arrival=_BOOTH)


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
