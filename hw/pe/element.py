"""Processing elements of arrays: common ports, products."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, check_fields
from golden.pe.mac import MacSpec
from golden.pe.sparse_mac import SparseMacSpec
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave, Planes
from hw.arith.product import ENCODINGS, coded_width, digit_ranges, encode, product_planes
from hw.lib.shared_module import SharedModule
from hw.pe.sparse_select import SparseSelect

__all__ = ["ACCUMULATOR_ARRIVAL", "CarrySaveSum", "Element", "SumModule"]

ACCUMULATOR_ARRIVAL = 0.6
"""Arrival time of the accumulator, in XOR gates: one gate clears it."""


class SumModule(SharedModule):
    """Accumulates a bit heap each cycle, inside an array.

    ``i_clear`` comes with the first operands of a sum: the previous sum is on ``o`` in the cycle in
    which ``o_done`` is set, and is cleared in the next.

    Parameters
    ----------
    a_width, b_width : int
        Bits of the operands, as encoded.
    pipeline : int
        Registers between operands and accumulator.

    Members
    -------
    en : In(1)
        Common clock enable; while it is low nothing moves.
    i_a, i_b : In
        Operands, not registered here.
    i_clear : In(1)
        A new sum starts with these operands.
    o_done : Out(1)
        ``o`` is complete: `pipeline` cycles after ``i_clear``.
    o : Out(CarrySave or Planes)
        The sum.
    """

    SEPARATE: ClassVar[bool] = False
    """Whether heaps of different weights have separate accumulators."""

    ahead: int = 0
    """Bits of ``i_b``, the highest, that come a cycle before the rest of it, as ``i_a`` then does,
    which has its registers inside."""

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o_done: Signal
    o: data.View

    def __init__(self, a_width: int, b_width: int, pipeline: int):
        self.pipeline = pipeline
        self._widths = a_width, b_width
        parts = [(weight, self._number(weight, heap)) for weight, heap in self._plan().items()]
        self.layout = self._layout(parts)
        super().__init__({
            "en": In(1),
            "i_a": In(a_width),
            "i_b": In(b_width),
            "i_clear": In(1),
            "o_done": Out(1),
            "o": Out(self.layout),
        })

    def _layout(self, parts: list[tuple[int, CarrySave]]) -> CarrySave | Planes:
        """Choose the layout of ``o``, from the log weight and accumulator layout of each heap."""
        return Planes(parts) if self.SEPARATE else parts[0][1]

    def _number(self, weight: int, products: BitHeap) -> CarrySave:
        """Choose the layout of the accumulator of the products of a weight, by its logarithm."""
        return CarrySave(self._heights(products))

    def _heights(self, products: BitHeap) -> list[int]:
        """Choose the accumulator's bits in each column."""
        raise NotImplementedError

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Add products to an accumulator."""
        raise NotImplementedError

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        """Put the products on heaps: one per weight if SEPARATE, else one."""
        raise NotImplementedError

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Add the products of `a` and `b` to a sum; both are columns of :attr:`layout`.

        The products of a cycle are added to the sum `pipeline` cycles later.
        """
        columns: list[list[Value]] = []
        for heap in self._products(m, enable, a, b).values():
            columns += self._accumulate(m, heap, accumulator[len(columns) :][: heap.width])
        return columns

    def _finish(self, m: Module) -> None:
        """Set ``o_done``."""
        late = Signal(self.pipeline, reset_less=True)
        m.d.comb += self.o_done.eq(Cat(self.i_clear, late)[-1])
        with m.If(self.en):
            m.d.sync += late.eq(Cat(self.i_clear, late))

    def elaborate(self, platform):
        m = Module()
        self._finish(m)
        total = self.layout.register("total")
        accumulator = data.View(self.layout, Signal(self.layout.size, name="kept"))
        m.d.comb += accumulator.as_value().eq(Mux(self.o_done, 0, total.as_value()))
        columns = self.step(m, self.en, self.i_a, self.i_b, self.layout.columns(accumulator))
        with m.If(self.en):
            m.d.sync += total.as_value().eq(self.layout.pack(columns))
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m

    def _plan(self) -> dict[int, BitHeap]:
        """Make heaps of products, for planning only."""
        a, b = (Signal(width) for width in self._widths)
        return self._products(Module(), C(1, 1), a, b)


