"""Statistics of a row in the vector unit: its mean, its root, and one reciprocal."""

from typing import Any, NamedTuple, Self

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec
from hw.arith.pick_bit import pick_word

__all__ = ["RowScale"]


class _States(NamedTuple):
    """A flip-flop for each state, in their order; softmaxes only divide."""

    idle: Signal
    multiplying: Signal
    subtracting: Signal
    averaging: Signal
    rooting: Signal
    dividing: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(**{name: Signal(name=name, init=name == "idle") for name in cls._fields})


class _Work(NamedTuple):
    """Registers of a :class:`RowScale`, and what follows from them.

    Members
    -------
    norm, counted, total : of the row, as it comes.
    square : length times the sum of squares, less the total's square; its root is found.
    bits : what is looked at bit by bit: a factor, or a dividend.
    rest : of a division, or of a root.
    factor : the multiplicand, or the divisor.
    quotient, shift, mean : results.
    left : digits that are left, of `digits`.
    negative, magnitude : of the total.
    none, averaged, rooted : no bit is left; the mean, or the root, is complete.
    summed : what the one adder makes.
    """

    norm: Signal
    counted: Signal
    square: Signal
    bits: Signal
    rest: Signal
    factor: Signal
    quotient: Signal
    left: Signal
    negative: Signal
    magnitude: Signal
    total: Signal
    shift: Signal
    mean: Signal
    none: Signal
    averaged: Signal
    rooted: Signal
    summed: Signal
    digits: int


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
        Which scale: of a norm, or else; and number of values, a cycle before ``start``.
    one : In(1)
        Where divisions are built: half of ``sum`` divides one, to ``shift`` digits and four.
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
    one: Signal
    total: Signal
    sum: Signal
    count: Signal
    busy: Signal
    factor: Signal
    shift: Signal
    mean: Signal

    def __init__(
        self,
        spec: VectorUnitSpec,
        sum_width: int,
        *,
        most: int = 0,
        fine: int = 1,
        negated: bool = False,
    ):
        self.spec, self.most, self.fine, self.negated = spec, most, fine, negated
        super().__init__({
            "start": In(1),
            "norm": In(1),
            **({"one": In(1)} if spec.builds(spec.SHARES) else {}),
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
        states = _States.make()
        idle, dividing, rooting = states.idle, states.dividing, states.rooting
        work = self._registers(m, idle)
        m.d.comb += [
            self.factor.eq(work.quotient[: len(self.factor)]),
            self.shift.eq(work.shift),
            self.mean.eq(work.mean),
            work.negative.eq(work.total[-1]),
            work.magnitude.eq(Mux(work.negative, -work.total, work.total)),
        ]
        digit = Mux(dividing, work.bits[len(work.counted) - 1], work.bits[-1])
        # The one subtractor: a digit of a quotient or of a root, whose lowest bits are 01.
        divisor_width = len(work.rest)
        shifted = Signal(divisor_width + 1)
        less = Signal(divisor_width + 2)
        fits, quotient_next = Signal(), Signal(len(work.quotient))
        root = Cat(work.square[-2:], work.rest)
        m.d.comb += [
            shifted.eq(Mux(rooting, root, Cat(C(0, 2), digit & work.norm, work.rest[2:]))),
            less.eq(shifted - work.factor[:divisor_width]),
            fits.eq(~less[-1]),
        ]
        places = self._places(m, work.norm, idle, rooting, dividing, fits)
        digits = places & fits.replicate(self.fine)
        m.d.comb += quotient_next.eq(Cat(C(0, 1), work.quotient) | digits)
        self._move(m, states, work, places, quotient_next)

        # Registers hold anything in states where they are not looked at, so they have few sources;
        # clears come last, on conditions of their own, so that flip-flops do them.
        m.d.sync += [work.rest.eq(Mux(fits, less, shifted)), work.left.eq(work.left - 1)]
        with m.If(idle):
            m.d.sync += work.total.eq(self.total)
            if not spec.builds(spec.NORMS):
                m.d.sync += work.factor.eq(Cat(C(0, 2), self.sum))
        with m.If(dividing):
            m.d.sync += work.shift.eq(work.shift + 1)
        with m.If(dividing | states.averaging):
            m.d.sync += work.quotient.eq(quotient_next)
        if spec.builds(spec.NORMS):
            self._find_root(m, states, work, fits)
            self._find_mean(m, states, work, fits)
            self._shift_bits(m, states, work)
        with m.If(idle & self.start):
            m.d.sync += [work.quotient.eq(0), work.shift.eq(-5)]
        with m.If(states.subtracting | states.averaging & work.averaged | rooting & work.rooted):
            m.d.sync += work.rest.eq(0)
        with m.If(idle):
            m.d.sync += work.rest.eq(1 << spec.exponential_width + 1)
            if spec.builds(spec.SHARES):
                m.d.sync += work.rest.eq(Mux(self.one, 4, 1 << spec.exponential_width + 1))
        return m

    @property
    def _root_digits(self) -> int:
        """Digits of a root."""
        return self.spec.root_width + self.spec.ROOT_FRACTION

    def _registers(self, m: Module, idle: Value) -> _Work:
        """Make the registers; what is known from the start on is taken while `idle`."""
        spec = self.spec
        norm = Signal(name="norm", reset_less=True)
        counted = Signal.like(self.count, name="counted", reset_less=True)
        with m.If(idle):
            m.d.sync += [norm.eq(self.norm), counted.eq(self.count)]
        # Of a norm: |total|, and length times the sum of squares.
        magnitude_width = len(self.total) - 1
        root_width = spec.root_width
        divisor_width = max(len(self.sum), root_width + spec.ROOT_FRACTION + 1) + 2
        # Of a multiplicand, above two zeros; the lower part is the divisor.
        norms = spec.builds(spec.NORMS)
        factor_width = max(divisor_width, 2 * root_width + 2 if norms else 0)
        digits = magnitude_width + spec.MEAN_FRACTION + self._root_digits
        return _Work(
            norm=norm,
            counted=counted,
            square=Signal(2 * root_width, name="work", reset_less=True),
            bits=Signal(magnitude_width, name="bits", reset_less=True),
            rest=Signal(divisor_width, name="rest", reset_less=True),
            factor=Signal(factor_width, name="held", reset_less=True),
            quotient=Signal(max(len(self.factor), len(self.mean)), name="quotient"),
            left=Signal(range(digits + 1), name="left", reset_less=True),
            negative=Signal(name="negative"),
            magnitude=Signal(magnitude_width, name="magnitude"),
            total=Signal.like(self.total, name="total", reset_less=True),
            shift=Signal.like(self.shift, name="shift"),
            mean=Signal.like(self.mean, name="mean"),
            none=Signal(name="none"),
            averaged=Signal(name="averaged"),
            rooted=Signal(name="rooted"),
            summed=Signal(2 * root_width, name="summed"),
            digits=digits,
        )

    def _move(
        self, m: Module, states: _States, work: _Work, places: Value, quotient: Value
    ) -> None:
        """Go from state to state: a flip-flop for each, so that what it selects is not decoded."""
        spec, norms = self.spec, self.spec.builds(self.spec.NORMS)
        idle, dividing, subtracting = states.idle, states.dividing, states.subtracting
        # The one adder: to subtract, the operand's bits are inverted already.
        operand = work.factor[2 : 2 + len(work.square)]
        m.d.comb += work.summed.eq(Cat(subtracting, work.square) + Cat(subtracting, operand) >> 1)
        ends, top = Signal(), spec.reciprocal_width - 1
        tops = Cat(weight & quotient[top + number] for number, weight in enumerate(places)).any()
        if self.fine > 1:
            full: Value = quotient[top + 1 - spec.signed]
        else:
            tops, full = quotient[top], quotient[top - spec.signed]
        m.d.comb += [
            work.none.eq(work.bits == 0),
            work.averaged.eq(work.left == self._root_digits + 1),
            work.rooted.eq(work.left == 1),
            ends.eq(Mux(work.norm, tops, full)),
            self.busy.eq(Mux(idle, self.start, 1)),
        ]

        def enter(state: Signal, after: Signal) -> list[Any]:
            """Go from one state to another."""
            return [after.eq(0), state.eq(1)]

        with m.If(idle & self.start):
            m.d.sync += enter(dividing, idle)
            if norms:
                with m.If(self.norm):
                    m.d.sync += [dividing.eq(0), states.multiplying.eq(1)]
        if norms:
            with m.If(states.multiplying & work.none):
                m.d.sync += enter(subtracting, states.multiplying)
            with m.If(subtracting & work.none):
                m.d.sync += enter(states.averaging, subtracting)
                with m.If(work.square == 0):
                    m.d.sync += enter(idle, states.averaging)
            with m.If(states.averaging & work.averaged):
                m.d.sync += enter(states.rooting, states.averaging)
            with m.If(states.rooting & work.rooted):
                m.d.sync += enter(dividing, states.rooting)
        with m.If(dividing & ends):
            m.d.sync += enter(idle, dividing)

    def _find_root(self, m: Module, states: _States, work: _Work, fits: Value) -> None:
        """Multiply the sum of squares by the length, subtract the total's square, find a root."""
        idle, rooting, factor_width = states.idle, states.rooting, len(work.factor)
        multiplying, subtracting = states.multiplying, states.subtracting
        with m.If(rooting | (multiplying | subtracting) & work.bits[0]):
            m.d.sync += work.square.eq(Mux(rooting, work.square << 2, work.summed))
        with m.If(idle):
            m.d.sync += work.square.eq(0)
        # Four sources: shifted up; sum; minus the total, less one; count.
        shifts = idle | multiplying | subtracting | rooting
        bit = Mux(rooting, fits, subtracting)
        moved = Cat(~work.rooted & rooting, C(0, 1), bit, work.factor[2:])
        number = Cat(idle | (subtracting & work.none), (multiplying | subtracting) & work.none)
        choices = [
            moved[:factor_width],
            *(
                Cat(C(0, 2), value, fill.replicate(factor_width))[:factor_width]
                for value, fill in (
                    (self.sum, C(0, 1)),
                    (~work.magnitude, C(1, 1)),
                    (work.counted, C(0, 1)),
                )
            ),
        ]
        with m.If(shifts):
            m.d.sync += work.factor.eq(pick_word(number, choices))

    def _find_mean(self, m: Module, states: _States, work: _Work, fits: Value) -> None:
        """Divide the total by the length, digit by digit."""
        idle, averaging = states.idle, states.averaging
        with m.If(averaging):
            # Twice what it is before the digit, less the digit; or that of the magnitude.
            turns, less_one = work.negative ^ int(self.negated), Cat(fits, ~work.quotient)
            negated = Mux(fits, less_one, Cat(C(0, 1), work.mean))
            m.d.sync += work.mean.eq(Mux(turns, negated, Cat(fits, work.quotient)))
        with m.If(idle & self.start):
            m.d.sync += work.mean.eq(0)
        with m.If(states.subtracting):
            m.d.sync += work.left.eq(work.digits)
        with m.If(states.rooting):
            m.d.sync += [work.quotient.eq(0), work.shift.eq(self._first)]
        with m.If(averaging & work.averaged):
            m.d.sync += work.factor.eq(1)

    def _shift_bits(self, m: Module, states: _States, work: _Work) -> None:
        """Shift what is looked at bit by bit.

        Four sources: factors, lowest bit first; dividends, highest bit first, or before that.
        """
        adding = states.multiplying | states.subtracting
        number = Cat(Mux(adding, work.none, states.idle | states.rooting), ~adding)
        bits = work.bits
        count = Cat(work.counted, C(0, len(bits) - len(work.counted)))
        choices = [Cat(bits[1:], C(0, 1)), work.magnitude, Cat(C(0, 1), bits[:-1]), count]
        m.d.sync += bits.eq(pick_word(number, choices))

    @property
    def _first(self) -> int:
        """Return the shift of a norm before any digit."""
        spec = self.spec
        return spec.MEAN_FRACTION - spec.ROOT_FRACTION - spec.norm_fraction - len(self.count)

    def _places(
        self, m: Module, norm: Value, idle: Value, rooting: Value, dividing: Value, fits: Value
    ) -> Value:
        """Return where the next digit of a quotient enters, one bit of all.

        Zeros before the leading one of a norm move the place down; below the last comes the top.
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
