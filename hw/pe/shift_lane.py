"""Shift-add lane: all bits of a low-bit weight in one cycle."""

from amaranth import Module, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.pe.bitplane_lane import BitplaneLane

__all__ = ["ShiftLane"]


class ShiftLane(BitplaneLane):
    """Adds gated, shifted copies of activations. Members: see :class:`BitplaneLane`.

    Parameters
    ----------
    a_format, b_format : IntFormat
        What: activations and weights.
    count : int
        What: activations per cycle.
    more
        As :class:`BitplaneLane`.
    """

    module = "shift_lane"

    def __init__(self, a_format: IntFormat, b_format: IntFormat, count: int, **more: int):
        self.a_format = a_format
        self.b_format = b_format
        self.count = count
        super().__init__(count * a_format.width, count * b_format.width, planes=1, **more)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        for number in range(self.count):
            code = a.word_select(number, self.a_format.width)
            weight = b.word_select(number, self.b_format.width)
            copies = product_planes(
                m, weight, code, self.b_format, self.a_format, "none", self.width
            )
            for shift, copy in copies.items():
                heap.add_heap(copy, shift)
        return heap
