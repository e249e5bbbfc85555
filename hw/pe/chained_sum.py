"""Sums of operands by the tool's adders, each with a carry bit: what FPGAs' carry chains do."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import C, Cat, Module, Signal, Value

__all__ = ["ChainedSum", "chained"]


@dataclass(frozen=True)
class ChainedSum:
    """A sum that lacks a bit, which is still to be added: an adder's carry takes it.

    Members
    -------
    value : two's complement.
    carry : to be added.
    count : operands in it; of n operands of w bits with their bits, but one, the sum has
        w + log2 n bits.
    """

    value: Value
    carry: Value
    count: int

    def plus(self, m: Module, other: "ChainedSum", width: int, name: str) -> "ChainedSum":
        """Add another sum and this one's bit; modulo 2^width.

        The carry enters at a place below the lowest. Of a difference, the tools keep the first
        operand as it is, and put what selects the second one into the LUTs of the adder.
        """
        both = Signal(width + 1, name=name)
        x = Cat(self.carry, self.value).as_signed()
        y = Cat(C(1, 1), ~other.value).as_signed()
        m.d.comb += both.eq(x - y)
        return ChainedSum(both[1:], other.carry, self.count + other.count)


def chained(
    m: Module, enable: Value, terms: Sequence[ChainedSum], chain: int, registers: int
) -> ChainedSum:
    """Add terms of one width: `chain` one after the other, and these sums in a tree.

    Parameters
    ----------
    m, enable : where, and the clock enable of the registers.
    terms : one or more.
    chain : terms of a chain, 1 or more.
    registers : cycles that it takes: behind the levels of the tree, as evenly as can be.
    """
    width = len(terms[0].value)

    def plus(x: ChainedSum, y: ChainedSum, name: str) -> ChainedSum:
        return x.plus(m, y, width + (x.count + y.count - 1).bit_length(), name)

    level = []
    for start in range(0, len(terms), chain):
        total = terms[start]
        for number, term in enumerate(terms[start + 1 : start + chain], start + 1):
            total = plus(total, term, f"chain{number}")
        level.append(total)
    levels = 1 + (len(level) - 1).bit_length()
    for number in range(levels):
        if number:
            level = [
                plus(level[at], level[at + 1], f"tree{number}_{at}")
                if at + 1 < len(level)
                else level[at]
                for at in range(0, len(level), 2)
            ]
        due = registers * (number + 1) // levels - registers * number // levels
        for stage in range(due):
            name = f"{number}_{stage}"
            level = [_late(m, enable, one, f"{name}_{at}") for at, one in enumerate(level)]
    return level[0]


def _late(m: Module, enable: Value, one: ChainedSum, name: str) -> ChainedSum:
    """Register a sum and its bit."""
    value = Signal(len(one.value), name=f"late_sum{name}", reset_less=True)
    carry = Signal(name=f"late_carry{name}", reset_less=True)
    with m.If(enable):
        m.d.sync += [value.eq(one.value), carry.eq(one.carry)]
    return ChainedSum(value, carry, one.count)
