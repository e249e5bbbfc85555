"""The factors of a gate: a multiplier divided by one and an exponential, in each lane."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.divide import take_digits

__all__ = ["GateDigits", "slope"]


def slope(spec: VectorUnitSpec, operation: Value) -> Value:
    """Return what a gate's values are multiplied by, in units of 2^-6."""
    chosen: Value = C(0, 8)
    for name in spec.built:
        if name in spec.GATES:
            here = operation == spec.OPERATIONS.index(name)
            chosen = chosen | (C(spec.GATES[name], 8) & here.replicate(8))
    return chosen


class GateDigits:
    """Counts the digits of quotients, which all lanes compute in step.

    Parameters
    ----------
    m : where the gates go.
    spec : widths, quotient bits per cycle.
    multiplier : the dividend.
    load, move : a divisor comes; clock enable.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    """

    def __init__(
        self,
        m: Module,
        spec: VectorUnitSpec,
        multiplier: Value,
        load: Value,
        move: Value,
        adder: str,
    ):
        self.spec, self.load, self.adder = spec, load, adder
        cycles = spec.digit_cycles
        # Less than any divisor to begin with.
        below = cycles * spec.quotient_bits - spec.gate_width
        self.first = multiplier[below:]
        left = Signal(range(cycles + 1), name="digits_left")
        feed = Signal(below, name="digits_feed", reset_less=True)
        self.bits = list(reversed(Cat(C(0, spec.quotient_bits), feed)[-spec.quotient_bits :]))
        self.takes = Signal(name="digits_take")
        m.d.comb += self.takes.eq(move & (left != 0))
        with m.If(self.takes):
            m.d.sync += [left.eq(left - 1), feed.eq(feed << spec.quotient_bits)]
        with m.If(load):
            m.d.sync += [left.eq(cycles), feed.eq(multiplier)]

    def factor(
        self, m: Module, lane: int, exponential: Value, multiplier: Value, negative: Value
    ) -> Value:
        """Return minus a quotient, or the multiplier less it below zero; two's complement.

        Parameters
        ----------
        m, lane : where the gates go, and of which lane they are.
        exponential : its highest bits, the highest of which is that of one.
        multiplier : the dividend.
        negative : the value's negation is less than zero.
        """
        width = self.spec.gate_width + 2
        divisor, rest = (
            Signal(width, name=f"{name}{lane}", reset_less=True) for name in ("divisor", "rest")
        )
        quotient = Signal(self.spec.reciprocal_width, name=f"quotient{lane}", reset_less=True)
        digits, after = take_digits(m, rest, self.bits, divisor, self.adder, f"{lane}_")
        with m.If(self.takes):
            m.d.sync += [rest.eq(after), quotient.eq(Cat(digits, quotient))]
        with m.If(self.load):
            one, low = exponential[-1], exponential[:-1]
            m.d.sync += [divisor.eq(Cat(low, ~one, one)), rest.eq(self.first)]
        # Minus the quotient, or the quotient minus the multiplier.
        width = len(quotient) + 1
        one_of = Cat(quotient, C(0, 1)) ^ negative.replicate(width)
        other = Mux(negative, 0, Cat(~multiplier, C(1, 1)))
        total = Signal(width, name=f"gated{lane}")
        m.d.comb += total.eq(Cat(C(1, 1), one_of) + Cat(C(1, 1), other) >> 1)
        return total
