"""The output of a column of lanes: sums to the result format."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.lib.shared_module import SharedModule
from hw.npe.array.ports import SCALE
from hw.npe.floats.scaling import Scaling
from hw.npe.floats.stream import CUTS, Steps
from hw.npe.rounding.encode import encode
from hw.npe.rounding.normalised import no_cut
from hw.npe.rounding.registers import registers
from hw.npe.rounding.rounding import Rounding
from hw.tpe.rows_array import late

__all__ = ["ColumnEncoder", "ColumnScaler"]


class ColumnEncoder(SharedModule):
    """Encodes the sums of a column, one per cycle.

    Parameters
    ----------
    spec : NpeSpec
        What: result format, rounding, operand formats, width of sums.
    pipeline : int
        How: registers before the output register, as :class:`hw.npe.encoder.Encoder`'s.
    adder : str
        How: rounding carry, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common clock enable.
    i : In
        Sum, two's complement.
    i_scale : In
        Exponent of its last bit, minus the smallest possible one.
    i_invalid : In(1)
        The result is NaN.
    o : Out
        Code, `pipeline` + 1 cycles later.
    """

    module = "encode"

    en: Signal
    i: Signal
    i_scale: Signal
    i_invalid: Signal
    o: Signal

    def __init__(self, spec: NpeSpec, pipeline: int, adder: str):
        self.spec = spec
        self.pipeline = pipeline
        self.adder = adder
        super().__init__({
            "en": In(1),
            "i": In(spec.accumulator_width),
            "i_scale": In(spec.scale_width),
            "i_invalid": In(1),
            "o": Out(spec.result_width),
        })

    @property
    def latency(self) -> int:
        """Cycles from a sum to its code."""
        return self.pipeline + 1

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        fmt, low = spec.result_format, spec.least_lsb
        assert fmt is not None
        within, behind, before = (
            registers(m, self.en, name) if self.pipeline >= least else no_cut
            for least, name in ((3, "w"), (1, "n"), (2, "r"))
        )
        code = encode(
            m,
            self.i,
            self.i_scale + low if spec.scale_width else low,
            fmt,
            bounds=(low, spec.greatest_lsb),
            how=Rounding(mode=spec.rounding, saturate=spec.saturate, adder=self.adder, cut=before),
            invalid=self.i_invalid,
            cuts=(within, behind),
        )
        held = Signal(len(code), name="code", reset_less=True)
        with m.If(self.en):
            m.d.sync += held.eq(code)
        m.d.comb += self.o.eq(held)
        return m


class ColumnScaler(SharedModule):
    """Scales a column's block sums, one per cycle, and accumulates them for each row.

    The accumulators are in a memory. A row returns after :attr:`NpeSpec.drain` cycles or more,
    which bounds the latency of the addition.

    Parameters
    ----------
    spec : NpeSpec
        What: scale format, operand formats, rows.
    pipeline : int
        How: registers before the accumulator, as of :class:`hw.npe.block_scale.BlockScale`. With
        scales "e8m0", as many in the addition, but at most two and at most
        :attr:`NpeSpec.drain` - 2.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common clock enable.
    i : In
        Sum of a block, two's complement.
    i_valid : In(1)
        It is valid.
    i_row, i_next : In
        Its row; the next cycle's row.
    i_first : In(1)
        Its block is the first of a tile.
    i_a, i_b : In
        Codes of its scales.
    i_scale : In
        Exponent of its last bit, minus the smallest possible one.
    i_invalid : In(1)
        It is NaN.
    o : Out
        Code of the sum of the row's blocks so far, :attr:`latency` cycles later.
    o_invalid : Out(1)
        One of them, or of their scales, was NaN.
    """

    module = "scaling"

    en: Signal
    i: Signal
    i_valid: Signal
    i_row: Signal
    i_next: Signal
    i_first: Signal
    i_a: Signal
    i_b: Signal
    i_scale: Signal
    i_invalid: Signal
    o: Signal
    o_invalid: Signal

    def __init__(self, spec: NpeSpec, pipeline: int, adder: str):
        self.spec = spec
        self.pipeline = pipeline
        self.scaling = Scaling(spec.block_scale, "none", adder, spec.greatest_lsb - spec.least_lsb)
        self.within = 0 if self.scaling.exact else min(pipeline, 2, max(spec.drain - 2, 0))
        super().__init__({
            "en": In(1),
            "i": In(spec.accumulator_width),
            "i_valid": In(1),
            "i_row": In(spec.row_width),
            "i_next": In(spec.row_width),
            "i_first": In(1),
            "i_a": In(SCALE),
            "i_b": In(SCALE),
            "i_scale": In(spec.scale_width),
            "i_invalid": In(1),
            "o": Out(spec.result_width),
            "o_invalid": Out(1),
        })

    @property
    def latency(self) -> int:
        """Cycles from a sum to the code."""
        return self.pipeline + self.within + 1 + self.scaling.exact

    def elaborate(self, platform):
        m = Module()
        spec, scaling, en = self.spec, self.scaling, self.en
        steps = Steps(m, en, CUTS - self.pipeline)
        above: Value | None = self.i_scale if spec.scale_width else None
        number = self.i[: spec.block_scale.sum_width]
        term = scaling.term(m, number, (self.i_a, self.i_b), self.i_invalid, steps, above)
        front = max(steps.done - steps.unused, 0)

        way = late(
            m, en, "way", Cat(self.i_valid, self.i_first, self.i_row), front + self.within + 1
        )
        write, row = way[-1][0], way[-1][2:]
        total = Signal(scaling.width + (not scaling.exact), name="total", reset_less=True)
        scaled: Value = total
        if spec.m > 1:
            memory: Memory[int, Value] = Memory(shape=len(total), depth=spec.m, init=[])
            m.submodules.memory = memory
            store, fetch = memory.write_port(), memory.read_port()
            scaled = fetch.data
        added = self._add(m, Mux(way[front][1], 0, scaled), term)
        with m.If(en & write):
            m.d.sync += total.eq(added)
        if spec.m > 1:
            m.d.comb += [
                fetch.en.eq(en),
                fetch.addr.eq(late(m, en, "next", self.i_next, front + 1)[-1]),
                store.en.eq(en & write),
                store.addr.eq(row),
                store.data.eq(added),
            ]

        if above is not None:
            above = late(m, en, "above", above, front + 2)[-1]
        code = scaling.result(m, total[: scaling.width], steps, above, spec.saturate)
        if not scaling.exact:
            m.d.comb += [self.o.eq(code), self.o_invalid.eq(total[-1])]
            return m
        held = Signal(len(code), name="code", reset_less=True)
        with m.If(en):
            m.d.sync += held.eq(code)
        invalid = late(m, en, "invalid", total[0], self.pipeline - front + 2)[-1]
        m.d.comb += [self.o.eq(held), self.o_invalid.eq(invalid)]
        return m

    def _add(self, m: Module, before: Value, term: data.View) -> Value:
        """Add a term to the accumulator, with a sticky NaN flag."""
        scaling, en = self.scaling, self.en
        within, behind = (
            registers(m, en, name) if self.within >= least else no_cut
            for least, name in ((1, "w"), (2, "r"))
        )
        added = scaling.add(m, before[: scaling.width], term, (within, behind))
        if scaling.exact:
            return added
        invalid = before[-1] | term.nan
        return Cat(added, late(m, en, "invalid", invalid, self.within + 1)[-1])
