"""Several products of narrow operands in one multiplier block.

Codes of A that share a code of B, or the other way round, or both, are put side by side in one
operand. Product u is then in bits s u .. s (u + 1) - 1 of the block's, less one if what is below
it is negative; the topmost bit below it says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from amaranth import Cat, Module, Signal, Value, signed

from golden.formats.integer import IntFormat
from hw.device.description import Multiplier

__all__ = ["Packing"]

_MOST = 4  # products in a block, along either side


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How `rows` codes of A and `columns` codes of B share a multiplier block.

    Members
    -------
    a_format, b_format : of the codes.
    rows, columns : codes in an operand; the block gives their rows x columns products.
    spacing : bits from one product to the next.
    a_wide : A's codes are in the wider operand of the block.
    halves : the two products are of the block's own halves, and their codes are packed as they are.

    Examples
    --------
    >>> int8 = IntFormat(width=8)
    >>> packing = Packing.densest(int8, int8, Multiplier(27, 18, 3))
    >>> packing.rows, packing.columns, packing.spacing
    (1, 2, 16)
    """

    a_format: IntFormat
    b_format: IntFormat
    rows: int
    columns: int
    spacing: int
    a_wide: bool
    halves: bool = False

    @classmethod
    def densest(
        cls, a: IntFormat, b: IntFormat, block: Multiplier, most: int = _MOST**2
    ) -> "Packing":
        """Choose the packing with the most products, up to `most`; columns before rows.

        Of two products in halves of the block and as many in one, those in halves.

        Raises
        ------
        ValueError
            If not even one product fits.
        """
        for rows, columns in sorted(
            product(range(1, _MOST + 1), repeat=2), key=lambda s: (-s[0] * s[1], s[0])
        ):
            if rows * columns > most:
                continue
            halves = block.half_width
            if (rows, columns) == (1, 2) and max(a.width, b.width) <= halves:
                return cls(
                    a_format=a,
                    b_format=b,
                    rows=1,
                    columns=2,
                    spacing=2 * halves,
                    a_wide=True,
                    halves=True,
                )
            for spacing in range(1, a.width + b.width + 2):
                for a_wide in (True, False):
                    packing = cls(
                        a_format=a,
                        b_format=b,
                        rows=rows,
                        columns=columns,
                        spacing=spacing,
                        a_wide=a_wide,
                    )
                    if packing.is_exact and packing.fits(block):
                        return packing
        widths = f"{block.a_width} x {block.b_width}"
        raise ValueError(
            f"a_width and b_width must fit a multiplier block of {widths} signed bits,"
            f" not {a.width} and {b.width}"
        )

    @property
    def products(self) -> int:
        """Products for a block."""
        return self.rows * self.columns

    @property
    def a_spacing(self) -> int:
        """Bits from one code of A to the next."""
        return self.spacing

    @property
    def b_spacing(self) -> int:
        """Bits from one code of B to the next: beyond all products with the last one."""
        return self.b_format.width if self.halves else self.spacing * self.rows

    @property
    def a_width(self) -> int:
        """Bits of the operand with codes of A, two's complement."""
        if self.halves:
            return self.a_format.width
        return _bits(*_packed(self.a_format, self.rows, self.a_spacing))

    @property
    def b_width(self) -> int:
        """Bits of the operand with codes of B, two's complement."""
        if self.halves:
            return self.b_format.width * self.columns
        return _bits(*_packed(self.b_format, self.columns, self.b_spacing))

    @property
    def is_exact(self) -> bool:
        """Whether every product can be separated from those below it, for all codes."""
        low, high = self.bounds
        below_low = below_high = 0
        for number in range(self.products):
            below_low += low << self.spacing * number
            below_high += high << self.spacing * number
            if _bits(below_low, below_high, low < 0) > self.spacing * (number + 1):
                return False
        return True

    def fits(self, block: Multiplier) -> bool:
        """Whether the operands are not wider than a block's."""
        wide, narrow = self.a_width, self.b_width
        if not self.a_wide:
            wide, narrow = narrow, wide
        return wide <= block.a_width and narrow <= block.b_width

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and greatest product."""
        corners = [
            x * y
            for x in (self.a_format.low, self.a_format.high)
            for y in (self.b_format.low, self.b_format.high)
        ]
        return min(corners), max(corners)

    def pack_a(self, m: Module, codes: Sequence[Value]) -> Value:
        """Put codes of A side by side."""
        if self.halves:
            return Cat(codes)
        return _pack(m, codes, self.a_format, self.a_spacing, self.a_width)

    def pack_b(self, m: Module, codes: Sequence[Value]) -> Value:
        """Put codes of B side by side."""
        if self.halves:
            return Cat(codes)
        return _pack(m, codes, self.b_format, self.b_spacing, self.b_width)

    def codes_of_a(self, whole: Value) -> list[Value]:
        """Take codes of A out of what :meth:`pack_a` returns."""
        fmt, codes = self.a_format, list[Value]()
        for row in range(self.rows):
            low = self.a_spacing * row
            code: Value = whole[low : low + fmt.width]
            if row and fmt.signed:
                # A negative one below it has borrowed.
                code = (code + whole[low - 1])[: fmt.width]
            codes.append(code.as_signed() if fmt.signed else code)
        return codes

    def split(self, a: Value, b: Value) -> tuple[Value, list[Value]]:
        """Take the codes for halves of a block out of what :meth:`pack_a` and so on return."""
        width = self.b_format.width
        codes = [a, *(b.word_select(column, width) for column in range(self.columns))]
        signs = (self.a_format.signed, *[self.b_format.signed] * self.columns)
        first, *others = [
            code.as_signed() if is_signed else code.as_unsigned()
            for code, is_signed in zip(codes, signs, strict=True)
        ]
        return first, others

    def unpack(self, whole: Value) -> list[list[tuple[Value, Value]]]:
        """Take the products out of a block's.

        Returns
        -------
        For each row, for each column, two values that add up to the product: what stands in its
        place, and 0 or 1; the latter without bits where it is always 0.
        """
        fields: list[list[tuple[Value, Value]]] = [[] for _ in range(self.rows)]
        is_signed = self.bounds[0] < 0
        for number in range(self.products):
            low = self.spacing * number
            field = whole[low : low + self.spacing]
            borrows = number and is_signed and not self.halves
            borrowed = whole[low - 1] if borrows else Cat()
            product = field.as_signed() if is_signed else field
            fields[number % self.rows].append((product, borrowed))
        return fields


def _packed(fmt: IntFormat, count: int, spacing: int) -> tuple[int, int]:
    """Least and greatest sum of codes side by side."""
    ones = sum(1 << spacing * number for number in range(count))
    return fmt.low * ones, fmt.high * ones


def _bits(low: int, high: int, is_signed: bool = True) -> int:
    """Return the bits that hold a range; unsigned unless `is_signed`."""
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + is_signed


def _pack(m: Module, codes: Sequence[Value], fmt: IntFormat, spacing: int, width: int) -> Value:
    """Add up codes, each times a power of two."""
    values = [code.as_signed() if fmt.signed else code.as_unsigned() for code in codes]
    packed = Signal(signed(width))
    total: Value = values[0]
    for number, value in enumerate(values[1:], start=1):
        total = total + (value << spacing * number)
    m.d.comb += packed.eq(total)
    return packed
