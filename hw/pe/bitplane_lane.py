"""Lanes that take the bit planes of their weights one after the other."""

from amaranth import C, Cat, Module, Signal, Value

from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave, Planes
from hw.arith.schedule import sparse_heights
from hw.pe.element import KEPT, CarrySaveSum

__all__ = ["LINES", "BitplaneLane"]

LINES = 3
"""Of all lanes: the sum leaves, a plane comes, a sum begins."""


class BitplaneLane(CarrySaveSum):
    """Adds what weights of one bit select, a bit plane a cycle.

    What a plane adds enters at the same place. Of several planes of a beat, the least significant
    first, the sum moves down by one bit from plane to plane, and up again to the place of the first
    plane for the next beat. In several passes, the most significant plane first, the sum moves up
    by one bit from pass to pass, and has fewer bits. Either takes a multiplexer for each bit of the
    sum, next to the gate that clears it, however many planes there are; and what is added needs
    neither a shifter nor a sign extension that depends on the plane.

    Members: see :class:`SumCell`; ``i_clear`` only says that the sum leaves. ``i_a`` ends with
    :attr:`controls` lines: a plane comes, where alone anything is added; a new sum begins with it.
    Then, of several planes: it is the first of its beat; in several passes: a pass begins with it.

    Parameters
    ----------
    a_width, b_width : int
        Bits of operands a, without lines, and of a plane of weights.
    width : int
        What: bits of a sum, which is modulo 2^width.
    planes : int
        What: bit planes of a weight, of weights 1, 2, 4 ..., that follow each other.
    passes : int
        What: bit planes of a weight, of weights ... 4, 2, 1, for each of which all beats come.
    pipeline : int
        How: registers between operands and accumulator, 0 or more, where they divide the delay.
    slack : int
        How: what adding may take longer, in XOR gates, so that fewer carries are kept.
    """

    def __init__(
        self,
        a_width: int,
        b_width: int,
        *,
        width: int,
        planes: int,
        passes: int = 1,
        pipeline: int,
        slack: int = 0,
    ):
        self.width = width
        self.planes = planes
        self.passes = passes
        self.slack = slack
        self.cuts: list[int] = []
        self._operands = a_width
        self._widths = a_width + self.controls, b_width
        self.cuts = self._terms(Module(), Signal(a_width), Signal(b_width)).cuts(
            pipeline, self._last_delay
        )
        super().__init__(*self._widths, pipeline)

    @property
    def controls(self) -> int:
        """Lines behind the operands a."""
        return LINES - 1 + (self.planes > 1 or self.passes > 1)

    @property
    def lines(self) -> Value:
        """These lines."""
        return self.i_a[self._operands :]

    @property
    def _moves(self) -> tuple[int, ...]:
        """Places by which the sum moves up."""
        if self.planes > 1:
            return -1, self.planes - 1
        return (0, 1) if self.passes > 1 else (0,)

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
        return [
            max((heights[at - up] for up in self._moves if 0 <= at - up < len(heights)), default=0)
            for at in range(len(heights))
        ]

    def _heights(self, products: BitHeap) -> list[int]:
        return sparse_heights(
            products.width, lambda heights: self._sum_delay(products, heights), slack=self.slack
        )

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
        m = Module()
        controls: Value = Cat(self.i_clear, self.lines)
        for stage in range(self.pipeline):
            late = Signal(len(controls), name=f"late{stage}", reset_less=True)
            with m.If(self.en):
                m.d.sync += late.eq(controls)
            controls = late
        done, comes, begins = controls[:LINES]
        lines = [~begins]
        if len(controls) > LINES:
            lines = [~begins & ~controls[-1], ~begins & controls[-1]]
        total = self.frame.register("total")
        columns = self.frame.columns(total)
        kept = self._kept(m, columns, lines)
        added = self.step(m, self.en, self.i_a, self.i_b, kept)
        with m.If(self.en & comes):
            m.d.sync += total.as_value().eq(self.frame.pack(added))
        m.d.comb += [
            self.o_done.eq(done),
            self.o.as_value().eq(self.layout.pack(columns[: self.width])),
        ]
        return m

    def _kept(
        self, m: Module, columns: list[list[Value]], conditions: list[Value]
    ) -> list[list[Value]]:
        """Move the sum by what belongs to the condition that holds; where none does, it is 0."""
        lines = [Signal(name=f"moves{number}") for number in range(len(conditions))]
        m.d.comb += [line.eq(condition) for line, condition in zip(lines, conditions, strict=True)]
        kept: list[list[Value]] = []
        for column, height in enumerate(self._moved([len(bits) for bits in columns])):
            kept.append([])
            for row in range(height):
                bit = Signal(name=f"kept{column}_{row}")
                m.d.comb += bit.eq(
                    Cat(
                        line & columns[column - up][row]
                        for line, up in zip(lines, self._moves, strict=True)
                        if 0 <= column - up < len(columns) and row < len(columns[column - up])
                    ).any()
                )
                kept[column].append(bit)
        return kept
