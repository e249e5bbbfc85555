"""Exponentials, and norms' differences, as logic of each lane."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.arith.shifter import shift_left
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.summed_step import SummedFactors, SummedStep
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["SummedLogic"]


class SummedLogic:
    """Computes factors of products from differences.

    Parameters
    ----------
    m : where the gates go.
    spec, widths : where mantissas are.
    step : what is done.
    factor : of all lanes but for squares.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    """

    def __init__(
        self,
        m: Module,
        spec: VectorUnitSpec,
        widths: SummedWidths,
        step: SummedStep,
        factor: Value,
        adder: str,
    ):
        self.spec, self.widths, self.step = spec, widths, step
        self.factor, self.adder = factor, adder

    def lane(self, m: Module, lane: int, difference: Value) -> SummedFactors:
        """Return the factors of the next lane."""
        widths, step = self.widths, self.step
        below = Signal(len(difference), name=f"d_below{lane}", reset_less=True)
        a_factor = Signal(widths.factor, name=f"a_factor{lane}", reset_less=True)
        # Less one, and from above: all bits are inverted.
        operand: Value = Cat(C(0, self.spec.MEAN_FRACTION), ~below).as_signed()
        octave: Value = C(0, widths.octave)
        keep: Value = C(1, 1)
        if widths.softmax:
            power, octave, beyond = self._power(m, lane, below)
            keep = step.norm | ~beyond
            operand = Mux(step.norm, operand, power) if widths.norms else power
            octave = Mux(step.norm, 0, octave)
        squares, low = step.squaring & step.norm & ~step.scaling, len(below)
        with m.If(step.move):
            m.d.sync += [below.eq(difference), a_factor.eq(self.factor)]
            if widths.norms:
                with m.If(squares):
                    m.d.sync += a_factor[:low].eq(~below)
                with m.If(squares & ~below[-1]):
                    m.d.sync += a_factor[low:].eq(-1)
        return SummedFactors(operand=operand, octave=octave, keep=keep, factor=a_factor)

    def _power(self, m: Module, lane: int, below: Value) -> tuple[Value, Value, Value]:
        """Return an exponential within its octave, that one's number, and whether it is beyond."""
        spec, widths = self.spec, self.widths
        mantissa, whole = exp_parts(m, 1 << spec.scale_width, below[: spec.width], self.adder)
        fine = (widths.span - 1).bit_length()
        width = len(mantissa) + widths.span - 1
        places = ~Cat(whole, C(0, fine))[:fine]
        shifted = shift_left(m, mantissa, places, width, f"power{lane}_")
        octave = whole[fine:]
        return (
            Cat(C(0, widths.left), shifted, C(0, 1)),
            octave[: widths.octave],
            octave >= widths.octaves,
        )
