"""Division by a constant, as a multiplication."""

from amaranth import Module, Value

from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap

__all__ = ["divide_by_constant", "reciprocal"]


def divide_by_constant(
    m: Module, bits: Value, divisor: int, most: int, adder: str
) -> tuple[Value, Value]:
    """Divide an unsigned number by a constant, exactly.

    The number is multiplied by :func:`reciprocal`.

    Parameters
    ----------
    m : where the gates go.
    bits : dividend, at most `most`.
    divisor : 1 or more.
    most : largest dividend.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.

    Returns
    -------
    Quotient, as wide as the largest one, at least one bit; and remainder, as wide as divisor - 1,
    likewise.
    """
    factor, shift = reciprocal(divisor, most)
    width = max((most // divisor).bit_length(), 1)
    heap = BitHeap(shift + width)
    _add_product(heap, bits, factor)
    quotient = resolve(m, heap.compress(m, [2] * heap.width), adder)[shift:]

    rest = BitHeap(max((divisor - 1).bit_length(), 1))
    rest.add_term(list(bits), signed=False)
    _add_product(rest, quotient, -divisor)
    return quotient, resolve(m, rest.compress(m, [2] * rest.width), adder)


def reciprocal(divisor: int, most: int) -> tuple[int, int]:
    """Return c and k: x * c / 2^k, rounded down, is x / divisor for each x up to `most`.

    c / 2^k is the rounded-up reciprocal, with the least k whose error, times `most`, is less than
    one unit of the quotient's fraction (Granlund, Montgomery 1994).

    Examples
    --------
    >>> reciprocal(10, most=255)
    (205, 11)
    >>> [x * 205 >> 11 for x in (9, 10, 255)]
    [0, 1, 25]
    """
    shift = 0
    while (-(1 << shift) % divisor) * most >= 1 << shift:
        shift += 1
    return -(-(1 << shift) // divisor), shift


def _add_product(heap: BitHeap, bits: Value, factor: int) -> None:
    """Put a constant multiple on a heap, in the fewest rows."""
    weight = 0
    while factor:
        # Digits of the non-adjacent form: 1 or -1 where the rest is odd, so that it becomes even
        # twice.
        digit = 2 - factor % 4 if factor % 2 else 0
        if digit:
            for shift, bit in enumerate(bits):
                heap.add_bit(bit, weight + shift, negative=digit < 0)
        factor = (factor - digit) // 2
        weight += 1
