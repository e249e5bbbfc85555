"""Products on the heap against multiplication."""

import itertools

import pytest
from amaranth import Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.product import ENCODINGS, coded_width, encode, product_in_logic, product_planes
from verif.arith.test_bit_heap import rows_sum
from verif.support.cases import cover
from verif.support.formal import holds

SIGNS = list(itertools.product([True, False], repeat=2))


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("encoding", "a_signed", "b_signed", "a_width", "b_width", "extra", "place"),
    cover(
        ENCODINGS,
        SIGNS,
        [(2, 2), (2, 5), (5, 2), (3, 4), (4, 3), (6, 6)],
        [(-2, 0), (0, 1), (5, 2), (5, 0)],
        strength=3,
    ),
)
def test_product_is_exact(
    encoding: str,
    a_signed: bool,
    b_signed: bool,
    a_width: int,
    b_width: int,
    extra: int,
    place: int,
) -> None:
    a, b = IntFormat(width=a_width, signed=a_signed), IntFormat(width=b_width, signed=b_signed)

    def claim(m: Module, x: Signal, y: Signal) -> Value:
        width = a_width + b_width + extra
        heap = BitHeap(width)
        coded = encode(m, x, a, encoding)
        assert len(coded) == coded_width(a, encoding)
        planes = product_planes(m, coded, y, a, b, encoding, width, place)
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        left = x.as_signed() if a_signed else x
        right = y.as_signed() if b_signed else y
        expected = Signal(width)
        m.d.comb += expected.eq(left * right)
        return rows_sum(heap.compress(m, [2] * width)) == expected

    assert holds(claim, a_width, b_width)


@pytest.mark.parametrize(("x_width", "y_width"), [(1, 1), (4, 4), (3, 6), (7, 2)])
def test_product_in_logic_is_exact(x_width: int, y_width: int) -> None:
    def claim(m: Module, x: Signal, y: Signal) -> Value:
        return product_in_logic(x, y) == x * y

    assert holds(claim, x_width, y_width)


@pytest.mark.parametrize("factor", [0, 1, 2, 3, 7, 12, 13, 26])
def test_product_in_logic_with_a_constant_is_exact(factor: int) -> None:
    def claim(m: Module, x: Signal) -> Value:
        return product_in_logic(x, factor) == x * factor

    assert holds(claim, 5)


def test_product_rejects_unknown_encoding() -> None:
    fmt = IntFormat(width=4)
    with pytest.raises(
        ValueError, match="encoding must be one of booth, ent, none, operator, not 'x'"
    ):
        product_planes(Module(), Signal(4), Signal(4), fmt, fmt, "x", 8)
