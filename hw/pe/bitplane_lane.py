"""Lanes that process the bit planes of their weights one after the other."""

from amaranth import C, Cat, Module, Signal, Value

from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave, Planes
from hw.arith.schedule import sparse_heights
from hw.pe.element import ACCUMULATOR_ARRIVAL, CarrySaveSum

__all__ = ["LINES", "BitplaneLane"]

LINES = 3
"""Control lines of every lane: the sum leaves, a plane arrives, a sum begins."""


class BitplaneLane(CarrySaveSum):
    """Accumulates what one-bit weights select, one bit plane per cycle.

    Every plane's sum enters at the same place. With several planes per beat, the least significant
    first, the accumulator shifts right one bit per plane, and back left for the first plane of the
    next beat. With several passes, the most significant plane first, it shifts left one bit per
    pass, and has fewer bits. Either costs one multiplexer per accumulator bit, next to the gate
    that clears it, for any number of planes; the addend needs no shifter, and its sign extension
    does not depend on the plane.

    Members: see :class:`~hw.pe.element.SumModule`; ``i_clear`` only tells that the sum leaves.
    ``i_a`` ends with :attr:`controls` lines: a plane is valid (nothing is added without it); a new
    sum begins with it; then, with several planes: it is the first of its beat; with several passes:
    a pass begins with it.

    Parameters
    ----------
    a_width, b_width : int
        Bits of operands a, without control lines, and of a plane of weights.
    width : int
        What: bits of the accumulator; sums are modulo 2^width.
    planes : int
        What: bit planes per beat, in successive cycles, least significant first.
    passes : int
        What: bit planes in successive passes over all beats, most significant first.
    pipeline : int
        How: registers between operands and accumulator, 0 or more, placed to balance the delay.
    slack : int
        How: extra delay allowed for adding, in XOR gates, so that fewer carries are kept.
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
        """Control lines after the operands a."""
        return LINES - 1 + (self.planes > 1 or self.passes > 1)

    @property
    def lines(self) -> Value:
        """These lines."""
        return self.i_a[self._operands :]

    @property
    def _moves(self) -> tuple[int, ...]:
        """Shifts of the accumulator, in bits to the left."""
        if self.planes > 1:
            return -1, self.planes - 1
        return (0, 1) if self.passes > 1 else (0,)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        """Put a plane's addends on a heap of :attr:`width`."""
        raise NotImplementedError

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        """Put them at the first plane's place, `planes` - 1 bits above the last plane's."""
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
        """Delay of adding a heap to an accumulator of these heights, after its shift."""
        heap = heap.copy()
        heap.add_columns(
            [[C(0, 1)] * height for height in self._moved(heights)], arrival=ACCUMULATOR_ARRIVAL
        )
        return heap.schedule(heights).delay

    def _moved(self, heights: list[int]) -> list[int]:
        """Heights of an accumulator that shifts right or left."""
        return [
            max((heights[at - up] for up in self._moves if 0 <= at - up < len(heights)), default=0)
            for at in range(len(heights))
        ]

    def _heights(self, products: BitHeap) -> list[int]:
        return sparse_heights(
            products.width, lambda heights: self._sum_delay(products, heights), slack=self.slack
        )

    def _layout(self, parts: list[tuple[int, CarrySave]]) -> CarrySave | Planes:
        """Leave out the bits above the last plane's range."""
        ((_, self.frame),) = parts
        return CarrySave([1 + (weight in self.frame.carries) for weight in range(self.width)])

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the accumulator on the heap of products, and compress to its own heights."""
        products.add_columns(accumulator, arrival=ACCUMULATOR_ARRIVAL)
        carries = self.frame.carries
        return products.compress(m, [1 + (at in carries) for at in range(products.width)])

    def elaborate(self, platform):
        m = Module()
        lines = self.lines
        if self.ahead:
            lines = Signal(len(self.lines), name="held_lines", reset_less=True)
            with m.If(self.en):
                m.d.sync += lines.eq(self.lines)
        controls: Value = Cat(self.i_clear, lines)
        for stage in range(self.pipeline):
            late = Signal(len(controls), name=f"late{stage}", reset_less=True)
            with m.If(self.en):
                m.d.sync += late.eq(controls)
            controls = late
        done, comes, begins = controls[:LINES]
        moves = [~begins]
        if len(controls) > LINES:
            moves = [~begins & ~controls[-1], ~begins & controls[-1]]
        total = self.frame.register("total")
        columns = self.frame.columns(total)
        accumulator = self._accumulator(m, columns, moves)
        added = self.step(m, self.en, self.i_a, self.i_b, accumulator)
        with m.If(self.en & comes):
            m.d.sync += total.as_value().eq(self.frame.pack(added))
        m.d.comb += [
            self.o_done.eq(done),
            self.o.as_value().eq(self.layout.pack(columns[: self.width])),
        ]
        return m

    def _accumulator(
        self, m: Module, columns: list[list[Value]], conditions: list[Value]
    ) -> list[list[Value]]:
        """Shift the sum by the amount whose condition holds; without any it is 0."""
        lines = [Signal(name=f"moves{number}") for number in range(len(conditions))]
        m.d.comb += [line.eq(condition) for line, condition in zip(lines, conditions, strict=True)]
        accumulator: list[list[Value]] = []
        for column, height in enumerate(self._moved([len(bits) for bits in columns])):
            accumulator.append([])
            for row in range(height):
                bit = Signal(name=f"kept{column}_{row}")
                m.d.comb += bit.eq(
                    Cat(
                        line & columns[column - up][row]
                        for line, up in zip(lines, self._moves, strict=True)
                        if 0 <= column - up < len(columns) and row < len(columns[column - up])
                    ).any()
                )
                accumulator[column].append(bit)
        return accumulator
