"""What the vector unit finds out about a row: its mean, its root, and one reciprocal."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec
from hw.arith.pick_bit import pick_bit

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
        norms = spec.builds(spec.NORMS)
        idle = Signal(init=1)
        # Known from the start on.
        norm = Signal(reset_less=True)
        with m.If(idle):
            m.d.sync += norm.eq(self.norm)
        length_width = len(self.count)
        closing = Signal()
        # Of a norm: |total|, and length times the sum of squares.
        magnitude_width = len(self.total) - 1
        root_width = spec.root_width
        divisor_width = max(len(self.sum), root_width + spec.ROOT_FRACTION + 1) + 2
        quotient_width = max(spec.reciprocal_width, len(self.mean))

        work = Signal(2 * root_width, reset_less=True)
        operand = Signal(2 * root_width, reset_less=True)
        bits = Signal(magnitude_width, reset_less=True)
        rest = Signal(divisor_width, reset_less=True)
        divisor = Signal(divisor_width, reset_less=True)
        quotient = Signal(quotient_width)
        root_digits = root_width + spec.ROOT_FRACTION
        digits = magnitude_width + spec.MEAN_FRACTION + root_digits
        left = Signal(range(digits + 1), reset_less=True)
        negative = Signal()
        magnitude, wide = Signal(magnitude_width), Signal.like(operand)
        total = Signal.like(self.total, reset_less=True)
        shift, mean = (Signal.like(out) for out in (self.shift, self.mean))
        m.d.comb += [
            self.factor.eq(quotient), self.shift.eq(shift), self.mean.eq(mean),
            negative.eq(total[-1]),
            magnitude.eq(Mux(negative, -total, total)), wide.eq(magnitude),
        ]  # fmt: skip
        multiplying, subtracting, averaging, rooting, dividing = (
            Signal(name=name)
            for name in ("multiplying", "subtracting", "averaging", "rooting", "dividing")
        )

        # The one subtractor: a digit of a quotient or of a root, whose lowest bits are 01.
        shifted = Signal(divisor_width + 1)
        less = Signal(divisor_width + 2)
        fits, found = Signal(), Signal(quotient_width)
        m.d.comb += [
            shifted.eq(Mux(rooting, Cat(work[-2:], rest), Cat(C(0, 2), bits[-1] & norm, rest[2:]))),
            less.eq(shifted - divisor),
            fits.eq(~less[-1]), found.eq(Cat(fits, quotient)),
        ]  # fmt: skip
        # The one adder: to subtract, the operand's bits are inverted already.
        summed = Signal(2 * root_width)
        m.d.comb += summed.eq(Cat(subtracting, work) + Cat(subtracting, operand) >> 1)

        none, averaged, rooted, ends = Signal(), Signal(), Signal(), Signal()
        top = spec.reciprocal_width - 1
        m.d.comb += [
            none.eq(bits == 0), averaged.eq(left == root_digits + 1), rooted.eq(left == 1),
            ends.eq(Mux(norm, found[top], found[top - spec.signed])),
            self.busy.eq(Mux(idle, self.start, 1)),
        ]  # fmt: skip

        # A flip-flop for each state: what it selects is not decoded.
        def enter(state: Signal, after: Signal) -> list[Any]:
            """Go from one state to another."""
            return [after.eq(0), state.eq(1)]

        with m.If(idle & self.start):
            m.d.sync += enter(dividing, idle)
            if norms:
                with m.If(self.norm):
                    m.d.sync += [dividing.eq(0), multiplying.eq(1)]
        if norms:
            with m.If(multiplying & none):
                m.d.sync += enter(subtracting, multiplying)
            with m.If(subtracting & none):
                m.d.sync += enter(averaging, subtracting)
                with m.If(work == 0):
                    m.d.sync += enter(idle, averaging)
            with m.If(averaging & averaged):
                m.d.sync += enter(rooting, averaging)
            with m.If(rooting & rooted):
                m.d.sync += enter(dividing, rooting)
        with m.If(dividing & ends):
            m.d.sync += enter(idle, dividing)

        # Registers hold anything in states where they are not looked at, so they have few sources;
        # clears come last, on conditions of their own, so that flip-flops do them.
        m.d.sync += [rest.eq(Mux(fits, less, shifted)), left.eq(left - 1)]
        with m.If(idle):
            m.d.sync += [total.eq(self.total), divisor.eq(Cat(C(0, 2), self.sum))]
        with m.If(dividing):
            m.d.sync += shift.eq(shift + 1)
        with m.If(dividing | averaging):
            m.d.sync += quotient.eq(found)
        if norms:
            with m.If(rooting | (multiplying | subtracting) & bits[0]):
                m.d.sync += work.eq(Mux(rooting, work << 2, summed))
            with m.If(idle):
                m.d.sync += [work.eq(0), operand.eq(self.sum)]
            with m.Elif(multiplying & none):
                m.d.sync += operand.eq(~wide)
            with m.Else():
                m.d.sync += operand.eq(Cat(subtracting, operand))
            # Of the cycle after its last digit, before the root clears it.
            m.d.sync += closing.eq(averaging & averaged)
            with m.If(closing):
                m.d.sync += mean.eq(Mux(negative, -quotient, quotient))
            with m.If(subtracting):
                m.d.sync += [left.eq(digits), divisor.eq(Cat(C(0, 2), self.count))]
            with m.If(rooting):
                m.d.sync += divisor.eq(Cat(~rooted, C(0, 1), fits, divisor[2:]))
                first = spec.MEAN_FRACTION - spec.ROOT_FRACTION - spec.norm_fraction
                m.d.sync += [quotient.eq(0), shift.eq(first - length_width)]
            with m.If(averaging & averaged):
                m.d.sync += divisor.eq(1)
            # Four sources: factors, lowest bit first; dividends, highest bit first, or before that.
            placed = Mux(rooting, Cat(C(0, magnitude_width - length_width), self.count), self.count)
            adding = multiplying | subtracting
            number = Cat(Mux(adding, none, idle | rooting), ~adding)
            choices = [Cat(bits[1:], C(0, 1)), magnitude, Cat(C(0, 1), bits[:-1]), placed]
            m.d.sync += bits.eq(Cat(pick_bit(number, one) for one in zip(*choices, strict=True)))
        with m.If(idle & self.start):
            m.d.sync += [quotient.eq(0), shift.eq(-5)]
        with m.If(subtracting | averaging & averaged | rooting & rooted):
            m.d.sync += rest.eq(0)
        with m.If(idle):
            m.d.sync += rest.eq(1 << spec.exponential_width + 1)
        return m
