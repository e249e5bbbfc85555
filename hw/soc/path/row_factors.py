"""Multiplies the rows of the existing C by factors, on their way to the sum store."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.formats.integer import IntFormat
from golden.soc.spec import CoprocessorSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import coded_width, encode, product_planes
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.schedule.geometry import FACTOR_BYTES
from hw.soc.stores.operand_store import OperandStore

__all__ = ["FactoredNumber", "RowFactors"]

_FRACTION = 15
"""Bits of a factor behind the binary point, of all but one."""
_FACTOR = IntFormat(width=8 * FACTOR_BYTES, signed=False)
_ONE = 1 << _FRACTION
_READ = 2
"""Cycles from what a factor depends on to the factor: the store's, and that of its address."""


class FactoredNumber(SharedModule):
    """Multiplies a sum by a factor, and rounds: :func:`golden.soc.row_factors.scaled`.

    Latency: 2 cycles. Throughput: one sum per cycle. The result is modulo 2^width.

    Parameters
    ----------
    number : IntFormat
        What: of a sum.
    encoding, adder
        How: as :class:`hw.npe.requantiser.Requantiser`'s.

    Members
    -------
    en : In(1)
        Clock enable.
    i : In
        A sum.
    i_factor : In
        Its factor, encoded by :func:`hw.arith.product.encode`.
    o : Out
        The result.
    """

    module = "row_factor"

    en: Signal
    i: Signal
    i_factor: Signal
    o: Signal

    def __init__(self, number: IntFormat, *, encoding: str, adder: str):
        self.number = number
        self.encoding = encoding
        self.adder = adder
        super().__init__({
            "en": In(1),
            "i": In(number.width),
            "i_factor": In(coded_width(_FACTOR, encoding)),
            "o": Out(number.width),
        })

    def elaborate(self, platform):
        m = Module()
        heap = BitHeap(self.number.width + _FRACTION)
        planes = product_planes(
            m, self.i_factor, self.i, _FACTOR, self.number, self.encoding, heap.width
        )
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        heap = heap.register(m, self.en)
        heap.constant += _ONE // 2
        total = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        with m.If(self.en):
            m.d.sync += self.o.eq(total[_FRACTION:])
        return m


