"""Carry-save sum of which the upper bits are a counter, a cycle late."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.counter import count
from hw.pe.element import ACCUMULATOR_ARRIVAL, CarrySaveSum, Element

__all__ = ["UPPERS", "CountedSum"]

UPPERS = ("heap", "counter")


class CountedSum(CarrySaveSum, Element):
    """Compresses products and lower sum together; the upper sum is on the heap or counts.

    As a counter: the lower bits are a signed number, large enough that a cycle's products overflow
    it by one at most. It is added to with one bit more, and where the two highest bits differ, the
    upper bits move up or down by one a cycle later, while the lower ones go on. In the meantime
    that bit is the second row of the sum: sign extension of the lower bits. The upper bits have a
    clock gate of their own: sums of small numbers do not move them.

    Parameters
    ----------
    upper : str
        How: "heap", or "counter".
    """

    upper: str

    def _number(self, weight: int, products: BitHeap) -> CarrySave:
        if self.upper == "heap":
            return super()._number(weight, products)
        low = self._lower_width(weight)
        if low + 2 > products.width:
            raise ValueError(
                "upper must be heap for a sum with fewer than 2 bits above those that a cycle's"
                f" products reach, not 'counter' with {low} of {products.width} bits"
            )
        # Carries that are kept have less than a quarter of the range of the lower bits, too.
        heights = products.lowest(low + 1).sum_heights(
            ACCUMULATOR_ARRIVAL, [2] * (low - 2) + [1, 1, 1]
        )
        return CarrySave(heights[:low], counted=products.width - low)

    def _lower_width(self, weight: int) -> int:
        """Count the bits of the least number of which products have a quarter of the range."""
        least, most = self.product_range(weight)
        return 2 + max((-least - 1).bit_length() if least < 0 else 0, (most - 1).bit_length())

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Add to a sum that passes by, with both parts at the same time."""
        if self.upper == "heap":
            return super()._accumulate(m, products, accumulator)
        part = _Part(self._low(products), accumulator)
        lower = part.add(m, products)
        moved = part.moved(m, f"upper{products.width}")
        return [*lower[:-1], *([bit, lower[-1][0]] for bit in moved)]

    def _low(self, products: BitHeap) -> int:
        """Return the bits of the lower part of the sum of these products."""
        return self._lower_width(self.spec.accumulator_width - products.width)

    def elaborate(self, platform):
        """Add to the sum that is kept here: the upper part has an enable of its own."""
        if self.upper == "heap":
            return super().elaborate(platform)
        m = Module()
        self._finish(m)
        total: list[list[Value]] = []
        for products in self._products(m, self.en, self.i_a, self.i_b).values():
            weight, low = self.spec.accumulator_width - products.width, self._low(products)
            number = self._number(weight, products)
            lower = CarrySave([*(1 + (at in number.carries) for at in range(low)), 1])
            held = lower.register(f"total{weight}")
            upper = Signal(products.width - low, name=f"upper{weight}", reset_less=True)
            accumulator = data.View(lower, Signal(lower.size, name=f"kept{weight}"))
            m.d.comb += accumulator.as_value().eq(Mux(self.o_done, 0, held.as_value()))
            columns = lower.columns(held)
            part = _Part(low, [*columns[:-1], *([bit, columns[-1][0]] for bit in upper)])
            adds = _Part(low, lower.columns(accumulator))
            added, moved = adds.add(m, products), part.moved(m, f"upper{weight}")
            with m.If(self.en):
                m.d.sync += held.as_value().eq(lower.pack(added))
                with m.If(self.o_done | part.moves):
                    m.d.sync += upper.eq(Mux(self.o_done, 0, moved))
            total += part.columns
        m.d.comb += self.o.as_value().eq(self.layout.pack(total))
        return m


class _Part:
    """A sum with a counter: columns of the lower bits, and of the upper ones with the overflow.

    Parameters
    ----------
    low : bits of the lower part.
    columns : of the sum.
    """

    def __init__(self, low: int, columns: list[list[Value]]):
        self.low = low
        self.columns = columns

    @property
    def sign(self) -> Value:
        """Highest of the lower bits."""
        return self.columns[self.low - 1][0]

    @property
    def beyond(self) -> Value:
        """Sign of the lower part before it overflowed."""
        return self.columns[self.low][-1]

    @property
    def moves(self) -> Value:
        """Whether the lower bits have overflowed."""
        return self.sign ^ self.beyond

    @property
    def upper(self) -> Value:
        """Upper bits, without the overflow."""
        return Cat(column[0] for column in self.columns[self.low :])

    def moved(self, m: Module, name: str) -> Value:
        """Upper bits after an overflow, if there is one."""
        up, down = self.sign & ~self.beyond, self.beyond & ~self.sign
        return Cat(count(m, list(self.upper), up, down, name)[0])

    def add(self, m: Module, products: BitHeap) -> list[list[Value]]:
        """Add products to the lower bits, as they were before these overflowed; one bit more."""
        heap = products.lowest(self.low + 1)
        heap.add_columns([*self.columns[: self.low], [self.sign]], arrival=ACCUMULATOR_ARRIVAL)
        heights = [*(len(column) for column in self.columns[: self.low]), 1]
        return heap.compress(m, heights)
