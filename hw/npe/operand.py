"""Coded operands: what a lane is told of a word, as few bits as its formats need."""

from collections.abc import Iterable

from amaranth import C, Cat, Value
from amaranth.lib import data

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat
from golden.npe.lane import LaneSpec

__all__ = ["NIBBLE", "CodedOperand", "LanePlan", "magnitudes"]

NIBBLE = 4
"""Bits of a side of a multiplier's block."""


def magnitudes(fmt: ElementFormat) -> dict[int, int]:
    """Greatest magnitude that goes with each exponent; a value is magnitude * 2^(exponent + lsb).

    Magnitudes are integers with as few exponents as their number of bits allows: in 4 bits for
    formats of 4, else in as many as the longest significand has.
    """
    match fmt:
        case IntFormat():
            return {0: -fmt.low}
        case MinifloatFormat() if fmt.width == NIBBLE:
            return {0: fmt.bounds[1]}
        case MinifloatFormat():
            return {e - fmt.lsb: (2 << fmt.mantissa_bits) - 1 for e in fmt.exponents}
        case PositFormat(exponent_bits=0):
            # A regime of ones is shorter by a place than the fraction that it leaves room for.
            longest = (1 << (fmt.width - 2)) - 1
            steps = enumerate(fmt.exponents)
            return {e - fmt.lsb: max(longest >> max(at - 1, 0), 1) for at, e in steps}
        case PositFormat(width=4, exponent_bits=1):
            return {0: 8, 4: 4, 8: 1}
    raise NotImplementedError(fmt.name)


class LanePlan:
    """What magnitudes and exponents meet in a lane, of all pairs of its formats.

    Parameters
    ----------
    spec : formats.
    """

    def __init__(self, spec: LaneSpec):
        self.spec = spec
        formats = spec.elements
        short = [fmt for index, fmt in enumerate(formats) if spec.container(index) == NIBBLE]
        self.single = len(short) < len(formats)
        """Some pair has one code a word."""
        self.dual = bool(short)
        """Some pair has two codes a word."""
        self.formats = formats
        self.short = tuple(short)

    @property
    def mixed(self) -> bool:
        """Both kinds of pairs are there."""
        return self.single and self.dual

    @property
    def told(self) -> bool:
        """A lane must be told which kind: upper nibbles are used by both."""
        return self.mixed and self.magnitude_width > NIBBLE

    @property
    def magnitude_width(self) -> int:
        """Bits of the longest magnitude of one code."""
        return max(_greatest(fmt) for fmt in self.formats).bit_length()

    @property
    def high_width(self) -> int:
        """Bits of the upper nibble: of a long magnitude, or of the second code's."""
        wide = max(self.magnitude_width - NIBBLE, 0)
        return max(wide, self.second_width) if self.dual else wide

    @property
    def low_width(self) -> int:
        """Bits of the lower nibble."""
        return min(self.magnitude_width, NIBBLE)

    @property
    def second_width(self) -> int:
        """Bits of a magnitude of a format of 4 bits."""
        return max((_greatest(fmt) for fmt in self.short), default=0).bit_length()

    def places(self, second: bool) -> tuple[int, ...]:
        """Weights of the bits of an exponent, of a first or a second code."""
        formats = self.short if second else self.formats
        found = {e for fmt in formats for e in magnitudes(fmt)}
        return tuple(at for at in range(8) if any(e >> at & 1 for e in found))

    def widths(self, second: bool) -> list[int]:
        """Bits of a product, and of what the shifter has made of it after each of its levels."""
        formats = self.short if second else self.formats
        rows = [(e, most) for fmt in formats for e, most in magnitudes(fmt).items()]
        met = {(x + y, (p * q).bit_length()) for x, p in rows for y, q in rows}
        levels = max((e for e, _ in met), default=0).bit_length()
        return [
            max(((e & (1 << level) - 1) + length for e, length in met), default=0)
            for level in range(levels + 1)
        ]


class CodedOperand(data.StructLayout):
    """A word after decoding, with the two nibbles of its magnitude.

    A word of one code has its magnitude in both nibbles, its sign and exponent in the first ones;
    a word of two has a nibble, a sign and an exponent for each. What no format needs has no bits.

    Parameters
    ----------
    plan : formats.
    tells : whether it tells the lane how many codes a word has; one of two operands does.

    Members
    -------
    low, high : nibbles, unsigned.
    negative : signs, the first code's lowest.
    exponent, exponent1 : of the first and second code; bits of the weights that occur.
    dual : the word has two codes.
    """

    def __init__(self, plan: LanePlan, *, tells: bool):
        self.plan = plan
        super().__init__({
            "low": plan.low_width,
            "high": plan.high_width,
            "negative": 1 + plan.dual,
            "exponent": len(plan.places(False)),
            "exponent1": len(plan.places(True)),
            "dual": int(tells and plan.told),
        })

    def exponent_of(self, operand: data.View, second: bool) -> list[Value]:
        """Bits of an exponent, one for each weight."""
        places = self.plan.places(second)
        held = operand.exponent1 if second else operand.exponent
        bits = dict(zip(places, held, strict=True))
        return [bits.get(at, C(0, 1)) for at in range(max(places, default=-1) + 1)]

    def pack(
        self,
        nibbles: tuple[Value, Value],
        negative: Iterable[Value],
        exponents: tuple[list[Value], list[Value]],
        dual: Value,
    ) -> Value:
        """Bit pattern of an operand; cuts off the bits for which there is no room."""
        plan = self.plan
        signs = list(negative)[: 1 + plan.dual]
        held = [
            Cat(bits[at] for at in plan.places(second))
            for second, bits in zip((False, True), exponents, strict=True)
        ]
        low, high = nibbles
        room = self["dual"].width
        return Cat(low[: plan.low_width], high[: plan.high_width], *signs, *held, dual[:room])


def _greatest(fmt: ElementFormat) -> int:
    """Return the greatest magnitude."""
    return max(magnitudes(fmt).values())
