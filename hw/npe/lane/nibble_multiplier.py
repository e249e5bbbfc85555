"""Products of magnitudes from 4 x 4-bit blocks: one product, or two."""

from amaranth import C, Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.npe.lane.widths import NIBBLE, LaneWidths

__all__ = ["blocks", "multiply", "numbers"]

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
