"""Unpacked numbers (sign, exponent, significand), of codes and of exact products."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import encode, product_planes
from hw.arith.shifter import normalise

__all__ = ["FloatTerm", "multiply", "multiply_integers", "normalised", "unpack"]


class FloatTerm(data.StructLayout):
    """A number (-1)^sign significand 2^exponent, or none.

    The binary point is after the significand's first bit. The exponent's bias depends on the
    context. If NaN or an infinity, no other bit than the sign counts.

    Parameters
    ----------
    significand_width : bits.
    low, high : smallest and largest exponent.
    """

    def __init__(self, significand_width: int, low: int, high: int):
        self.significand_width = significand_width
        self.low = low
        self.high = high
        width = max((~low if low < 0 else low).bit_length(), high.bit_length()) + 1
        super().__init__({
            "sign": 1,
            "nan": 1,
            "infinite": 1,
            "exponent": signed(width),
            "significand": significand_width,
        })

    def signal(self, name: str) -> data.View:
        """Make a signal that holds such a number and is not reset."""
        return data.View(self, Signal(self.size, name=name, reset_less=True))


def unpack(m: Module, code: Value, fmt: MinifloatFormat, name: str) -> data.View:
    """Unpack a code; the bias is the format's, and subnormals are not normalised."""
    layout = FloatTerm(fmt.significand_width, 1, max((1 << fmt.exponent_bits) - 1, 1))
    term = layout.signal(name)
    mantissa, field = code[: fmt.mantissa_bits], code[fmt.mantissa_bits : -1]
    hidden = field.any()
    nan: Value = C(0, 1)
    infinite: Value = C(0, 1)
    if fmt.specials == "ieee":
        nan, infinite = field.all() & mantissa.any(), field.all() & ~mantissa.any()
    elif fmt.specials == "nan":
        nan = code[:-1].all()
    elif fmt.specials == "fnuz":
        nan = code == fmt.sign_code
    m.d.comb += [
        term.sign.eq(code[-1]),
        term.nan.eq(nan),
        term.infinite.eq(infinite),
        term.exponent.eq(Cat(field[0] | ~hidden, field[1:])),
        term.significand.eq(Cat(mantissa, hidden)),
    ]
    return term


def multiply_integers(
    m: Module, a: Value, b: Value, *, a_signed: bool = False, encoding: str, adder: str
) -> Value:
    """Multiply integers, b unsigned; the product has as many bits as both together."""
    width = len(a) + len(b)
    formats = IntFormat(width=len(a), signed=a_signed), IntFormat(width=len(b), signed=False)
    coded = encode(m, a, formats[0], encoding)
    planes = product_planes(m, coded, b, *formats, encoding, width)
    heap = BitHeap(width)
    for weight, plane in planes.items():
        heap.add_heap(plane, weight)
    return resolve(m, heap.compress(m, [2] * width), adder)


def multiply(
    m: Module, a: data.View, b: data.View, rebias: int, *, encoding: str, adder: str
) -> data.View:
    """Multiply numbers exactly; the significand has two integer bits, and is not normalised.

    Parameters
    ----------
    m : where the gates go.
    a, b : numbers, as :func:`unpack` makes them.
    rebias : the wanted bias minus those of a and b.
    encoding, adder : see :func:`hw.arith.product.product_planes`,
        :func:`hw.arith.adder.resolve`.
    """
    x, y = a.shape(), b.shape()
    width = x.significand_width + y.significand_width
    # A product has two integer bits, a number one.
    rebias += 1
    layout = FloatTerm(width, x.low + y.low + rebias, x.high + y.high + rebias)
    term = layout.signal("product")
    a_zero, b_zero = ~a.significand.any(), ~b.significand.any()
    nan = Signal(name="product_nan")
    m.d.comb += [
        nan.eq(a.nan | b.nan | (a.infinite & b_zero) | (b.infinite & a_zero)),
        term.sign.eq(a.sign ^ b.sign),
        term.nan.eq(nan),
        term.infinite.eq((a.infinite | b.infinite) & ~nan),
        term.exponent.eq(a.exponent + b.exponent + rebias),
        term.significand.eq(
            multiply_integers(m, a.significand, b.significand, encoding=encoding, adder=adder)
        ),
    ]
    return term


def normalised(m: Module, term: data.View) -> data.View:
    """Shift the leading one to the top; zero gets an exponent of at most 1."""
    layout = term.shape()
    low = min(layout.low - layout.significand_width + 1, 1)
    result = FloatTerm(layout.significand_width, low, layout.high).signal("normalised")
    shifted, zeros = normalise(m, term.significand)
    m.d.comb += [
        result.sign.eq(term.sign),
        result.nan.eq(term.nan),
        result.infinite.eq(term.infinite),
        result.significand.eq(shifted),
        result.exponent.eq(Mux(shifted[-1], term.exponent - zeros, low)),
    ]
    return result
