"""Lanes that take the bit planes of their weights one after the other."""

from amaranth import C, Cat, Module, Signal, Value

from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave, Planes
from hw.arith.schedule import sparse_heights
from hw.pe.cell import KEPT, CarrySaveSum

__all__ = ["CONTROLS", "LaneCell"]

CONTROLS = 2
"""Lines behind the operands a of a lane of several planes: a plane comes; it is the first."""


class LaneCell(CarrySaveSum):
    """Adds what weights of one bit select, a bit plane a cycle, the least significant first.

    What a plane adds enters at the same place: the sum moves down by one bit from plane to plane,
    and up again to the place of the first plane for the next beat. That takes a multiplexer for
    each bit of the sum, next to the gate that clears it, however many planes there are; and what
    is added needs neither a shifter nor a sign extension that depends on the plane.

    Members: see :class:`SumCell`; of several planes, ``i_a`` ends with the lines of
    :data:`CONTROLS`. The sum moves only where a plane comes.

    Parameters
    ----------
    a_width, b_width : int
        Bits of operands a, without lines, and of a plane of weights.
    width : int
        What: bits of a sum, which is modulo 2^width.
    planes : int
        What: bit planes of a weight, of weights 1, 2, 4 ...
    pipeline : int
        How: registers between operands and accumulator, 0 or more, where they divide the delay.
    """

    def __init__(self, a_width: int, b_width: int, *, width: int, planes: int, pipeline: int):
        self.width = width
        self.planes = planes
        self.cuts: list[int] = []
        self._operands = a_width
        lines = CONTROLS if planes > 1 else 0
        self._widths = a_width + lines, b_width
        self.cuts = self._terms(Module(), Signal(a_width), Signal(b_width)).cuts(
            pipeline, self._last_delay
        )
        super().__init__(*self._widths, pipeline)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        """Put what a plane adds on a heap of :attr:`width`."""
        raise NotImplementedError

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        """Put it where the first plane is, which is `planes` - 1 above that of the last."""
        terms = self._terms(m, a[: self._operands], b)
        for rows in self.cuts:
            terms = terms.register(m, enable, rows)
        return {0: self._raised(terms)}

    def _raised(self, terms: BitHeap) -> BitHeap:
        heap = BitHeap(self.width + self.planes - 1)
        heap.add_heap(terms, self.planes - 1)
        return heap

    def _last_delay(self, terms: BitHeap) -> float:
        heap = self._raised(terms)
        return self._sum_delay(heap, [2] * heap.width)

    def _sum_delay(self, heap: BitHeap, heights: list[int]) -> float:
        """Delay of adding a heap to a sum of these heights, which has moved."""
        heap = heap.copy()
        heap.add_columns([[C(0, 1)] * height for height in self._moved(heights)], arrival=KEPT)
        return heap.schedule(heights).delay

    def _moved(self, heights: list[int]) -> list[int]:
        """Heights of a sum that moves down or up."""
        up = self.planes - 1
        if not up:
            return heights
        down = [*heights[1:], 0]
        return [
            max(below, heights[column - up] if column >= up else 0)
            for column, below in enumerate(down)
        ]

    def _heights(self, products: BitHeap) -> list[int]:
        return sparse_heights(products.width, lambda heights: self._sum_delay(products, heights))

    def _layout(self, parts: list[tuple[int, CarrySave]]) -> CarrySave | Planes:
        """Leave out what is above the last plane's place."""
        ((_, self.frame),) = parts
        return CarrySave([1 + (weight in self.frame.carries) for weight in range(self.width)])

    def _accumulate(
        self, m: Module, products: BitHeap, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the sum on the heap of the products, and compress it to its own shape."""
        products.add_columns(kept, arrival=KEPT)
        carries = self.frame.carries
        return products.compress(m, [1 + (at in carries) for at in range(products.width)])

    def elaborate(self, platform):
        if self.planes == 1:
            return super().elaborate(platform)
        m = Module()
        step, first = self.i_a[self._operands], self.i_a[self._operands + 1]
        controls: Value = Cat(self.i_clear, step, first)
        for stage in range(self.pipeline):
            late = Signal(len(controls), name=f"late{stage}", reset_less=True)
            with m.If(self.en):
                m.d.sync += late.eq(controls)
            controls = late
        clear, step, first = controls
        total = self.frame.register("total")
        columns = self.frame.columns(total)
        up = self.planes - 1
        lift, drop = Signal(), Signal()
        m.d.comb += [lift.eq(first & ~clear), drop.eq(~first & ~clear)]
        kept: list[list[Value]] = []
        for column, height in enumerate(self._moved([len(bits) for bits in columns])):
            above = columns[column + 1] if column + 1 < len(columns) else []
            below = columns[column - up] if column >= up else []
            kept.append([])
            for row in range(height):
                bit = Signal(name=f"kept{column}_{row}")
                m.d.comb += bit.eq(
                    (drop & above[row] if row < len(above) else C(0, 1))
                    | (lift & below[row] if row < len(below) else C(0, 1))
                )
                kept[column].append(bit)
        added = self.step(m, self.en, self.i_a, self.i_b, kept)
        with m.If(self.en & (step | clear)):
            m.d.sync += total.as_value().eq(self.frame.pack(added))
        m.d.comb += [
            self.o_done.eq(clear),
            self.o.as_value().eq(self.layout.pack(columns[: self.width])),
        ]
        return m
