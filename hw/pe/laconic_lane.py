"""Laconic's lane: multiplies two operands as signed powers of two, one pair per cycle."""

from amaranth import C, Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.formats.integer import IntFormat
from golden.operands import OperandsSpec
from hw.arith.recode import naf_digits

__all__ = ["Lane", "TermPair"]


class TermPair(data.StructLayout):
    """A product of two terms, +-2^(2 place + twos), or none.

    ``place`` is the sum of the radix-4 places of the two digits, all ones if there is no pair.
    ``twos`` encodes how many of the digits are +-2: bit 0 is set for none, bit 1 for at most one.
    """

    def __init__(self, spec: OperandsSpec):
        self.places = _places(spec.a_format) + _places(spec.b_format) - 1
        self.top = _highest(spec.a_format) + _highest(spec.b_format)
        super().__init__({"place": self.places.bit_length(), "twos": 2, "negative": 1})


class Lane(wiring.Component):
    """Issues the products of the terms of two operands, one per cycle.

    For each digit of b, all digits of a; zeros are skipped.

    Parameters
    ----------
    spec : OperandsSpec
        What: widths and signs of the operands.

    Members
    -------
    en : In(1)
        Clock enable.
    load : In(1)
        Takes the next operands; set only with `en` and `done`.
    use : In(1)
        They are valid; else zeros are loaded.
    a, b : In
        Operands.
    done : Out(1)
        The last pair leaves in this cycle, or has left.
    o : Out(TermPair)
        A pair, registered: the first two cycles after `load`.
    """

    en: Signal
    load: Signal
    use: Signal
    a: Signal
    b: Signal
    done: Signal
    o: data.View

    def __init__(self, spec: OperandsSpec):
        self.spec = spec
        super().__init__({
            "en": In(1),
            "load": In(1),
            "use": In(1),
            "a": In(spec.a_width),
            "b": In(spec.b_width),
            "done": Out(1),
            "o": Out(TermPair(spec)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.a = a = Digits(self.spec.a_format)
        m.submodules.b = b = Digits(self.spec.b_format)
        m.d.comb += [a.load.eq(self.load), a.code.eq(self.a)]
        m.d.comb += [b.load.eq(self.load), b.code.eq(self.b)]

        # Remaining digits of a for this digit of b, and remaining digits of b.
        fresh = Signal(_places(self.spec.a_format) - 1, reset_less=True)
        left = Signal(_places(self.spec.b_format), reset_less=True)
        again = Signal()
        m.d.comb += [
            a.open.eq(a.nonzero & Cat(fresh, C(1, 1))),
            b.open.eq(left),
            again.eq(~(a.more & left.any())),
            self.done.eq(again & ~b.more),
        ]
        with m.If(self.en):
            m.d.sync += fresh.eq(a.behind | again.replicate(len(fresh)))
            with m.If(self.load):
                usable = self.use & a.new.any()
                m.d.sync += left.eq(b.new & usable.replicate(len(left)))
            with m.Elif(again):
                m.d.sync += left.eq(left & b.behind)

        layout = TermPair(self.spec)
        pair = data.View(layout, Signal(layout.size, name="pair", reset_less=True))
        with m.If(self.en):
            m.d.sync += [
                pair.place.eq((a.place + b.place) | (~left.any()).replicate(len(pair.place))),
                pair.twos.eq(Cat(~(a.two | b.two), ~(a.two & b.two))),
                pair.negative.eq(a.negative ^ b.negative),
            ]
        m.d.comb += self.o.eq(pair)
        return m


class Digits(wiring.Component):
    """Holds the radix-4 digits of one operand, and selects the first open one.

    Parameters
    ----------
    fmt : IntFormat
        What: width and sign.

    Members
    -------
    load : In(1)
        Takes the next operand.
    code : In
        Operand.
    new : Out
        Its nonzero digits, one bit each.
    nonzero : Out
        The same for the operand held.
    open : In
        Digits to choose from.
    behind : Out
        Digits above the first open one.
    more : Out(1)
        Two or more are open.
    place, two, negative : Out
        Place of the first open digit; whether it is +-2, not +-1; its sign.
    """

    load: Signal
    code: Signal
    new: Signal
    nonzero: Signal
    open: Signal
    behind: Signal
    more: Signal
    place: Signal
    two: Signal
    negative: Signal

    def __init__(self, fmt: IntFormat):
        self.fmt = fmt
        places = _places(fmt)
        super().__init__({
            "load": In(1),
            "code": In(fmt.width),
            "new": Out(places),
            "nonzero": Out(places),
            "open": In(places),
            "behind": Out(places),
            "more": Out(1),
            "place": Out((places - 1).bit_length()),
            "two": Out(1),
            "negative": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        digits = naf_digits(m, self.code, self.fmt)
        nonzero = Signal(len(digits), reset_less=True)
        two = Signal(len(digits), reset_less=True)
        negative = Signal(len(digits), reset_less=True)
        m.d.comb += self.new.eq(Cat(one | double for one, double, _ in digits))
        with m.If(self.load):
            m.d.sync += [
                nonzero.eq(self.new),
                two.eq(Cat(double for _, double, _ in digits)),
                negative.eq(Cat(C(0, 1) if sign is None else sign for _, _, sign in digits)),
            ]

        first = self.open & ~self.behind
        m.d.comb += [
            self.nonzero.eq(nonzero),
            self.behind.eq(Cat(self.open[:position].any() for position in range(len(digits)))),
            self.more.eq((self.open & self.behind).any()),
            self.two.eq((first & two).any()),
            self.negative.eq((first & negative).any()),
        ]
        for bit in range(len(self.place)):
            places = [first[position] for position in range(len(digits)) if position >> bit & 1]
            m.d.comb += self.place[bit].eq(Cat(places).any())
        return m


def _places(fmt: IntFormat) -> int:
    """Radix-4 digits of a code."""
    return (fmt.width + 1) // 2 if fmt.signed else fmt.width // 2 + 1


def _highest(fmt: IntFormat) -> int:
    """Exponent of a code's highest possible term."""
    return fmt.width - 1 if fmt.signed else fmt.width
