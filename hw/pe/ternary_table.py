"""Tables of ternary sums of a few activations, and their select lines."""

from functools import reduce
from operator import and_

from amaranth import C, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.pe.entry_select import choose, gather
from hw.pe.lut_table import Table

__all__ = ["TernaryTable", "halves"]


class TernaryTable(Table):
    """Makes the sums of +-a_i, one of each pair of opposites; entry 0 is a_0.

    The signs in entry e are the digits of e + 1 in balanced ternary, the first activation's the
    lowest, as in :func:`golden.lut.ternary.ternary_table`. Members: see :class:`Table`.

    Parameters
    ----------
    group, a_format : int, IntFormat
        What: activations of the table.
    adder : str
        How: carry propagation.
    tree : bool
        How: keys select entries by a multiplexer tree, not by one select line each.
    """

    module = "table"

    def __init__(
        self, group: int, a_format: IntFormat, adder: str = "sklansky", *, tree: bool = False
    ):
        self.tree = tree
        self.digits = [_digits(value, group) for value in range(1, (3**group + 1) // 2)]
        formats = [_format(a_format, digits) for digits in self.digits]
        super().__init__(group, a_format, formats, adder)

    @property
    def additions(self) -> int:
        """Number of two-operand additions or subtractions: no table can have fewer."""
        return len(self.formats) - self.group

    def make(self, m: Module, codes: list[Value]) -> list[Value]:
        """Make the entries, each from two: of the lower half of its activations, and the upper.

        So an entry has log2(group) additions behind it, rounded up, not one for each activation.
        """
        made: dict[int, Value] = {3**place: code for place, code in enumerate(codes)}

        def entry(value: int) -> Value:
            if value not in made:
                low, high = halves(self.digits[value - 1])
                terms = [
                    (entry(abs(part)), self.formats[abs(part) - 1].signed, part < 0)
                    for part in (high, low)
                ]
                made[value] = self.add(m, terms[0], terms[1], self.formats[value - 1])
            return made[value]

        return [entry(value) for value in range(1, len(self.formats) + 1)]

    def look_up(
        self, m: Module, a: Value, b: Value, keys: str, name: str
    ) -> tuple[Value, Value, bool]:
        """Select an entry.

        Parameters
        ----------
        a : the entries, as ``o``.
        b : two-bit codes of the group's weights, the first lowest; or its key.
        keys : "none", or ``b`` is the key of a "pair" or of a "table".

        Returns
        -------
        The entry, or zero; whether it is to be negated; whether it is two's complement.
        """
        pair = keys == "pair"
        if self.tree:
            width = self._index_width(pair)
            bits, entries = list(b[:width]), self.entries(a)
            chosen, signed = choose(m, bits, entries, self.formats, name, first=0)
            if pair:
                chosen = chosen & b[3].replicate(len(chosen))
            return chosen, b[width], signed
        if keys == "none":
            codes = [b.word_select(at, 2) for at in range(self.group)]
            lines, sign = self.select(m, codes, name)
        else:
            lines, sign = self.read(m, b, pair, name)
        chosen, signed = gather(m, lines, self.entries(a), self.formats, name)
        return chosen, sign, signed

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
        width = self._index_width(pair)
        lines: list[Value] = []
        for number in range(len(self.digits)):
            line = Signal(name=f"{name}_is{number}")
            chosen = key[:width] == number
            m.d.comb += line.eq(chosen & key[3] if pair else chosen)
            lines.append(line)
        return lines, key[width]

    def _index_width(self, pair: bool) -> int:
        """Bits of a key's index, of which one has no entry in any but a pair's key."""
        return 2 if pair else len(self.digits).bit_length()


def _digits(value: int, group: int) -> list[int]:
    """Return the digits of a number in balanced ternary."""
    digits = []
    for _ in range(group):
        digit = (value + 1) % 3 - 1
        digits.append(digit)
        value = (value - digit) // 3
    return digits


def halves(digits: list[int]) -> tuple[int, int]:
    """Split a number of several digits into two, at the middle or, if one is 0, at a half's."""
    first, end = 0, len(digits)
    while True:
        middle = (first + end + 1) // 2
        low = sum(digit * 3**place for place, digit in enumerate(digits[:middle]))
        high = sum(digit * 3**place for place, digit in enumerate(digits)) - low
        if low and high:
            return low, high
        first, end = (first, middle) if low else (middle, end)


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
