"""What the vector unit finds out about a row: its mean, its root, and one reciprocal."""

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec

__all__ = ["RowScale"]


class RowScale(wiring.Component):
    """Computes the factor and the shift of a row from sums of its values, bit by bit.

    One subtractor makes the quotients and the root, two bits of the radicand or one of the dividend
    per cycle; one adder makes products. A quotient is normalised: it ends when its leading one has
    reached the top.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: widths.
    sum_width : int
        Bits of ``total`` and ``squares``.

    Members
    -------
    start : In(1)
        Start.
    norm, centred, count : In
        Which scale: of a norm, and of one about the mean; else of a softmax; and number of values:
        stable while ``busy``.
    total, squares : In
        Sum of exponentials, or of values, two's complement; of squares.
    busy : Out(1)
        The outputs are not there yet.
    factor, shift, mean : Out
        Reciprocal; the exponent of a softmax or the shift of a norm; the mean, two's complement,
        with `spec.MEAN_FRACTION` bits after the binary point.
    """

    start: Signal
    norm: Signal
    centred: Signal
    total: Signal
    squares: Signal
    count: Signal
    busy: Signal
    factor: Signal
    shift: Signal
    mean: Signal

    def __init__(self, spec: VectorUnitSpec, sum_width: int):
        self.spec = spec
        super().__init__({
            "start": In(1),
            "norm": In(1),
            "centred": In(1),
            "total": In(sum_width),
            "squares": In(sum_width),
            "count": In(spec.length.bit_length()),
            "busy": Out(1),
            "factor": Out(spec.reciprocal_width),
            "shift": Out(6),
            "mean": Out(spec.width + spec.MEAN_FRACTION),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        norm, centred = self.norm, self.centred
        norms = spec.builds(spec.NORMS)
        length_width = len(self.count)
        # Of a norm: |total| and the sum of squares, and length times the latter.
        magnitude_width = min(spec.width - 1 + length_width, len(self.total))
        square_width = min(2 * spec.width - 1 + length_width, len(self.squares))
        root_width = (length_width + square_width + 1) // 2
        bits_width = max(length_width, magnitude_width)
        divisor_width = max(len(self.total), root_width + spec.ROOT_FRACTION + 1)
        quotient_width = max(spec.reciprocal_width, len(self.mean))

        work = Signal(2 * root_width, reset_less=True)
        operand = Signal(2 * root_width, reset_less=True)
        bits = Signal(bits_width, reset_less=True)
        rest = Signal(divisor_width, reset_less=True)
        divisor = Signal(divisor_width, reset_less=True)
        quotient = Signal(quotient_width, reset_less=True)
        root = Signal(root_width + spec.ROOT_FRACTION, reset_less=True)
        left = Signal(range(max(len(root), magnitude_width + spec.MEAN_FRACTION) + 1))
        rooting, negative = Signal(), Signal()
        magnitude = Signal(magnitude_width)
        total = Signal.like(self.total, reset_less=True)
        factor, shift, mean = (Signal.like(out) for out in (self.factor, self.shift, self.mean))
        m.d.comb += [
            self.factor.eq(factor), self.shift.eq(shift), self.mean.eq(mean),
            negative.eq(total[-1]),
            magnitude.eq(Mux(negative, -total, total)),
        ]  # fmt: skip

        # The one subtractor: a digit of a quotient or of a root.
        shifted = Signal(divisor_width + 2)
        taken = Signal(divisor_width + 2)
        less = Signal(divisor_width + 3)
        fits, after = Signal(), Signal(divisor_width)
        m.d.comb += [
            shifted.eq(Mux(rooting, Cat(work[-2:], rest), Cat(bits[-1] & norm, rest))),
            taken.eq(Mux(rooting, Cat(C(1, 2), root), divisor)),
            less.eq(shifted - taken),
            fits.eq(~less[-1]),
            after.eq(Mux(fits, less, shifted)),
        ]
        # The one adder.
        subtracting = Signal()
        summed = Signal(2 * root_width)
        flipped = operand ^ subtracting.replicate(len(operand))
        m.d.comb += summed.eq(Cat(subtracting, work) + Cat(subtracting, flipped) >> 1)
        found = Signal(quotient_width)
        m.d.comb += found.eq(Cat(fits, quotient))

        def divide():
            """Take a digit."""
            return [rest.eq(after), quotient.eq(found), bits.eq(bits << 1)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(self.start)
                m.d.sync += [quotient.eq(0), bits.eq(self.count), operand.eq(self.squares)]
                m.d.sync += [work.eq(0), divisor.eq(self.total), total.eq(self.total)]
                m.d.sync += rest.eq(1 << spec.exponential_width - 1)
                with m.If(self.start):
                    m.d.sync += shift.eq(-5)
                    m.next = "DIVIDE"
                    if norms:
                        with m.If(norm):
                            m.next = "MULTIPLY"
            if norms:
                with m.State("MULTIPLY"):
                    m.d.comb += self.busy.eq(1)
                    m.d.sync += [operand.eq(operand << 1), bits.eq(bits >> 1)]
                    with m.If(bits[0]):
                        m.d.sync += work.eq(summed)
                    with m.If(bits == 0):
                        m.d.sync += [operand.eq(magnitude), bits.eq(Mux(centred, magnitude, 0))]
                        m.next = "SUBTRACT"
                with m.State("SUBTRACT"):
                    m.d.comb += [self.busy.eq(1), subtracting.eq(1)]
                    m.d.sync += [operand.eq(operand << 1), bits.eq(bits >> 1)]
                    with m.If(bits[0]):
                        m.d.sync += work.eq(summed)
                    with m.If(bits == 0):
                        m.d.sync += [rest.eq(0), root.eq(0), left.eq(len(root)), factor.eq(0)]
                        m.next = "ROOT"
                        with m.If(work == 0):
                            m.next = "IDLE"
                with m.State("ROOT"):
                    m.d.comb += [self.busy.eq(1), rooting.eq(1)]
                    m.d.sync += [rest.eq(after), root.eq(Cat(fits, root)), work.eq(work << 2)]
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.sync += [rest.eq(0), divisor.eq(self.count)]
                        m.d.sync += bits.eq(magnitude << bits_width - magnitude_width)
                        m.d.sync += left.eq(magnitude_width + spec.MEAN_FRACTION)
                        m.next = "MEAN"
                with m.State("MEAN"):
                    m.d.comb += self.busy.eq(1)
                    m.d.sync += [*divide(), left.eq(left - 1)]
                    with m.If(left == 1):
                        m.d.sync += mean.eq(Mux(centred, Mux(negative, -found, found), 0))
                        m.d.sync += [rest.eq(0), divisor.eq(root), quotient.eq(0)]
                        m.d.sync += bits.eq(self.count << bits_width - length_width)
                        first = spec.MEAN_FRACTION - spec.ROOT_FRACTION - spec.norm_fraction
                        m.d.sync += shift.eq(first - length_width)
                        m.next = "DIVIDE"
            with m.State("DIVIDE"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += [*divide(), shift.eq(shift + 1)]
                top = spec.reciprocal_width - 1
                with m.If(Mux(norm, found[top], found[top - spec.signed])):
                    m.d.sync += factor.eq(found)
                    m.next = "IDLE"
        return m
