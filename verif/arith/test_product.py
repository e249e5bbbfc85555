"""Products on the heap against multiplication."""

import itertools

import pytest
from amaranth import Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.product import ENCODINGS, add_product
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


def test_product_rejects_unknown_encoding() -> None:
    fmt = IntFormat(width=4)
    with pytest.raises(
        ValueError, match="encoding must be one of booth, ent, none, operator, not 'x'"
    ):
        add_product(Module(), BitHeap(8), Signal(4), Signal(4), fmt, fmt, "x")
