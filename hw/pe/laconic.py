"""Laconic: bit-slice lanes; products of signed powers of two are counted by exponent."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer, Parameter, check_fields
from golden.pe.laconic import LaconicSpec
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.schedule import sparse_heights
from hw.lib.array_entry import ArrayEntry
from hw.pe.element import ACCUMULATOR_ARRIVAL
from hw.pe.element_stream import Operands, Total
from hw.pe.laconic_lane import Lane, TermPair

__all__ = ["Laconic", "Reduction"]

# Arrival times in XOR gates: bits of a row, after the pair; the accumulator, after its clear gate.
_ROW = 2.0


class Reduction(wiring.Component):
    """Counts pairs by exponent and adds them up, in carry-save form.

    One bit heap is histogram, alignment and reduction: its columns are the buckets.

    Parameters
    ----------
    spec : LaconicSpec
        What: lanes, and width of the sum.
    pipeline : int
        How: registers between pairs and accumulator; fewer if the rows are too few to divide.

    Members
    -------
    en : In(1)
        Clock enable.
    i : In
        A :class:`TermPair` from each lane.
    i_clear : In(1)
        A new sum starts with these pairs.
    o_done : Out(1)
        `o` is complete: as many cycles after `i_clear` as there are pipeline registers.
    o : Out(CarrySave)
        The sum.
    """

    en: Signal
    i: data.View
    i_clear: Signal
    o_done: Signal
    o: data.View

    def __init__(self, spec: LaconicSpec, pipeline: int):
        self.spec = spec
        self.pair = TermPair(spec)
        self.cuts: list[int] = []
        self.cuts = self._plan().cuts(pipeline, self._delay)
        plan = self._plan()
        self.layout = CarrySave(sparse_heights(plan.width, lambda rows: self._delay(plan, rows)))
        super().__init__({
            "en": In(1),
            "i": In(data.ArrayLayout(self.pair, spec.k)),
            "i_clear": In(1),
            "o_done": Out(1),
            "o": Out(self.layout),
        })

    def elaborate(self, platform):
        m = Module()
        late = Signal(len(self.cuts), reset_less=True)
        with m.If(self.en):
            m.d.sync += late.eq(Cat(self.i_clear, late))
        m.d.comb += self.o_done.eq(Cat(self.i_clear, late)[-1])

        total = self.layout.register("total")
        accumulator = data.View(self.layout, Signal(self.layout.size, name="kept"))
        m.d.comb += accumulator.as_value().eq(Mux(self.o_done, 0, total.as_value()))
        heap = self._heap(m, self.en, self.i)
        accumulator_columns = self.layout.columns(accumulator)
        heap.add_columns(accumulator_columns, arrival=ACCUMULATOR_ARRIVAL)
        columns = heap.compress(m, [len(column) for column in accumulator_columns])
        with m.If(self.en):
            m.d.sync += total.as_value().eq(self.layout.pack(columns))
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m

    def _heap(self, m: Module, enable: Value, pairs: data.View) -> BitHeap:
        """Put all pairs on a heap, and pass it through the pipeline registers."""
        heap = BitHeap(self.spec.accumulator_width)
        for lane in range(self.spec.k):
            heap.add_term(self._row(m, pairs[lane], lane), signed=True, arrival=_ROW)
        for rows in self.cuts:
            heap = heap.register(m, enable, rows)
        return heap

    def _row(self, m: Module, pair: data.View, lane: int) -> list[Value]:
        """Decode a pair: +2^e is one bit, -2^e ones from bit e up; the last bit is the sign."""
        reached = [pair.place <= position for position in range(self.pair.places)]
        reached.append(reached[-1])
        none, one = pair.twos
        # Whether the exponent is at most the column's.
        at_most = Signal(self.pair.top + 1, name=f"at_most{lane}")
        for weight in range(len(at_most)):
            position, odd = divmod(weight, 2)
            before = reached[position - 1] if position else C(0, 1)
            m.d.comb += at_most[weight].eq(before | (reached[position] & (one if odd else none)))
        row = Signal(self.pair.top + 2, name=f"row{lane}")
        ones = pair.negative.replicate(len(at_most))
        m.d.comb += row.eq(
            Cat(at_most & (~(at_most << 1)[: len(at_most)] | ones), at_most[-1] & pair.negative)
        )
        return list(row)

    def _plan(self) -> BitHeap:
        """Make a heap for planning, with the registers of :attr:`cuts` so far."""
        layout = data.ArrayLayout(self.pair, self.spec.k)
        return self._heap(Module(), C(1, 1), data.View(layout, Signal(layout.size)))

    def _delay(self, pairs: BitHeap, heights: list[int] | None = None) -> float:
        """Delay of adding pairs to an accumulator of these heights, in XOR gates."""
        heights = heights or [2] * pairs.width
        heap = pairs.copy()
        heap.add_columns([[C(0, 1)] * height for height in heights], arrival=ACCUMULATOR_ARRIVAL)
        return heap.schedule(heights).delay


class Laconic(wiring.Component):
    """Sums products of operand pairs, term by term, in carry-save form.

    The processing element of Laconic (ISCA 2019): operands become the fewest signed powers of two,
    and each of k lanes multiplies two of them per cycle. Computes
    :func:`golden.pe.laconic.laconic`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.

    Latency, last cycle of the last pairs to their sum: :attr:`latency` cycles. Throughput: k pairs
    in as many cycles as the slowest lane needs, see :func:`golden.pe.laconic.cycles`: it depends on
    the operands. Stalls: ``o.ready`` reaches ``i.ready`` combinationally.

    Parameters
    ----------
    spec : LaconicSpec
        What: operand and accumulator widths, and lanes.
    pipeline : int
        How: registers between the exponents and the accumulator.

    Members
    -------
    i : In(stream)
        :class:`~hw.pe.element_stream.Operands`, in the formats of `spec`.
    o : Out(stream)
        :class:`~hw.pe.element_stream.Total`, modulo 2^accumulator_width.

    Examples
    --------
    >>> pe = Laconic(LaconicSpec(k=4, a_width=8, b_width=8))
    >>> pe.latency, round(pe.operations_per_cycle, 2)  # of normally distributed codes
    (5, 1.2)
    """

    SPEC = LaconicSpec
    SUMMARY = "bit-slice lanes (Laconic): one product of signed powers of two per cycle and lane"
    BENCH = "tb_mac"
    EVIDENCE = (
        "cocotb against numpy: all operand pairs up to 8 x 8 bits, stalls, resets, extremes,"
        " exact cycle count",
        "formal proof of lane and reduction",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        "pipeline": Integer("registers between exponents and accumulator", 2, 0, 4),
    }

    i: stream.Interface
    o: stream.Interface

    shared_modules = ()

    def __init__(self, spec: LaconicSpec, *, pipeline: int = 2):
        if not isinstance(spec, LaconicSpec):
            raise TypeError(f"spec must be a LaconicSpec, not {spec!r}")
        check_fields(self.BUILD, {"pipeline": pipeline})
        self.spec = spec
        self.reduction = Reduction(spec, pipeline)
        super().__init__({
            "i": In(stream.Signature(Operands(spec))),
            "o": Out(stream.Signature(Total(spec, resolved=not self.reduction.layout.carries))),
        })

    @property
    def latency(self) -> int:
        """Cycles from the last terms of a sum to the sum."""
        return 3 + len(self.reduction.cuts)

    @property
    def operations_per_cycle(self) -> float:
        """A multiplication and an addition per pair, in the mean of normal operands."""
        return self.spec.operations_per_cycle

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.feed = feed = ArrayEntry()
        m.submodules.reduction = reduction = self.reduction
        lanes = [Lane(spec) for _ in range(spec.k)]
        en = Signal()
        load = Signal()
        m.d.comb += [
            en.eq(~self.o.valid | self.o.ready),
            load.eq(en & Cat(lane.done for lane in lanes).all()),
            feed.move.eq(load),
            feed.valid.eq(self.i.valid),
            feed.last.eq(self.i.payload.last),
            self.i.ready.eq(feed.accept),
            reduction.en.eq(en),
        ]
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = lane
            m.d.comb += [
                lane.en.eq(en),
                lane.load.eq(load),
                lane.use.eq(feed.accept),
                lane.a.eq(self.i.payload.a.word_select(number, spec.a_width)),
                lane.b.eq(self.i.payload.b.word_select(number, spec.b_width)),
                reduction.i[number].eq(lane.o),
            ]

        clear = Signal(2, reset_less=True)
        done = Signal(self.latency - 1)
        m.d.comb += [
            reduction.i_clear.eq(clear[-1]),
            self.o.valid.eq(done[-1]),
            self.o.payload.sum.eq(reduction.o.sum),
        ]
        with m.If(en):
            m.d.sync += [
                clear.eq(Cat(load & feed.clear, clear)),
                done.eq(Cat(load & feed.finish, done)),
            ]
        if reduction.layout.carries:
            carries = [
                Cat(column[1:], C(0, 1))[0] for column in reduction.layout.columns(reduction.o)
            ]
            m.d.comb += self.o.payload.carry.eq(Cat(carries))
        return m