class RowFactors(wiring.Component):
    """Multiplies each row of a block of the existing C by its factor, as fast as memory gives it.

    Throughput: as many sums in a cycle as a beat of the bus has, or one. Rows of jobs without
    factors are multiplied by 1, in as many cycles. A row begins two cycles after the one before has
    been taken, or later. Stalls: ``o.ready`` reaches ``i.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the bus.
    build : RequantiserBuild
        How: encoding and adder of products.

    Members
    -------
    i_factored : In(1)
        The job has factors; stable while there are rows.
    i_factors : In(stream)
        :class:`hw.soc.bus.burst.Beat`: factors of the rows of a block, always taken; before its
        rows, and not before all rows of the last but one have been taken.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: words of rows of sums.
    i_end : In(1)
        The row is its block's last one.
    o, o_end : Out
        The same, of products.
    """

    i_factored: Signal
    i_factors: stream.Interface
    i: stream.Interface
    i_end: Signal
    o: stream.Interface
    o_end: Signal

    def __init__(self, spec: CoprocessorSpec, build: RequantiserBuild):
        self.spec = spec
        inside, size = spec.inside, spec.sum_bytes
        self.numbers = spec.row_slices(size) * inside.n
        most = max(spec.bytes // size, 1)
        self.at_once = max(count for count in range(1, most + 1) if self.numbers % count == 0)
        number = IntFormat(width=inside.sum_width, signed=inside.signed)
        self.number = FactoredNumber(
            number, encoding=build.requantiser_encoding, adder=build.requantiser_adder
        )
        each = spec.bytes // FACTOR_BYTES
        self.store = OperandStore("factor_bank", 1, spec.bytes, -(-spec.rows // each), 2)
        word = Beat(8 * size * self.numbers)
        super().__init__({
            "i_factored": In(1),
            "i_factors": In(stream.Signature(Beat(spec.data_width))),
            "i": In(stream.Signature(word)),
            "i_end": In(1),
            "o": Out(stream.Signature(word)),
            "o_end": Out(1),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The bank of factors, and what multiplies."""
        return (*self.store.shared_modules, self.number)

    def elaborate(self, platform):
        m = Module()
        bits = 8 * self.spec.sum_bytes
        steps = self.numbers // self.at_once
        # The word that is taken apart: its sums, the factor of its row, and which sums are next.
        held, factor = Signal(len(self.i.payload.data)), Signal(_FACTOR.width)
        last, end = Signal(), Signal()
        left = Signal(range(steps + 1))
        # Each register moves unless the word behind all of them waits.
        goes, takes = Signal(), Signal()
        read, settled = self._read(m, takes)
        m.d.comb += [
            goes.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(goes & (left <= 1) & settled),
            takes.eq(self.i.valid & self.i.ready),
        ]
        with m.If(goes):
            m.d.sync += [left.eq(Mux(left == 0, 0, left - 1)), held.eq(held >> bits * self.at_once)]
            with m.If(takes):
                m.d.sync += [left.eq(steps), held.eq(self.i.payload.data), factor.eq(read)]
                m.d.sync += [last.eq(self.i.payload.last), end.eq(self.i_end)]
        coded = encode(m, factor, _FACTOR, self.number.encoding)
        products = []
        for place in range(self.at_once):
            m.submodules[f"number{place}"] = number = self.number.place()
            m.d.comb += [
                number.en.eq(goes),
                number.i.eq(held.word_select(place, bits)),
                number.i_factor.eq(coded),
            ]
            products.append(Cat(number.o, *[0] * (bits - len(number.o))))
        self._collect(m, goes, Cat(products), (left != 0, left == 1, last, end))
        return m

    def _read(self, m: Module, takes: Signal) -> tuple[Value, Value]:
        """Read the factor of the next row; return it, and whether it is that."""
        spec, each = self.spec, self.spec.bytes // FACTOR_BYTES
        m.submodules.store = store = self.store
        wiring.connect(m, wiring.flipped(self.i_factors), store.i)
        row, part = Signal(range(spec.rows)), Signal()
        ends = Signal()
        m.d.comb += ends.eq(takes & self.i.payload.last)
        with m.If(ends):
            m.d.sync += row.eq(Mux(self.i_end, 0, row + 1))
            m.d.sync += part.eq(part ^ (self.i_end & self.i_factored))
        low = exact_log2(each)
        place = Signal(range(each))
        read, factor = Signal(_FACTOR.width), Signal(_FACTOR.width)
        m.d.sync += [place.eq(row[:low]), read.eq(factor)]
        m.d.comb += [
            store.i_end.eq(1),
            store.en.eq(1),
            store.o_part.eq(part),
            store.o_address.eq(row >> low),
            factor.eq(store.o.word_select(place, _FACTOR.width)),
        ]
        # What is read is new after so many cycles.
        waits, settled = Signal(range(_READ + 1), init=_READ), Signal()
        with m.If(ends | self.i_factors.valid):
            m.d.sync += waits.eq(_READ)
        with m.Elif(waits != 0):
            m.d.sync += waits.eq(waits - 1)
        m.d.comb += settled.eq((waits == 0) | ~self.i_factored)
        return Mux(self.i_factored, read, _ONE), settled

    def _collect(self, m: Module, goes: Signal, products: Value, now: tuple[Value, ...]) -> None:
        """Put the products of a word together, which come two cycles after their sums."""
        for late in range(2):
            marks = Signal(len(now), name=f"marks{late}")
            with m.If(goes):
                m.d.sync += marks.eq(Cat(now))
            now = tuple(marks)
        some, whole, last, end = now
        with m.If(goes):
            m.d.sync += self.o.valid.eq(whole)
            with m.If(some):
                m.d.sync += [
                    self.o.payload.data.eq(Cat(self.o.payload.data, products)[len(products) :]),
                    self.o.payload.last.eq(last),
                    self.o_end.eq(end),
                ]
