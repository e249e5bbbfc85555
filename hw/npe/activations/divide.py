"""Division of a constant, digit-serial."""

from collections.abc import Sequence

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder import resolve

__all__ = ["Divide", "take_digits"]


def take_digits(
    m: Module, rest: Value, bits: Sequence[Value], divisor: Value, adder: str, lane: str = ""
) -> tuple[Value, Value]:
    """Find the next bits of a quotient: restoring division.

    Parameters
    ----------
    m : where the gates go.
    rest : what is left, less than the divisor.
    bits : of the dividend, highest first, one for each of the quotient.
    divisor : as wide as `rest`.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    lane : what distinguishes the names of signals.

    Returns
    -------
    Bits of the quotient, lowest first; and what is left.
    """
    digits: list[Value] = []
    for number, bit in enumerate(bits):
        shifted = Cat(bit, rest)
        columns: list[list[Value]] = [[C(1, 1), C(1, 1)]]
        columns += [
            [one, ~taken] for one, taken in zip(shifted, Cat(divisor, C(0, 1)), strict=True)
        ]
        less = resolve(m, [*columns, [C(0, 1)]], adder)[1:]
        fits = Signal(name=f"fits{lane}{number}")
        after = Signal(len(divisor), name=f"rest{lane}{number}")
        m.d.comb += [fits.eq(less[-1]), after.eq(Mux(less[-1], less, shifted))]
        digits.insert(0, fits)
        rest = after
    return Cat(digits), rest


class Divide(wiring.Component):
    """Divides a constant by a number: restoring division, `bits` bits of the quotient per cycle.

    Latency: :attr:`cycles`, from the cycle after ``start``; quotient bits come in each of them,
    highest first. The divisor must be stable until then.

    Parameters
    ----------
    dividend : int
        2^w - 1, w 1 or more.
    width : int
        Bits of the divisor.
    least : int
        Smallest divisor: quotient bits that it makes always zero take no cycles.
    bits : int
        Bits of the quotient per cycle.
    adder : str
        Carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    start : In(1)
        Start, or restart.
    divisor : In(width)
        `least` or more.
    busy : Out(1)
        ``digits`` belong to the quotient.
    last : Out(1)
        They are its lowest.
    digits : Out(bits)
        Bits of the quotient.
    """

    start: Signal
    divisor: Signal
    busy: Signal
    last: Signal
    digits: Signal

    def __init__(self, dividend: int, width: int, least: int, bits: int, adder: str):
        if dividend < 1 or dividend & (dividend + 1):
            raise ValueError(f"dividend must be 2^w - 1, not {dividend!r}")
        if not 1 <= least <= dividend:
            raise ValueError(f"least must be 1..{dividend}, not {least!r}")
        self.cycles = -(-(dividend // least).bit_length() // bits)
        # The part above the first digit is less than any divisor. There may be more digits than the
        # dividend has bits.
        self.first = dividend >> self.cycles * bits
        self.zeros = max(self.cycles * bits - dividend.bit_length(), 0)
        self.adder = adder
        super().__init__({
            "start": In(1),
            "divisor": In(width),
            "busy": Out(1),
            "last": Out(1),
            "digits": Out(bits),
        })

    def elaborate(self, platform):
        m = Module()
        rest = Signal(len(self.divisor), reset_less=True)
        left = Signal(range(self.cycles + 1))
        # The next bit of the dividend is a one, after leading zeros.
        bits = [
            left != self.cycles if number < self.zeros else C(1, 1)
            for number in range(len(self.digits))
        ]
        digits, after = take_digits(m, rest, bits, self.divisor, self.adder)
        m.d.comb += [
            self.busy.eq(left != 0),
            self.last.eq(left == 1),
            self.digits.eq(digits),
        ]
        with m.If(self.start):
            m.d.sync += [rest.eq(self.first), left.eq(self.cycles)]
        with m.Elif(self.busy):
            m.d.sync += [rest.eq(after), left.eq(left - 1)]
        return m
