"""One digit-serial element, between two streams."""

from typing import ClassVar

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter
from golden.pe.opt3 import Opt3Spec
from hw.lib.shared_module import SharedModule
from hw.pe.digit_row import DigitControl, DigitRow
from hw.pe.element_stream import Operands, Total

__all__ = ["DigitStream"]


class DigitStream(wiring.Component):
    """A column of one digit-serial element.

    Latency, last pairs to their sum: :attr:`latency` cycles, plus one for each term beyond one per
    beat of these and the preceding pairs. Throughput:
    :func:`golden.pe.opt3.cycles`, which depends on the values of the operands unless
    ``constant_time`` is set. Stalls: pairs are taken one beat ahead; ``o.ready`` reaches
    ``i.ready`` combinationally. Overflow: sums are modulo 2^accumulator_width.

    Parameters
    ----------
    spec : Opt3Spec
        What: operand and accumulator widths, digits.

    Members
    -------
    i : In(stream)
        :class:`Operands`, in the formats of `spec`; with ``a_recoded``, a is in codes of
        :class:`golden.formats.recoded.RecodedFormat`, from any recoding.
    o : Out(stream)
        :class:`Total`, modulo 2^accumulator_width.
    """

    SPEC: ClassVar[type[Opt3Spec]]
    BUILD: ClassVar[dict[str, Parameter]] = {}
    SHARED: ClassVar[int]
    """Elements that share registers of selected digits; 0 if each has a selector."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: Opt3Spec):
        if not isinstance(spec, self.SPEC):
            raise TypeError(f"spec must be an {self.SPEC.__name__}, not {spec!r}")
        self.spec = spec
        self.row = DigitRow(spec, 1, shared=self.SHARED)
        super().__init__({
            "i": In(stream.Signature(Operands(spec))),
            "o": Out(stream.Signature(Total(spec, resolved=True))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The element, as a row of one."""
        return (self.row,)

    @property
    def latency(self) -> int:
        """Cycles from the last pairs of a sum to the sum, if they have one term."""
        return 2 + self.spec.drain

    @property
    def operations_per_cycle(self) -> float:
        """Sustained rate for normally distributed operands."""
        return self.spec.operations_per_cycle

    def elaborate(self, platform):
        m = Module()
        m.submodules.control = control = DigitControl(self.spec, 1)
        m.submodules.row = row = self.row.place()
        # Operands b are delayed along with a, in both stages.
        d_b = Signal(len(row.i_b), reset_less=True)
        s_b = Signal(len(row.i_b), reset_less=True)
        with m.If(control.load):
            m.d.sync += d_b.eq(self.i.payload.b)
        with m.If(control.en):
            m.d.sync += s_b.eq(d_b)
        m.d.comb += [
            control.a_valid.eq(self.i.valid),
            control.a_last.eq(self.i.payload.last),
            control.b_valid.eq(1),
            control.o_ready.eq(self.o.ready),
            control.row_last.eq(row.last),
            row.en.eq(control.en),
            row.i_load.eq(control.load),
            row.i_go.eq(control.go),
            row.i_first.eq(control.first),
            row.i_a.eq(self.i.payload.a),
            row.i_b.eq(s_b),
            self.i.ready.eq(control.a_ready),
            self.o.valid.eq(control.o_valid),
            self.o.payload.sum.eq(row.o),
        ]
        return m
