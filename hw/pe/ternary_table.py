"""Tables of ternary sums of a few activations, and their select lines."""

from functools import reduce
from operator import and_

from amaranth import C, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.pe.lut_table import Table

__all__ = ["TernaryTable"]


class TernaryTable(Table):
    """Makes the sums of +-a_i, one of each pair of opposites; entry 0 is a_0.

    The signs in entry e are the digits of e + 1 in balanced ternary, the first activation's the
    lowest, as in :func:`golden.lut.ternary.ternary_table`. Members: see :class:`Table`.
    """

    module = "table"

    def __init__(self, group: int, a_format: IntFormat, adder: str = "sklansky"):
        self.digits = [_digits(value, group) for value in range(1, (3**group + 1) // 2)]
        formats = [_format(a_format, digits) for digits in self.digits]
        super().__init__(group, a_format, formats, adder)

    def make(self, m: Module, codes: list[Value]) -> list[Value]:
        """Make the entries, each from its last activation and an earlier entry."""
        signed = self.a_format.signed
        sums: list[Value] = []
        for value, fmt in enumerate(self.formats, start=1):
            top = max(weight for weight, digit in enumerate(self.digits[value - 1]) if digit)
            rest = value - 3**top
            bits = codes[top]
            if rest:
                number = abs(rest) - 1
                other = sums[number], self.formats[number].signed, rest < 0
                bits = self.add(m, (bits, signed, False), other, fmt)
            sums.append(bits)
        return sums

    def select(self, m: Module, codes: list[Value], name: str) -> tuple[list[Value], Value]:
        """Decode weight codes to one select line per entry, and a sign.

        The sign is that of the last nonzero weight.
        """
        sign = Signal(name=f"{name}_sign")
        negative: Value = C(0, 1)
        for code in codes:
            negative = Mux(code[0], code[1], negative)
        m.d.comb += sign.eq(negative)
        lines: list[Value] = []
        for number, digits in enumerate(self.digits):
            line = Signal(name=f"{name}_is{number}")
            parts = [
                code[0] & (code[1] ^ sign ^ C(digit > 0, 1)) if digit else ~code[0]
                for code, digit in zip(codes, digits, strict=True)
            ]
            m.d.comb += line.eq(reduce(and_, parts))
            lines.append(line)
        return lines, sign

    def read(self, m: Module, key: Value, pair: bool, name: str) -> tuple[list[Value], Value]:
        """Decode a key likewise; a pair's key is two index bits, the sign, and "not zero"."""
        width = 2 if pair else len(self.digits).bit_length()
        lines: list[Value] = []
        for number in range(len(self.digits)):
            line = Signal(name=f"{name}_is{number}")
            chosen = key[:width] == number
            m.d.comb += line.eq(chosen & key[3] if pair else chosen)
            lines.append(line)
        return lines, key[width]


def _digits(value: int, group: int) -> list[int]:
    """Return the digits of a number in balanced ternary."""
    digits = []
    for _ in range(group):
        digit = (value + 1) % 3 - 1
        digits.append(digit)
        value = (value - digit) // 3
    return digits


def _format(a_format: IntFormat, digits: list[int]) -> IntFormat:
    """Format of a sum with these signs."""
    corners = [
        sum((high if (digit > 0) == up else low) * digit for digit in digits)
        for up, high, low in (
            (True, a_format.high, a_format.low),
            (False, a_format.high, a_format.low),
        )
    ]
    low, high = min(corners), max(corners)
    signed = low < 0
    return IntFormat(width=max(high, -low - 1).bit_length() + signed, signed=signed)