class CarrySaveSum(SumModule):
    """Compresses the addends and the accumulator together, with no carry propagation.

    The accumulator keeps a carry only at weights where rippling it would cost time.
    """

    def _heights(self, products: BitHeap) -> list[int]:
        return products.sum_heights(ACCUMULATOR_ARRIVAL)

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the accumulator on the heap of products, and compress to its own heights."""
        products.add_columns(accumulator, arrival=ACCUMULATOR_ARRIVAL)
        return products.compress(m, [len(column) for column in accumulator])


class Element(SumModule):
    """Multiply-accumulate of k operand pairs per cycle, inside an array.

    Members: see :class:`SumModule`; ``i_a``, ``i_b`` are k operands each, the first lowest, a as
    :meth:`encode` makes it. Of a :class:`SparseMacSpec`, ``i_a`` has all codes of A, ``i_b`` ends
    with the select lines of kept ones, and both are a cycle :attr:`ahead`.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths, and k; and which codes of A it chooses from.
    encoding : str
        How: multiplier, see :func:`hw.arith.product.product_planes`.
    pipeline : int
        How: registers between operands and accumulator, 0 or more, placed to balance the delay.
    """

    BUILD: ClassVar[dict[str, Parameter]] = {
        "encoding": Choice(
            "multiplier: Booth rows, EN-T rows recoded at the edge, AND array, or the tool's",
            "ent",
            ENCODINGS,
            searched=True,
            on_device="booth",
        ),
        "pipeline": Integer("registers between operands and accumulator", 0, 0, 4),
    }

    def __init__(self, spec: MacSpec, *, encoding: str = "ent", pipeline: int = 0):
        if not isinstance(spec, MacSpec):
            raise TypeError(f"spec must be a MacSpec, not {spec!r}")
        check_fields(Element.BUILD, {"encoding": encoding, "pipeline": pipeline})
        self.spec = spec
        self.encoding = encoding
        self.cuts: dict[int, list[int]] = {}
        self.select: SparseSelect | None = None
        if isinstance(spec, SparseMacSpec):
            self.select = SparseSelect(spec.sparse, spec.k)
            self.ahead = self.select.lines_width
        coded = coded_width(spec.a_format, encoding)
        self._widths = spec.a_codes * coded, spec.k * spec.b_width + self.ahead
        self.cuts = {
            weight: heap.cuts(pipeline, self._last_delay) for weight, heap in self._plan().items()
        }
        super().__init__(*self._widths, pipeline)

    def gated(self, valid: Value, a: Value) -> Value:
        """Return operands of A that are zero unless they are valid, or that are not chosen then."""
        return Mux(valid, a, 0) if self.select is None else a

    def beside(self, m: Module, valid: Value, b: Value) -> Value:
        """Return ``i_b``, the operands that go beside those of A, which are zero unless valid.

        These are whatever they are: zero times them is zero. In Verilog, though, zero times x is x,
        so where the product is an operator, they are zero, too.
        """
        b = Mux(valid, b, 0) if self.encoding == "operator" else b
        return b if self.select is None else self.select.decode(m, valid, b, self.spec.b_width)

    def encode(self, m: Module, a: Value) -> Value:
        """Encode codes of A as ``i_a``, at the edge of an array."""
        spec = self.spec
        codes = [a.word_select(pair, spec.a_width) for pair in range(spec.a_codes)]
        return Cat(encode(m, code, spec.a_format, self.encoding) for code in codes)

    def _last_delay(self, products: BitHeap) -> float:
        """Delay of adding these products to the sum, in XOR gates."""
        raise NotImplementedError

    def product_range(self, weight: int) -> tuple[int, int]:
        """Return bounds of what a cycle adds to the sum of a weight, by its logarithm."""
        spec, b = self.spec, self.spec.b_format
        digits = spec.a_format.low, spec.a_format.high
        if self.SEPARATE:
            digits = digit_ranges(spec.a_format, self.encoding)[weight]
        corners = [x * y for x in digits for y in (b.low, b.high)]
        return spec.k * min(corners), spec.k * max(corners)

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        """Put the products of all pairs on heaps, with the registers of :attr:`cuts` so far."""
        spec = self.spec
        width = spec.accumulator_width
        heaps: dict[int, BitHeap] = {}
        if self.select is not None:
            a = self.select.held(m, enable, a, b[spec.k * spec.b_width :])
        for pair in range(spec.k):
            x, y = a.word_select(pair, len(a) // spec.k), b.word_select(pair, spec.b_width)
            planes = product_planes(
                m, x, y, spec.a_format, spec.b_format, self.encoding, width, pair
            )
            for weight, plane in planes.items():
                shift = weight if self.SEPARATE else 0
                heap = heaps.setdefault(shift, BitHeap(width - shift))
                heap.add_heap(plane, weight - shift)
        for weight, cuts in self.cuts.items():
            for rows in cuts:
                heaps[weight] = heaps[weight].register(m, enable, rows)
        return heaps
