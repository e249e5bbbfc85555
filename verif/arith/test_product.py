"""Products on the heap against multiplication, and Booth digits against their value."""

import itertools

import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.product import ENCODINGS, add_product, booth_digits
from verif.arith.test_bit_heap import rows_sum
from verif.formal import holds

SIGNS = list(itertools.product([True, False], repeat=2))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize(("a_width", "b_width"), [(2, 2), (2, 5), (5, 2), (3, 4), (4, 3), (6, 6)])
@pytest.mark.parametrize("extra", [-2, 0, 5])
def test_product_is_exact(
    encoding: str, a_signed: bool, b_signed: bool, a_width: int, b_width: int, extra: int
) -> None:
    a, b = IntFormat(width=a_width, signed=a_signed), IntFormat(width=b_width, signed=b_signed)

    def claim(m: Module, x: Signal, y: Signal) -> Value:
        width = a_width + b_width + extra
        heap = BitHeap(width)
        add_product(m, heap, x, y, a, b, encoding)
        left = x.as_signed() if a_signed else x
        right = y.as_signed() if b_signed else y
        expected = Signal(width)
        m.d.comb += expected.eq(left * right)
        return rows_sum(heap.compress(m, [2] * width)) == expected

    assert holds(claim, a_width, b_width)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", range(2, 17))
def test_booth_digits_make_the_value(width: int, signed: bool) -> None:
    fmt = IntFormat(width=width, signed=signed)

    def claim(m: Module, x: Signal) -> Value:
        total: Value = C(0, 1)
        legal: Value = C(1, 1)
        digits = booth_digits(m, x, fmt)
        for position, (one, two, negative) in enumerate(digits):
            magnitude = Cat(one, two)
            sign = C(0, 1) if negative is None else negative
            digit = Mux(sign, -magnitude, magnitude)
            total = total + (digit << 2 * position)
            legal = legal & ~(one & two)
        assert len(digits) == ((width + 1) // 2 if signed else width // 2 + 1)
        return legal & (total == (x.as_signed() if signed else x))

    assert holds(claim, width)


def test_product_rejects_unknown_encoding() -> None:
    fmt = IntFormat(width=4)
    with pytest.raises(ValueError, match="encoding must be one of booth, none, operator, not 'x'"):
        add_product(Module(), BitHeap(8), Signal(4), Signal(4), fmt, fmt, "x")
