"""A lane between two streams."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter
from golden.npe.lane import LaneSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.shared_module import SharedModule
from hw.npe.lane.decoded_operand import quiet
from hw.npe.lane.lane8 import Lane8
from hw.npe.lane.sum_formats import SumFormats
from hw.pe.registered_element import RegisteredElement

__all__ = ["LaneSum", "LaneWords", "StreamLane"]


class LaneWords(data.StructLayout):
    """A word of a and one of b; ``last`` ends the sum.

    ``a_format`` and ``b_format`` are indices of formats, sampled with the first words of a sum.
    """

    def __init__(self, spec: LaneSpec):
        super().__init__({
            "a": spec.word_width,
            "b": spec.word_width,
            "a_format": spec.format_width,
            "b_format": spec.format_width,
            "last": 1,
        })


class LaneSum(data.StructLayout):
    """One sum, with a carry row if it is not resolved, and its flags.

    ``invalid``: an operand was NaN and counted as zero. ``overflow``: there were more words than
    the accumulator can hold in the worst case.
    """

    def __init__(self, spec: LaneSpec, *, resolved: bool):
        rows = ("sum",) if resolved else ("sum", "carry")
        widths = dict.fromkeys(rows, spec.accumulator_width)
        super().__init__({**widths, "invalid": 1, "overflow": 1})


class StreamLane(wiring.Component):
    """One lane, as an array of one.

    A sum is in units of the product of both formats' last bits.

    Latency, last words to their sum: :attr:`latency` cycles. Throughput: one word of each operand
    per :meth:`LaneSpec.cycles` cycles. Stalls: a sum that is not taken stalls the input;
    ``o.ready`` reaches ``i.ready`` combinationally, as do the formats if words can take several
    cycles. Overflow: modulo 2^accumulator_width, with a flag.

    Parameters
    ----------
    spec : LaneSpec
        What: formats and accumulator width.
    build
        How: see :class:`hw.npe.lane.lane8.Lane8`.

    Members
    -------
    i : In(stream)
        :class:`LaneWords`.
    o : Out(stream)
        :class:`LaneSum`; the sum is ``sum`` + ``carry`` modulo 2^accumulator_width, two's
        complement.
    """

    BUILD: ClassVar[dict[str, Parameter]] = Lane8.BUILD
    SPEC: ClassVar[type[LaneSpec]]
    CELL: ClassVar[type[Lane8]]

    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: LaneSpec, **build):
        if not isinstance(spec, self.SPEC):
            raise TypeError(f"spec must be an {self.SPEC.__name__}, not {spec!r}")
        self.spec = spec
        self._lane = self.CELL(spec, **build)
        self.cell = RegisteredElement(self._lane)
        super().__init__({
            "i": In(stream.Signature(LaneWords(spec))),
            "o": Out(stream.Signature(LaneSum(spec, resolved=not self.cell.layout.carries))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one cell."""
        return (self.cell,)

    @property
    def latency(self) -> int:
        """Cycles from the last words of a sum to the sum."""
        return 2 + self.cell.pipeline

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per product, in the formats with the most products."""
        return self.spec.operations

    def elaborate(self, platform):
        m = Module()
        words = self.i.payload
        m.submodules.feed = feed = ArrayEntry()
        m.submodules.state = state = SumFormats(self.spec)
        m.submodules.lane = pe = self.cell.place()
        mode, done = self._lane.mode(m, state.o_a, state.o_b, feed.accept)
        a, a_invalid = self._lane.encode_a(m, words.a, state.o_a, mode)
        b, b_invalid = self._lane.encode_b(m, words.b, state.o_b, mode)
        move, invalid = Signal(), Signal(reset_less=True)
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            feed.move.eq(move),
            feed.valid.eq(self.i.valid),
            feed.last.eq(words.last & done),
            self.i.ready.eq(feed.accept & done),
            state.accept.eq(feed.accept & done),
            state.last.eq(words.last),
            state.i_a.eq(words.a_format),
            state.i_b.eq(words.b_format),
            pe.en.eq(move),
            pe.i_a.eq(Mux(feed.accept, a, 0)),
            pe.i_b.eq(quiet(self._lane.b_layout, b, feed.accept)),
            pe.i_clear.eq(feed.clear),
        ]
        with m.If(move):
            here = feed.accept & (a_invalid | b_invalid)
            m.d.sync += invalid.eq((invalid & ~feed.clear) | here)
        arriving: Value = Cat(feed.finish, invalid, state.o_overflow)
        for stage in range(self.latency - 1):
            held = Signal(3, name=f"done{stage}")
            with m.If(move):
                m.d.sync += held.eq(arriving)
            arriving = held
        rows = self.cell.layout.columns(pe.o)
        m.d.comb += [
            Cat(self.o.valid, self.o.payload.invalid, self.o.payload.overflow).eq(arriving),
            self.o.payload.sum.eq(Cat(column[0] for column in rows)),
        ]
        if self.cell.layout.carries:
            carries = (column[1] if len(column) == 2 else C(0, 1) for column in rows)
            m.d.comb += self.o.payload.carry.eq(Cat(carries))
        return m
