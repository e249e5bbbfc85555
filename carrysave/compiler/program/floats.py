"""Steps of a program on floats: what neither the block has, nor a move of bytes is.

A step reads and writes matrices of rows x columns, whose numbers lie at any distance: zero repeats
one. Loops around it do so again, with all operands further on. Numbers are read as doubles,
exactly; sums, products, quotients and roots are those of IEEE 754 in doubles, rounded to the
nearest, and so is what is stored in fewer bits. Every processor that has IEEE 754, in software too,
makes the same bytes. Numbers are finite.

Words of a step are those of :attr:`Floats.fields`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from carrysave.compiler.program.steps import Move, Start, Varies

__all__ = [
    "FLOAT_WORDS", "INTEGERS", "LOOPS", "OPERANDS", "OPERAND_WORDS", "Floats", "Format", "Operand",
    "Operation", "SectionStep",
]  # fmt: skip


class Format(IntEnum):
    """How a number is in memory, little-endian.

    Integers that are stored are rounded to the nearest, halves to the even one, within the limits
    of the step and of the format. POWER is an integer x of 32 bits that stands for 2^x, FRACTION
    one of 16 bits for 2^-x, both of -1022..1022.
    """

    NONE = 0
    I8 = 1
    I16 = 2
    I32 = 3
    F16 = 4
    F32 = 5
    F64 = 6
    POWER = 7
    FRACTION = 8

    @property
    def type(self) -> "np.dtype[Any]":
        """In numpy."""
        return np.dtype(_TYPES[self])


_TYPES = ("", "<i1", "<i2", "<i4", "<f2", "<f4", "<f8", "<i4", "<i2")
INTEGERS = {8: Format.I8, 16: Format.I16, 32: Format.I32}
"""By their bits."""


class Operation(IntEnum):
    """What a step does with each number of its operands, times 2^shift where nothing else is said.

    COPY : a.
    HALF_UP : floor(a * 2^shift + 1/2).
    ROOT : the square root of a; of numbers that are not above 0, 0.
    ADD, SUBTRACT, MULTIPLY : of a and b.
    DIVIDE : a / b, or a where b is not above 0.
    GREATEST, LEAST : of each row of a; out has a number for each.
    SUM : of each row of a, from the first number on.
    BITS : `width` bits of an integer a from bit `shift` on, two's complement, without a sign.
    SIGMOID : `high` times the sigmoid of an integer a in units of 2^-shift, by
        :func:`golden.npe.elements.sigmoid` with `width` bits after the point.
    ALIGN : each row of a to integers of `width` bits and one power of two, as
        :mod:`golden.lut.align`; rows below 2^-60 become zeros.
    QUOTIENT : a / b.
    MAXIMUM, MINIMUM : a or b; b if one of them is no number.
    EXP, LOGISTIC, TANH, ERF : of a in float32, by :mod:`golden.single`.
    DECODE : (a + shift) * b.
    ENCODE : a / b in float32, to the nearest integer, plus shift.
    GROUPS : of each column the sum over rows, in float32, from the first on, of a times the row's
        power times b; then, if there are offsets, of the row's `ones` times its power times its
        offset, as :func:`golden.lut.scale.scale_groups`. Integers a and ones have 24 bits at most.
    PRODUCT : the matrix product of integers a, rows x width, and b, width x columns.
    LOOK_UP : of the table that begins at b, as many numbers as a byte has codes, that of a code a
        from -128 on. Out is of the same format, which is I8 or F32.
    """

    COPY = 1
    HALF_UP = 2
    ROOT = 3
    ADD = 4
    SUBTRACT = 5
    MULTIPLY = 6
    DIVIDE = 7
    GREATEST = 8
    LEAST = 9
    SUM = 10
    BITS = 11
    SIGMOID = 12
    ALIGN = 13
    GROUPS = 14
    PRODUCT = 15
    QUOTIENT = 16
    MAXIMUM = 17
    MINIMUM = 18
    EXP = 19
    LOGISTIC = 20
    TANH = 21
    ERF = 22
    DECODE = 23
    ENCODE = 24
    LOOK_UP = 25


OPERANDS: dict[Operation, tuple[str, ...]] = {
    **dict.fromkeys(Operation, ("out", "a")),
    **dict.fromkeys(
        (
            Operation.ADD,
            Operation.SUBTRACT,
            Operation.MULTIPLY,
            Operation.DIVIDE,
            Operation.PRODUCT,
            Operation.QUOTIENT,
            Operation.MAXIMUM,
            Operation.MINIMUM,
            Operation.DECODE,
            Operation.ENCODE,
            Operation.LOOK_UP,
        ),
        ("out", "a", "b"),
    ),
    Operation.ALIGN: ("out", "a", "powers"),
    Operation.GROUPS: ("out", "a", "b", "powers", "ones", "offsets"),
}
"""Operands of each, in order."""
_HEAD = ("operation", "rows", "columns", "shift", "width", "low", "high", "around")
FLOAT_WORDS = len(_HEAD)
"""Before operands."""
_PARTS = ("address", "format", "row", "column")
OPERAND_WORDS = len(_PARTS)
LOOPS = 6
"""Around a step, at most. Each has its size, and bytes from one to the next of each operand."""


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A matrix of numbers in memory.

    Members
    -------
    address : of the first number.
    format : of each.
    row, column : bytes from a row, and from a number of a row, to the next.
    """

    address: int
    format: Format
    row: int = 0
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class Floats:
    """A step on floats.

    Members
    -------
    node, operator : of the model.
    operation : what it does.
    rows, columns : how often.
    operands : by the names of :data:`OPERANDS`; GROUPS may lack `ones` and `offsets`.
    shift, width, low, high : see :class:`Operation` and :class:`Format`.
    loops : around it, the outermost first: how often, and what is added to the addresses of
        operands each time, in the order of :data:`OPERANDS`.
    varies : what parameters change.
    numbers : that it computes or adds up, at most.
    sets : parameter whose value, in the table, `out` is, once the program is assembled: sections
        that come after have it.
    """

    node: str
    operator: str
    operation: Operation
    rows: int
    columns: int
    operands: dict[str, Operand]
    shift: int = 0
    width: int = 0
    low: int = -(1 << 31)
    high: int = (1 << 31) - 1
    loops: tuple[tuple[int, tuple[int, ...]], ...] = ()
    varies: tuple[Varies, ...] = ()
    numbers: int = 0
    sets: str = ""

    @property
    def around(self) -> int:
        """Loops around it."""
        return len(self.loops)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its words: of operands such as ``a.address``."""
        names = OPERANDS[self.operation]
        return (*_HEAD, *(f"{name}.{part}" for name in names for part in _PARTS))

    @property
    def words(self) -> list[int]:
        """Its words."""
        none = Operand(address=0, format=Format.NONE)
        every = [self.operands.get(name, none) for name in OPERANDS[self.operation]]
        head = [int(getattr(self, name)) for name in _HEAD]
        parts = (int(getattr(one, part)) for one in every for part in _PARTS)
        return [*head, *parts, *(word for size, steps in self.loops for word in (size, *steps))]


SectionStep = Move | Start | Floats
"""What a section has: steps without the host."""
