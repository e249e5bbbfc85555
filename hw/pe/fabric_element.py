"""An element of logic, for an array whose other elements are built of multiplier blocks."""

from collections.abc import Sequence

from amaranth import C, Cat, Module, Signal, Value

from hw.device.fabric import fabric_product
from hw.pe.block_element import BlockElement, add_up

__all__ = ["FabricElement"]


class FabricElement(BlockElement):
    """See :class:`BlockElement`; it uses no multiplier block.

    It takes A as that element does, and is in step with it.

    Parameters
    ----------
    like : BlockElement
        How: the element that it stands beside.
    """

    module = "element_fabric"

    def __init__(self, like: BlockElement):
        self.like = like
        self.late = like.late
        super().__init__(
            like.spec, like.family, like.packing, passes_a=like.passes_a, passes_b=like.passes_b
        )

    @property
    def blocks(self) -> int:
        """Multiplier blocks: none."""
        return 0

    @property
    def chained(self) -> bool:
        """Whether pair p of operands is max(p - 1, 0) late."""
        return self.like.chained

    @property
    def latency(self) -> int:
        """Cycles from operands to the cycle in which their products are added."""
        return self.like.latency

    def encode_b(self, m: Module, codes: Sequence[Sequence[Value]]) -> Value:
        """Put codes of B side by side, as wide as blocks take them."""
        width = self.b_width - self.columns * self.spec.b_width
        return Cat(Cat(*group, C(0, width)) for group in zip(*codes, strict=True))

    def _products(self, m: Module) -> list[list[list[tuple[Value, Value]]]]:
        """Multiply code by code; add up as blocks that are chained do."""
        pairs = self.spec.k
        levels = pairs - 1 if self.chained else (pairs - 1).bit_length()
        registers = max(self.latency - levels, 1)
        wholes = [self._multiply(m, pair, registers) for pair in range(pairs)]
        if not self.chained:
            # Blocks that add up by themselves are done earlier than registers allow.
            plain = levels - (self.latency - registers)
            sums = [
                [
                    add_up(m, [(whole[row][column], Cat()) for whole in wholes], plain)[0]
                    for column in range(self.columns)
                ]
                for row in range(self.rows)
            ]
            return [[[(total, Cat()) for total in row] for row in sums]]
        sums = wholes[0]
        for later in wholes[1:]:
            sums = [
                [_added(m, x, y) for x, y in zip(*rows, strict=True)]
                for rows in zip(sums, later, strict=True)
            ]
        return [[[(total, Cat()) for total in row] for row in sums]]

    def _multiply(self, m: Module, pair: int, registers: int) -> list[list[Value]]:
        """Return the products of a pair of operands, so many cycles later."""
        a = self.packing.codes_of_a(self.i_a.word_select(pair, self.a_width))
        b = [
            self.i_b[low : low + self.spec.b_width]
            for low in range(pair * self.b_width, (pair + 1) * self.b_width, self.spec.b_width)
        ][: self.columns]
        b = [code.as_signed() for code in b] if self.spec.b_signed else b
        # The narrower operand has fewer digits.
        pairs = [[sorted((x, y), key=len, reverse=True) for y in b] for x in a]
        return [
            [fabric_product(m, self.family.times_digit, x, y, registers) for x, y in row]
            for row in pairs
        ]

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Return the sum of each column, as late as those of blocks."""
        for stage in range(self.late):
            held = Signal(len(sums), name=f"held{stage}", reset_less=True)
            m.d.sync += held.eq(sums)
            sums = held
        return super().finish(m, sums)


def _added(m: Module, x: Value, y: Value) -> Signal:
    """Add two values, a cycle later."""
    total = Signal((x + y).shape(), name="chained", reset_less=True)
    m.d.sync += total.eq(x + y)
    return total
