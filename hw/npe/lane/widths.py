"""Widths in a lane, from its formats: magnitudes, exponents, products."""

from itertools import product

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat
from golden.npe.lane import LaneSpec

__all__ = ["BYTE", "NIBBLE", "LaneWidths", "magnitudes"]

NIBBLE = 4
"""Operand bits of a multiplier block."""

BYTE = 8
"""Bits of a word, or of half a word of 16 bits."""


def magnitudes(fmt: ElementFormat) -> dict[int, int]:
    """Largest magnitude for each exponent; a value is magnitude * 2^(exponent + lsb).

    Magnitudes are integers, with as few exponents as their width allows: 4 bits for 4-bit formats,
    else the width of the longest significand.
    """
    match fmt:
        case IntFormat():
            return {0: -fmt.low}
        case MinifloatFormat() if fmt.width == NIBBLE:
            return {0: fmt.bounds[1]}
        case MinifloatFormat():
            return {e - fmt.lsb: (2 << fmt.mantissa_bits) - 1 for e in fmt.exponents}
        case PositFormat(exponent_bits=0):
            # A regime of ones leaves room for a fraction one place longer than itself.
            longest = (1 << (fmt.width - 2)) - 1
            steps = enumerate(fmt.exponents)
            return {e - fmt.lsb: max(longest >> max(at - 1, 0), 1) for at, e in steps}
        case PositFormat(width=4, exponent_bits=1):
            return {0: 8, 4: 4, 8: 1}
        case PositFormat(width=16, exponent_bits=1):
            magnitudes: dict[int, int] = {}
            for scale in range(-fmt.max_exponent, fmt.max_exponent + 1):
                run = scale // 2 + 2 if scale >= 0 else -(scale // 2) + 1
                length = max(fmt.width - 2 - run, 0)
                if scale - length in fmt.exponents:
                    e = scale - length - fmt.lsb
                    magnitudes[e] = max(magnitudes.get(e, 0), (2 << length) - 1)
            return magnitudes
    raise NotImplementedError(fmt.name)


class LaneWidths:
    """Magnitudes and exponents in a lane, over all pairs of its formats.

    A lane of 16-bit words has two halves, each as a lane of 8 bits. A 16-bit code has its magnitude
    in both of them, and its product is the first half's.

    Parameters
    ----------
    spec : formats.
    half : which half of a 16-bit word.
    """

    def __init__(self, spec: LaneSpec, half: int = 0):
        self.spec = spec
        self.half = half
        formats = spec.elements
        sizes = {fmt: spec.container(index) for index, fmt in enumerate(formats)}
        self.formats = formats
        self.short = tuple(fmt for fmt in formats if sizes[fmt] == NIBBLE)
        self.wide = tuple(fmt for fmt in formats if sizes[fmt] > BYTE)
        self.narrow = tuple(fmt for fmt in formats if sizes[fmt] <= BYTE)
        self.single = len(self.short) < len(formats)
        """Some pair of formats has one code per word, or half word."""
        self.dual = bool(self.short)
        """Some pair of formats has two codes per word, or half word."""
        self.crossed = any(spec.cycles(*pair) > 1 for pair in spec.pairs)
        """Halves of equal weight and of different weight are multiplied in alternate cycles."""
        self.doubled = any(spec.doubled(*pair) for pair in spec.pairs)
        """Some pair of formats has two codes per word though those of A have two nibbles."""

    @property
    def signs(self) -> int:
        """Maximum number of codes with a sign of their own."""
        return bool(self._shifted_formats(False)) + self.dual

    @property
    def mixed(self) -> bool:
        """Both kinds of pairs exist."""
        return self.single and self.dual

    @property
    def needs_kind(self) -> bool:
        """A lane needs to know which kind: both use the upper nibbles."""
        return self.mixed and self.magnitude_width > NIBBLE

    @property
    def magnitude_width(self) -> int:
        """Bits of the longest magnitude of a single code, in this half."""
        return max(self._part(fmt) for fmt in self.formats)

    @property
    def high_width(self) -> int:
        """Bits of the upper nibble: of a long magnitude, or of the second code."""
        wide = max(self.magnitude_width - NIBBLE, 0)
        return max(wide, self.second_width) if self.dual else wide

    @property
    def low_width(self) -> int:
        """Bits of the lower nibble."""
        return min(self.magnitude_width, NIBBLE)

    @property
    def second_width(self) -> int:
        """Bits of a magnitude of a 4-bit format."""
        return max((_greatest(fmt) for fmt in self.short), default=0).bit_length()

    @property
    def product_width(self) -> int:
        """Bits of the product of this half, of first codes."""
        parts = [2 * self._part(fmt) for fmt in self.wide if self.half]
        return max([self.widths(False)[0], *parts])

    def places(self, second: bool, crossed: bool = False) -> tuple[int, ...]:
        """Weights of the bits of an exponent, for the first or second code.

        If `crossed`, the exponent is greater by 8 for halves of different weight.
        """
        exponents = {e for fmt in self._shifted_formats(second) for e in magnitudes(fmt)}
        if crossed and not second and not self.half:
            exponents |= {e + BYTE for e in exponents}
        return tuple(at for at in range(8) if any(e >> at & 1 for e in exponents))

    def widths(self, second: bool) -> list[int]:
        """Bits of a product, and after each level of the shifter."""
        formats = self._shifted_formats(second)
        rows = [(fmt, e, most) for fmt in formats for e, most in magnitudes(fmt).items()]
        met = set()
        for (one, x, p), (other, y, q) in product(rows, rows):
            met.add((x + y, (p * q).bit_length()))
            if self.crossed and (one in self.wide or other in self.wide) and p * q >> BYTE:
                met.add((x + y + BYTE, (p * q >> BYTE).bit_length()))
        if second:
            met |= {
                (0, (_greatest(self.formats[a]) * _greatest(self.formats[b])).bit_length())
                for a, b in self.spec.pairs
                if self.spec.doubled(a, b)
            }
        levels = max((e for e, _ in met), default=0).bit_length()
        return [
            max(((e & (1 << level) - 1) + length for e, length in met), default=0)
            for level in range(levels + 1)
        ]

    def _shifted_formats(self, second: bool) -> tuple[ElementFormat, ...]:
        """Return the formats whose products are shifted and summed here."""
        if second:
            return self.short
        return self.narrow if self.half else self.formats

    def _part(self, fmt: ElementFormat) -> int:
        """Bits of the part of a magnitude in this half."""
        length = _greatest(fmt).bit_length()
        if fmt not in self.wide:
            return length
        # In alternate cycles, each half takes either part.
        return length - BYTE if self.half and not self.crossed else min(length, BYTE)


def _greatest(fmt: ElementFormat) -> int:
    """Return the largest magnitude."""
    return max(magnitudes(fmt).values())
