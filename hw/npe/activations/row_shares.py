"""Shares of one-pass attention in the vector unit: powers of two of scores, by blocks of keys."""

from math import isqrt

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap

__all__ = ["mantissa", "octaves", "table_of"]

_EXPONENT = 8
"""Bits of the exponent of a block."""


def table_of(spec: VectorUnitSpec) -> list[int]:
    """Return the mantissas of an octave: 2^(r / 2^scale_width + share_width - 1), rounded."""
    table = []
    for r in range(1 << spec.scale_width):
        # Twice of it, rounded down: the root of a root, and so on.
        twice = 1 << (spec.share_width << spec.scale_width) + r
        for _ in range(spec.scale_width):
            twice = isqrt(twice)
        table.append(min(twice + 1 >> 1, (1 << spec.share_width) - 1))
    return table


def octaves(m: Module, spec: VectorUnitSpec, value: Value, adder: str) -> tuple[Value, Value]:
    """Multiply a score by log2(e), rounding down.

    Parameters
    ----------
    m : where the gates go.
    spec : widths.
    value : two's complement, of `spec.width` bits.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.

    Returns
    -------
    Whole octaves, two's complement, of 8 bits at most, and the bits of `spec.scale_width` after the
    binary point.
    """
    width, heap = spec.width, BitHeap(2 * spec.width + 1)
    terms = _digits(spec.octave_factor)
    if adder == "operator":
        total: Value = C(0, 1)
        for weight, digit in terms:
            # Bits below a term are those of the sum. A zero below: else Yosys makes a compressor
            # of adders in series.
            term, sums = Cat(C(0, 1), value).as_signed(), total.as_signed()[weight:]
            sums = Cat(C(0, 1), total[-1] if not len(sums) else sums).as_signed()
            grown = (sums + term if digit > 0 else sums - term)[1:]
            total = Cat(total, total[-1].replicate(max(weight - len(total), 0)))[:weight]
            total = Cat(total, grown[: heap.width - weight])
        total = Cat(total, total[-1].replicate(max(heap.width - len(total), 0)))
    else:
        for weight, digit in terms:
            for place, bit in enumerate(value):
                heap.add_bit(bit, weight + place, negative=(digit < 0) != (place == width - 1))
        total = resolve(m, heap.compress(m, [2] * heap.width), adder)
    turned = total[width : heap.width]
    return _limited(turned[spec.scale_width :]), turned[: spec.scale_width]


def _limited(whole: Value) -> Value:
    """Return octaves in two's complement as a byte at most: at its limit if they are beyond."""
    if len(whole) <= _EXPONENT:
        return whole.as_signed()
    low, sign = whole[:_EXPONENT], whole[-1]
    beyond = whole[_EXPONENT - 1 :].any() & ~whole[_EXPONENT - 1 :].all()
    limit = Cat((~sign).replicate(_EXPONENT - 1), sign)
    return Value.cast(Mux(beyond, limit, low)).as_signed()


def _digits(factor: int) -> list[tuple[int, int]]:
    """List the weights of digits 1 and -1 of a number, none of which are adjacent."""
    digits: list[tuple[int, int]] = []
    while factor:
        weight = (factor & -factor).bit_length() - 1
        digit = 2 - (factor >> weight) % 4
        digits.append((weight, digit))
        factor -= digit << weight
    return digits


def mantissa(m: Module, spec: VectorUnitSpec, rest: Value, name: str) -> Value:
    """Look the mantissa of a part of an octave up."""
    table = table_of(spec)
    if len(table) == 1:
        return C(table[0], spec.share_width)
    word = Signal(spec.share_width, name=name)
    with m.Switch(rest):
        for r, code in enumerate(table):
            with m.Case(r):
                m.d.comb += word.eq(code)
    return word
