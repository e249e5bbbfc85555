"""Mixed-precision lane with 16-bit words."""

from typing import ClassVar

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data

from hw.arith.bit_heap import BitHeap
from hw.npe.lane.decode_word import decode_wide
from hw.npe.lane.decoded_operand import WideOperand
from hw.npe.lane.lane8 import PRODUCT, Lane8, Slot
from hw.npe.lane.logic import hold, is_of
from hw.npe.lane.nibble_multiplier import blocks, multiply, numbers
from hw.npe.lane.widths import BYTE, LaneWidths

__all__ = ["Lane16"]


class Lane16(Lane8):
    """Multiply-accumulate of a word of 16 bits in any pair of formats, inside an array.

    Two halves, each with the multiplier and shifters of :class:`Lane8`, add their products to one
    accumulator. For 16-bit codes both multipliers form one product, and only the first half's
    shifter is wide enough for it. With additional multipliers for halves of different weight that
    takes one cycle, else two: low x low and high x high, then low x high and high x low, for which
    the halves of b are swapped and its exponent is greater by 8.

    Members and parameters: see :class:`Lane8`; words of 16 bits.
    """

    module = "wide_lane"

    WORD: ClassVar[int] = 2 * BYTE

    a_layout: WideOperand
    b_layout: WideOperand

    def _layouts(self) -> tuple[data.StructLayout, data.StructLayout]:
        if self.gated is not None:
            raise ValueError("accumulation must be carry_save or resolved for words of 16 bits")
        plans = self.plan, LaneWidths(self.spec, 1)
        return WideOperand(plans, has_kind=True), WideOperand(plans, has_kind=False)

    @property
    def mode_width(self) -> int:
        """Bits of a mode."""
        return 3

    def mode(
        self, m: Module, a_format: Value, b_format: Value, taken: Value
    ) -> tuple[Value, Value]:
        """Compute the mode: bits `dual`, `wide` and, in the second of two cycles, `cross`."""
        spec = self.spec
        wide, second = Signal(name="wide"), Signal(name="second")
        m.d.comb += wide.eq(is_of(spec, a_format, self.WORD) | is_of(spec, b_format, self.WORD))
        mode = Cat(self.dual(a_format, b_format), wide, second)
        if not self.plan.crossed:
            return mode, C(1, 1)
        first = Signal(name="first")
        m.d.comb += first.eq(wide & ~second)
        with m.If(taken):
            m.d.sync += second.eq(first)
        return mode, ~first

    def encode_a(self, m: Module, a: Value, a_format: Value, mode: Value) -> tuple[Value, Value]:
        """Decode a word to ``i_a``. See :meth:`Lane8.encode_a`."""
        return decode_wide(m, self.a_layout, a, a_format, (mode[0], mode[1], mode[2]))

    def encode_b(self, m: Module, b: Value, b_format: Value, mode: Value) -> tuple[Value, Value]:
        """Decode a word to ``i_b``. See :meth:`Lane8.encode_b`."""
        return decode_wide(m, self.b_layout, b, b_format, (mode[0], mode[1], mode[2]))

    def _slots(self, m: Module, enable: Value, x: data.View, y: data.View) -> list[Slot]:
        plan, upper = self.a_layout.plans
        dual = x.first.dual if plan.needs_kind else C(plan.dual, 1)
        wide = x.wide if plan.wide and plan.narrow else C(bool(plan.wide), 1)
        flags = [dual, wide, x.cross if plan.crossed else C(0, 1)]
        signs, amounts = self._shifts(m, plan, x.first, y.first)
        widths = self._widths_of(plan)
        if plan.narrow:
            more = self._shifts(m, upper, x.second, y.second)
            signs, amounts = signs + more[0], amounts + more[1]
            widths += self._widths_of(upper)
        heaps = [
            *blocks(m, plan, (x.first.low, y.first.low), (x.first.high, y.first.high), dual),
            *blocks(m, upper, (x.second.low, y.second.low), (x.second.high, y.second.high), dual),
        ]
        if plan.wide and not plan.crossed:
            self._multiply_across(m, heaps[0], x, y, wide)
        if "rows" in self.cuts:
            heaps = [heap.register(m, enable) for heap in heaps]
            flags, signs, amounts = (
                hold(m, enable, "rows", values) for values in (flags, signs, amounts)
            )
        dual, wide, cross = flags
        first, *second = numbers(m, upper, heaps[2], heaps[3], dual, self.adder)
        if plan.wide:
            first = self._join(m, heaps[0], first, wide, cross)
        products = numbers(m, plan, heaps[0], heaps[1], dual, self.adder)
        if plan.narrow:
            products += [first, *second]
        return self._held_slots(m, enable, signs, amounts, products, widths)

    def _multiply_across(
        self, m: Module, heap: BitHeap, x: data.View, y: data.View, wide: Value
    ) -> None:
        """Multiply halves of different weight; for other words the blocks do not toggle."""
        widths = [plan.magnitude_width for plan in self.a_layout.plans]
        low, high = (
            [Cat(half.low, half.high[: max(width - len(half.low), 0)])[:width] for half in halves]
            for halves, width in zip(
                ((x.first, y.first), (x.second, y.second)), widths, strict=True
            )
        )
        for one, other in ((0, 1), (1, 0)):
            still = Signal(widths[1], name="isolated")
            m.d.comb += still.eq(high[one] & wide.replicate(widths[1]))
            multiply(m, heap, still, low[other], BYTE)

    def _join(self, m: Module, heap: BitHeap, product: Value, wide: Value, cross: Value) -> Value:
        """Add the upper half's partial product to the lower half's.

        Returns
        -------
        The upper half's own product, 0 if it is a part of a wide one.
        """
        both = [
            (wide & ~cross, 2 * BYTE, "upper_part"),
            *([(wide & cross, 0, "cross_part")] if self.plan.crossed else []),
        ]
        for here, weight, name in both:
            part = Signal(len(product), name=name)
            m.d.comb += part.eq(product & here.replicate(len(product)))
            heap.add_term(list(part), weight, signed=False, arrival=PRODUCT)
        width = self.a_layout.plans[1].widths(False)[0]
        alone = Signal(width, name="alone")
        m.d.comb += alone.eq(product[:width] & (~wide).replicate(width))
        return alone
