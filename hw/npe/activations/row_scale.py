"""What the vector unit finds out about a row: its mean, its root, and one reciprocal."""

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec

__all__ = ["RowScale"]


class RowScale(wiring.Component):
    """Computes the factor and the shift of a row from sums of its values, bit by bit.

    One subtractor makes the quotients and the root, two bits of the radicand or one of the dividend
    per cycle; one adder makes products. The divisor's register grows the root, two bits above the
    next radicand's. A quotient is normalised: it ends when its leading one has reached the top.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: widths.
    sum_width : int
        Bits of ``sum``.

    Members
    -------
    start : In(1)
        Start.
    norm, count : In
        Which scale: of a norm, else of a softmax; and number of values: stable while ``busy``.
    total, sum : In
        Sum of values, two's complement, of a norm about the mean, else 0; of squares, or of
        exponentials.
    busy : Out(1)
        The outputs are not there yet.
    factor, shift, mean : Out
        Reciprocal; the exponent of a softmax or the shift of a norm; the mean, two's complement,
        with `spec.MEAN_FRACTION` bits after the binary point.
    """

    start: Signal
    norm: Signal
    total: Signal
    sum: Signal
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
            "total": In(spec.width + spec.length.bit_length()),
            "sum": In(sum_width),
            "count": In(spec.length.bit_length()),
            "busy": Out(1),
            "factor": Out(spec.reciprocal_width),
            "shift": Out(6),
            "mean": Out(spec.width + spec.MEAN_FRACTION),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        norm, norms = self.norm, spec.builds(spec.NORMS)
        length_width = len(self.count)
        # Of a norm: |total| and the sum of squares, and length times the latter.
        magnitude_width = len(self.total) - 1
        square_width = min(2 * spec.width - 1 + length_width, len(self.sum))
        root_width = (length_width + square_width + 1) // 2
        bits_width = max(length_width, magnitude_width)
        divisor_width = max(len(self.sum), root_width + spec.ROOT_FRACTION + 1) + 2
        quotient_width = max(spec.reciprocal_width, len(self.mean))

        work = Signal(2 * root_width, reset_less=True)
        operand = Signal(2 * root_width, reset_less=True)
        bits = Signal(bits_width, reset_less=True)
        rest = Signal(divisor_width, reset_less=True)
        divisor = Signal(divisor_width, reset_less=True)
        quotient = Signal(quotient_width)
        root_digits = root_width + spec.ROOT_FRACTION
        left = Signal(range(max(root_digits, magnitude_width + spec.MEAN_FRACTION) + 1))
        rooting, negative = Signal(), Signal()
        magnitude, wide = Signal(magnitude_width), Signal.like(operand)
        total = Signal.like(self.total, reset_less=True)
        shift, mean = (Signal.like(out) for out in (self.shift, self.mean))
        m.d.comb += [
            self.factor.eq(quotient), self.shift.eq(shift), self.mean.eq(mean),
            negative.eq(total[-1]),
            magnitude.eq(Mux(negative, -total, total)), wide.eq(magnitude),
        ]  # fmt: skip

        # The one subtractor: a digit of a quotient or of a root, whose lowest bits are 01.
        shifted = Signal(divisor_width + 1)
        less = Signal(divisor_width + 2)
        fits, after = Signal(), Signal(divisor_width)
        m.d.comb += [
            shifted.eq(Mux(rooting, Cat(work[-2:], rest), Cat(C(0, 2), bits[-1] & norm, rest[2:]))),
            less.eq(shifted - divisor),
            fits.eq(~less[-1]),
            after.eq(Mux(fits, less, shifted)),
        ]
        # The one adder: to subtract, the operand's bits are inverted already.
        subtracting = Signal()
        summed = Signal(2 * root_width)
        m.d.comb += summed.eq(Cat(subtracting, work) + Cat(subtracting, operand) >> 1)
        found = Signal(quotient_width)
        m.d.comb += found.eq(Cat(fits, quotient))

        def divide():
            """Take a digit."""
            return [rest.eq(after), quotient.eq(found), bits.eq(bits << 1)]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.busy.eq(self.start)
                m.d.sync += [bits.eq(self.count), operand.eq(self.sum), total.eq(self.total)]
                m.d.sync += [work.eq(0), divisor.eq(Cat(C(0, 2), self.sum))]
                if norms:
                    with m.If(norm):
                        m.d.sync += divisor.eq(Cat(C(0, 2), self.count))
                m.d.sync += rest.eq(1 << spec.exponential_width + 1)
                with m.If(self.start):
                    m.d.sync += [quotient.eq(0), shift.eq(-5)]
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
                        m.d.sync += [operand.eq(~wide), bits.eq(magnitude)]
                        m.next = "SUBTRACT"
                with m.State("SUBTRACT"):
                    m.d.comb += [self.busy.eq(1), subtracting.eq(1)]
                    m.d.sync += [operand.eq(Cat(C(1, 1), operand)), bits.eq(bits >> 1)]
                    with m.If(bits[0]):
                        m.d.sync += work.eq(summed)
                    with m.If(bits == 0):
                        m.d.sync += [rest.eq(0), left.eq(magnitude_width + spec.MEAN_FRACTION)]
                        m.d.sync += bits.eq(magnitude << bits_width - magnitude_width)
                        m.next = "MEAN"
                        with m.If(work == 0):
                            m.next = "IDLE"
                with m.State("MEAN"):
                    m.d.comb += self.busy.eq(1)
                    m.d.sync += [*divide(), left.eq(left - 1)]
                    with m.If(left == 1):
                        m.d.sync += mean.eq(Mux(negative, -found, found))
                        m.d.sync += [rest.eq(0), divisor.eq(1), quotient.eq(0)]
                        m.d.sync += bits.eq(self.count << bits_width - length_width)
                        m.d.sync += left.eq(root_digits)
                        first = spec.MEAN_FRACTION - spec.ROOT_FRACTION - spec.norm_fraction
                        m.d.sync += shift.eq(first - length_width)
                        m.next = "ROOT"
                with m.State("ROOT"):
                    m.d.comb += [self.busy.eq(1), rooting.eq(1)]
                    m.d.sync += [rest.eq(after), work.eq(work << 2), left.eq(left - 1)]
                    m.d.sync += divisor.eq(Cat(left != 1, C(0, 1), fits, divisor[2:]))
                    with m.If(left == 1):
                        m.d.sync += rest.eq(0)
                        m.next = "DIVIDE"
            with m.State("DIVIDE"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += [*divide(), shift.eq(shift + 1)]
                top = spec.reciprocal_width - 1
                with m.If(Mux(norm, found[top], found[top - spec.signed])):
                    m.next = "IDLE"
        return m
