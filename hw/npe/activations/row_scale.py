"""What the vector unit finds out about a row: its mean, its root, and one reciprocal."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec
from hw.arith.pick_bit import pick_bit

__all__ = ["RowScale"]


class RowScale(wiring.Component):
    """Computes the factor and the shift of a row from sums of its values, bit by bit.

    One subtractor makes the quotients and the root, two bits of the radicand or one of the dividend
    per cycle; one adder makes products. The register of the divisor holds multiplicands before
    that, and grows the root, two bits above the next radicand's. A quotient is normalised: it ends
    when its leading one has reached the top; its digits enter where it then has the places of
    :attr:`places`. The mean grows beside its magnitude, digit by digit, with its sign.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: widths.
    sum_width : int
        Bits of ``sum``.
    most : int
        Greatest shift of a norm; used if `fine` is more than 1.
    fine : int
        Shifts of a norm that are made in the factor. If more than 1, the factor of a norm is a
        reciprocal times 2^((most - shift) mod fine), that of a softmax one times 2.
    negated : bool
        ``mean`` is minus the mean.

    Members
    -------
    start : In(1)
        Start.
    norm, count : In
        Which scale: of a norm, else of a softmax; and number of values, a cycle before ``start``.
    total, sum : In
        Sum of values, two's complement, of a norm about the mean, else 0; of squares, or of
        exponentials.
    busy : Out(1)
        The outputs are not there yet.
    factor, shift, mean : Out
        Reciprocal, shifted up; the exponent of a softmax or the shift of a norm; the mean, or minus
        the mean, two's complement, with `spec.MEAN_FRACTION` bits after the binary point.
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

    def __init__(
        self, spec: VectorUnitSpec, sum_width: int, *, most: int = 0, fine: int = 1,
        negated: bool = False,
    ):  # fmt: skip
        self.spec, self.most, self.fine, self.negated = spec, most, fine, negated
        super().__init__({
            "start": In(1),
            "norm": In(1),
            "total": In(spec.width + spec.length.bit_length()),
            "sum": In(sum_width),
            "count": In(spec.length.bit_length()),
            "busy": Out(1),
            "factor": Out(spec.reciprocal_width + fine - 1),
            "shift": Out(6),
            "mean": Out(spec.width + spec.MEAN_FRACTION + negated),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        norms = spec.builds(spec.NORMS)
        idle = Signal(init=1)
        # Known from the start on.
        norm = Signal(reset_less=True)
        counted = Signal.like(self.count, reset_less=True)
        with m.If(idle):
            m.d.sync += [norm.eq(self.norm), counted.eq(self.count)]
        length_width = len(counted)
        # Of a norm: |total|, and length times the sum of squares.
        magnitude_width = len(self.total) - 1
        root_width = spec.root_width
        divisor_width = max(len(self.sum), root_width + spec.ROOT_FRACTION + 1) + 2
        quotient_width = max(len(self.factor), len(self.mean))

        work = Signal(2 * root_width, reset_less=True)
        bits = Signal(magnitude_width, reset_less=True)
        rest = Signal(divisor_width, reset_less=True)
        # Of a multiplicand, above two zeros; the lower part is the divisor.
        held_width = max(divisor_width, 2 * root_width + 2 if norms else 0)
        held = Signal(held_width, reset_less=True)
        divisor, operand = held[:divisor_width], held[2 : 2 + 2 * root_width]
        quotient = Signal(quotient_width)
        root_digits = root_width + spec.ROOT_FRACTION
        digits = magnitude_width + spec.MEAN_FRACTION + root_digits
        left = Signal(range(digits + 1), reset_less=True)
        negative = Signal()
        magnitude = Signal(magnitude_width)
        total = Signal.like(self.total, reset_less=True)
        shift, mean = (Signal.like(out) for out in (self.shift, self.mean))
        m.d.comb += [
            self.factor.eq(quotient[: len(self.factor)]), self.shift.eq(shift), self.mean.eq(mean),
            negative.eq(total[-1]),
            magnitude.eq(Mux(negative, -total, total)),
        ]  # fmt: skip
        multiplying, subtracting, averaging, rooting, dividing = (
            Signal(name=name)
            for name in ("multiplying", "subtracting", "averaging", "rooting", "dividing")
        )

        # Of the total, or of the count.
        digit = Mux(dividing, bits[length_width - 1], bits[-1])
        # The one subtractor: a digit of a quotient or of a root, whose lowest bits are 01.
        shifted = Signal(divisor_width + 1)
        less = Signal(divisor_width + 2)
        fits, found = Signal(), Signal(quotient_width)
        m.d.comb += [
            shifted.eq(Mux(rooting, Cat(work[-2:], rest), Cat(C(0, 2), digit & norm, rest[2:]))),
            less.eq(shifted - divisor),
            fits.eq(~less[-1]),
        ]  # fmt: skip
        places = self._places(m, norm, idle, rooting, dividing, fits)
        m.d.comb += found.eq(Cat(C(0, 1), quotient) | (places & fits.replicate(self.fine)))
        # The one adder: to subtract, the operand's bits are inverted already.
        summed = Signal(2 * root_width)
        m.d.comb += summed.eq(Cat(subtracting, work) + Cat(subtracting, operand) >> 1)

        none, averaged, rooted, ends = Signal(), Signal(), Signal(), Signal()
        top = spec.reciprocal_width - 1
        tops = Cat(place & found[top + number] for number, place in enumerate(places)).any()
        if self.fine > 1:
            full: Value = found[top + 1 - spec.signed]
        else:
            tops, full = found[top], found[top - spec.signed]
        m.d.comb += [
            none.eq(bits == 0), averaged.eq(left == root_digits + 1), rooted.eq(left == 1),
            ends.eq(Mux(norm, tops, full)),
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
            m.d.sync += total.eq(self.total)
            if not norms:
                m.d.sync += held.eq(Cat(C(0, 2), self.sum))
        with m.If(dividing):
            m.d.sync += shift.eq(shift + 1)
        with m.If(dividing | averaging):
            m.d.sync += quotient.eq(found)
        if norms:
            with m.If(rooting | (multiplying | subtracting) & bits[0]):
                m.d.sync += work.eq(Mux(rooting, work << 2, summed))
            with m.If(idle):
                m.d.sync += work.eq(0)
            # Four sources: shifted up; sum; minus the total, less one; count.
            shifts = idle | multiplying | subtracting | rooting
            moved = Cat(~rooted & rooting, C(0, 1), Mux(rooting, fits, subtracting), held[2:])
            number = Cat(idle | (subtracting & none), (multiplying | subtracting) & none)
            choices = [
                moved[:held_width],
                *(Cat(C(0, 2), one, fill.replicate(held_width))[:held_width] for one, fill in (
                    (self.sum, C(0, 1)), (~magnitude, C(1, 1)), (counted, C(0, 1)),
                )),
            ]  # fmt: skip
            with m.If(shifts):
                m.d.sync += held.eq(_picked(number, choices))
            with m.If(averaging):
                # Twice what it is before the digit, less the digit; or that of the magnitude.
                turns, less_one = negative ^ int(self.negated), Cat(fits, ~quotient)
                grown = Mux(turns, Mux(fits, less_one, Cat(C(0, 1), mean)), Cat(fits, quotient))
                m.d.sync += mean.eq(grown)
            with m.If(idle & self.start):
                m.d.sync += mean.eq(0)
            with m.If(subtracting):
                m.d.sync += left.eq(digits)
            with m.If(rooting):
                m.d.sync += [quotient.eq(0), shift.eq(self._first)]
            with m.If(averaging & averaged):
                m.d.sync += held.eq(1)
            # Four sources: factors, lowest bit first; dividends, highest bit first, or before that.
            adding = multiplying | subtracting
            number = Cat(Mux(adding, none, idle | rooting), ~adding)
            count = Cat(counted, C(0, magnitude_width - length_width))
            choices = [Cat(bits[1:], C(0, 1)), magnitude, Cat(C(0, 1), bits[:-1]), count]
            m.d.sync += bits.eq(_picked(number, choices))
        with m.If(idle & self.start):
            m.d.sync += [quotient.eq(0), shift.eq(-5)]
        with m.If(subtracting | averaging & averaged | rooting & rooted):
            m.d.sync += rest.eq(0)
        with m.If(idle):
            m.d.sync += rest.eq(1 << spec.exponential_width + 1)
        return m

    @property
    def _first(self) -> int:
        """Return the shift of a norm before any digit."""
        spec = self.spec
        return spec.MEAN_FRACTION - spec.ROOT_FRACTION - spec.norm_fraction - len(self.count)

    def _places(
        self, m: Module, norm: Value, idle: Value, rooting: Value, dividing: Value, fits: Value
    ) -> Value:
        """Return where the next digit of a quotient enters, one bit of all.

        Zeros before the leading one of a norm move the place down, round and round.
        """
        if self.fine == 1:
            return C(1, 1)
        places, led = Signal(self.fine, reset_less=True), Signal(reset_less=True)
        begin = (self.most - self._first - self.spec.reciprocal_width) % self.fine
        with m.If(dividing):
            m.d.sync += led.eq(led | fits)
        with m.If(dividing & norm & ~led & ~fits):
            m.d.sync += places.eq(places.rotate_right(1))
        with m.If(idle):
            m.d.sync += [places.eq(Mux(self.norm, 1, 2)), led.eq(0)]
        with m.If(rooting):
            m.d.sync += [places.eq(1 << begin), led.eq(0)]
        return places


def _picked(number: Value, choices: list[Value]) -> Value:
    """Choose one of some values of one width."""
    return Cat(pick_bit(number, bits) for bits in zip(*choices, strict=True))
