"""Products of magnitudes from 4 x 4-bit blocks: one product, or two."""

from amaranth import C, Module, Signal, Value
from amaranth.lib import data

from golden.formats.integer import IntFormat
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.npe.lane.widths import NIBBLE, LaneWidths

__all__ = ["blocks", "doubled_blocks", "doubled_numbers", "multiply", "numbers"]

# Arrival time of the product of two nibbles, in XOR gates.
_BLOCK = 7.0


def blocks(
    m: Module,
    plan: LaneWidths,
    low: tuple[Value, Value],
    high: tuple[Value, Value],
    dual: Value,
) -> tuple[BitHeap, BitHeap]:
    """Multiply nibbles, as far as the formats need it.

    Parameters
    ----------
    m : where the gates go.
    plan : formats.
    low, high : nibbles of a and b, unsigned.
    dual : lower and upper nibbles are separate codes; the mixed blocks do not toggle.

    Returns
    -------
    Heap of all products with a lower nibble, and heap of the product of upper nibbles.
    """
    wide = max(plan.magnitude_width - NIBBLE, 0)
    main = BitHeap(plan.product_width)
    multiply(m, main, low[0], low[1], 0)
    for first, others in ((0, 1), (1, 0)):
        if wide:
            upper = high[first][:wide]
            if plan.needs_kind:
                still = Signal(wide, name="isolated")
                m.d.comb += still.eq(upper & (~dual).replicate(wide))
                upper = still
            multiply(m, main, upper, low[others], NIBBLE)
    width = max(2 * wide, plan.widths(True)[0]) if plan.dual else 2 * wide
    both = BitHeap(width)
    if width:
        multiply(m, both, high[0], high[1], 0)
    return main, both


def numbers(
    m: Module, plan: LaneWidths, low: BitHeap, high: BitHeap, dual: Value, adder: str
) -> list[Value]:
    """Add the heaps of :func:`blocks`.

    Returns
    -------
    The product of the first codes and, if there are 4-bit formats, of the second ones, 0 if a
    word has none.
    """
    wide = max(plan.magnitude_width - NIBBLE, 0)
    if not plan.dual:
        if wide:
            low.add_heap(high, 2 * NIBBLE)
        return [_resolve(m, low, adder)]
    second = _resolve(m, high, adder)
    width = plan.widths(True)[0]
    if not wide:
        return [_resolve(m, low, adder), second[:width]]
    upper = Signal(2 * wide, name="upper")
    apart = Signal(width, name="second")
    m.d.comb += [
        upper.eq(second[: 2 * wide] & (~dual).replicate(2 * wide)),
        apart.eq(second[:width] & dual.replicate(width)),
    ]
    low.add_term(list(upper), 2 * NIBBLE, signed=False, arrival=_BLOCK)
    return [_resolve(m, low, adder), apart]


def doubled_blocks(
    m: Module, plan: LaneWidths, x: data.View, y: data.View, dual: Value
) -> list[BitHeap]:
    """Multiply nibbles, where words of two codes can have bytes of a and nibbles of b.

    Four blocks are a product of bytes, two of nibbles, or two of a byte by a nibble.

    Parameters
    ----------
    m, plan, dual : as for :func:`blocks`.
    x, y : decoded operands.

    Returns
    -------
    Heap of all products with the lower nibble of b, and those of its upper nibble with
    ``second_low`` and with ``second_high`` of a.
    """
    main, across, both = BitHeap(plan.product_width), BitHeap(2 * NIBBLE), BitHeap(2 * NIBBLE)
    multiply(m, main, x.low, y.low, 0)
    for heap, one, other, weight in (
        (main, x.high, y.low, NIBBLE),
        (across, y.high, x.second_low, 0),
    ):
        still = Signal(NIBBLE, name="isolated")
        m.d.comb += still.eq(one & (~dual).replicate(NIBBLE))
        multiply(m, heap, still, other, weight)
    multiply(m, both, x.second_high, y.high, 0)
    return [main, across, both]


def doubled_numbers(
    m: Module, plan: LaneWidths, heaps: list[BitHeap], dual: Value, doubled: Value, adder: str
) -> list[Value]:
    """Add the heaps of :func:`doubled_blocks`.

    Returns
    -------
    The product of the first codes, and of the second ones, 0 if a word has none.
    """
    main, *others = heaps
    across, both = (_resolve(m, heap, adder) for heap in others)
    second = BitHeap(plan.widths(True)[0])
    for heap, value, chosen, weight in (
        (main, across, ~(dual | doubled), NIBBLE),
        (main, both, ~(dual | doubled), 2 * NIBBLE),
        (second, both, dual | doubled, 0),
        (second, across, doubled, NIBBLE),
    ):
        part = Signal(2 * NIBBLE, name="part")
        m.d.comb += part.eq(value & chosen.replicate(2 * NIBBLE))
        heap.add_term(list(part), weight, signed=False, arrival=_BLOCK)
    return [_resolve(m, main, adder), _resolve(m, second, adder)]


def multiply(m: Module, heap: BitHeap, x: Value, y: Value, weight: int) -> None:
    """Put the product of two unsigned integers on a heap."""
    formats = [IntFormat(width=len(value), signed=False) for value in (x, y)]
    planes = product_planes(m, x, y, formats[0], formats[1], "none", heap.width)
    for shift, plane in planes.items():
        heap.add_heap(plane, weight + shift)


def _resolve(m: Module, heap: BitHeap, adder: str) -> Value:
    """Resolve a heap to a number."""
    rows = heap.compress(m, [2] * heap.width)
    return resolve(m, [row or [C(0, 1)] for row in rows], adder)
