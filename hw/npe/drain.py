"""The end of a column of lanes: its sums in the format of results."""

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.cell import Cell
from hw.npe.encode import encode
from hw.npe.encoder import registers
from hw.npe.normal import no_cut

__all__ = ["EncodeCell"]


class EncodeCell(Cell):
    """Encodes the sums of a column, one a cycle.

    Parameters
    ----------
    spec : NpeSpec
        What: format of results, rounding, formats of operands and width of sums.
    pipeline : int
        How: registers before that of the code, as :class:`hw.npe.encoder.Encoder`'s.
    adder : str
        How: the rounding's carry, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    en : In(1)
        Common enable.
    i : In
        Sum, two's complement.
    i_scale : In
        How far the exponent of its last bit is above the least there is.
    i_invalid : In(1)
        The result is no number.
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
            rounding=spec.rounding,
            saturate=spec.saturate,
            invalid=self.i_invalid,
            adder=self.adder,
            cuts=(within, behind, before),
        )
        held = Signal(len(code), name="code", reset_less=True)
        with m.If(self.en):
            m.d.sync += held.eq(code)
        m.d.comb += self.o.eq(held)
        return m
