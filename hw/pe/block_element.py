"""An element of an array built of a device's own multiplier blocks."""

from collections.abc import Sequence
from typing import ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from golden.pe.mac import MacSpec
from hw.device import Family
from hw.device.packing import Packing
from hw.lib.shared_module import SharedModule

__all__ = ["BlockElement", "add_up"]


class BlockElement(SharedModule):
    """Accumulates products of some rows and columns of C, and passes finished sums on.

    It never stops: where there are no operands it gets zeros. Its sums are part of a shift
    register through all elements of a column: while ``i_keep`` of a row is low, the row takes the
    sums of the one before it.

    Parameters
    ----------
    spec : MacSpec
        What: operand and accumulator widths, and k.
    family : Family
        How: the device.
    packing : Packing
        How: codes that share a block.
    passes_a, passes_b : bool
        How: its neighbours take A and ``i_keep``, or B, from it.

    Members
    -------
    i_a, i_b : In
        Operands of A of its rows, of B of its columns, k each, as :meth:`encode_a` and
        :meth:`encode_b` make them. Their products are added :attr:`latency` cycles later.
    i_keep : In
        A bit for each row; it takes effect in the next cycle.
    i_sums : In
        Sums of the row before its first row, one for each column.
    o_a, o_b, o_keep : Out
        ``i_a``, ``i_b``, ``i_keep``, one cycle later; only if it passes them on.
    o_sums : Out
        Sums of its last row, one for each column.
    """

    module = "element"

    i_a: Signal
    i_b: Signal
    i_keep: Signal
    i_sums: Signal
    o_a: Signal
    o_b: Signal
    o_keep: Signal
    o_sums: Signal

    DOWN: ClassVar[str] = "o_sums"
    """Port that the element below takes its ``i_sums`` from."""

    late: int = 0
    """Cycles from sums of the last element of a column to those of :meth:`finish`."""

    def __init__(
        self,
        spec: MacSpec,
        family: Family,
        packing: Packing,
        *,
        passes_a: bool = False,
        passes_b: bool = False,
        **members: Member,
    ):
        self.spec = spec
        self.family = family
        self.packing = packing
        self.passes_a = passes_a
        self.passes_b = passes_b
        a, b = spec.k * self.a_width, spec.k * self.b_width
        passed: dict[str, Member] = {}
        if passes_a:
            passed |= {"o_a": Out(a), "o_keep": Out(self.rows)}
        if passes_b:
            passed |= {"o_b": Out(b)}
        sums = self.columns * spec.accumulator_width
        super().__init__({
            "i_a": In(a),
            "i_b": In(b),
            "i_keep": In(self.rows),
            "i_sums": In(sums),
            "o_sums": Out(sums),
            **passed,
            **members,
        })

    @property
    def a_width(self) -> int:
        """Bits of one of k operands of A."""
        return self.packing.a_width

    @property
    def b_width(self) -> int:
        """Bits of one of k operands of B."""
        return self.packing.b_width

    @property
    def rows(self) -> int:
        """Rows of C."""
        return self.packing.rows

    @property
    def columns(self) -> int:
        """Columns of C."""
        return self.packing.columns

    @property
    def blocks(self) -> int:
        """Multiplier blocks."""
        return self.spec.k

    @property
    def first(self) -> "BlockElement":
        """The element that has no other one above it."""
        return self

    @property
    def chained(self) -> bool:
        """Whether blocks add their products up: pair p of operands is then max(p - 1, 0) late."""
        return self.family.chains and self.packing.products == 1

    @property
    def latency(self) -> int:
        """Cycles from operands to the cycle in which their products are added."""
        levels = self.spec.k - 1 if self.chained else (self.spec.k - 1).bit_length()
        family = self.family
        return family.before + family.multiplier.registers + family.behind + levels

    def encode_a(self, m: Module, codes: Sequence[Sequence[Value]]) -> Value:
        """Encode codes of A, for each row k of them."""
        return Cat(self.packing.pack_a(m, group) for group in zip(*codes, strict=True))

    def encode_b(self, m: Module, codes: Sequence[Sequence[Value]]) -> Value:
        """Encode codes of B, for each column k of them."""
        return Cat(self.packing.pack_b(m, group) for group in zip(*codes, strict=True))

    def elaborate(self, platform):
        m = Module()
        width = self.spec.accumulator_width
        keep = Signal(self.rows, reset_less=True)
        m.d.sync += keep.eq(self.i_keep)
        if self.passes_a:
            m.d.sync += self.o_a.eq(self.i_a)
            m.d.comb += self.o_keep.eq(keep)
        if self.passes_b:
            m.d.sync += self.o_b.eq(self.i_b)

        products = self._products(m)
        above = [self.i_sums.word_select(column, width) for column in range(self.columns)]
        for row in range(self.rows):
            for column in range(self.columns):
                addend, carry = add_up(m, [whole[row][column] for whole in products])
                total = Signal(width, name=f"sum{row}_{column}", reset_less=True)
                self.family.accumulate(m, total, keep[row], above[column], addend, carry)
                above[column] = total
        m.d.comb += self.o_sums.eq(Cat(above))
        return m

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Return the sum of each column, from what the last element of a column has."""
        return [
            sums.word_select(column, self.spec.accumulator_width) for column in range(self.columns)
        ]

    @property
    def pairs(self) -> list[tuple[Value, Value]]:
        """Operands of each block, that of its wider port first."""
        packing = self.packing
        operands = [
            (
                self.i_a.word_select(pair, packing.a_width).as_signed(),
                self.i_b.word_select(pair, packing.b_width).as_signed(),
            )
            for pair in range(self.spec.k)
        ]
        return operands if packing.a_wide else [pair[::-1] for pair in operands]

    def _products(self, m: Module) -> list[list[list[tuple[Value, Value]]]]:
        """Multiply; returns the products of each block, or of all if they are chained."""
        pairs = self.pairs
        for stage in range(self.family.before):
            pairs = [
                (
                    _held(m, x, len(x), f"x{number}_{stage}").as_signed(),
                    _held(m, y, len(y), f"y{number}_{stage}").as_signed(),
                )
                for number, (x, y) in enumerate(pairs)
            ]
        if self.chained:
            return [self._behind(m, self.family.dot(m, pairs), "p")]
        wholes = [
            self.family.multiply_halves(m, *self.packing.split(*pair))
            if self.packing.halves
            else self.family.multiply(m, *pair)
            for pair in pairs
        ]
        return [self._behind(m, whole, f"p{number}_") for number, whole in enumerate(wholes)]

    def _behind(self, m: Module, whole: Value, name: str) -> list[list[tuple[Value, Value]]]:
        """Register what comes out of a block, and take it apart."""
        packing = self.packing
        width = len(whole) if self.chained else packing.products * packing.spacing
        for stage in range(self.family.behind):
            whole = _held(m, whole, width, f"{name}{stage}")
        return [[(whole.as_signed(), Cat())]] if self.chained else packing.unpack(whole)


def _held(m: Module, value: Value, width: int, name: str) -> Signal:
    """Register a value; Yosys wants no signed ones at the ports of blocks."""
    register = Signal(width, name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def add_up(m: Module, parts: Sequence[tuple[Value, Value]], plain: int = 0) -> tuple[Value, Value]:
    """Add up products, two at a time; returns a sum and a carry to add to it.

    Each level of sums has registers behind it, but for the first `plain`.
    """
    if len(parts) == 1:
        return parts[0]
    sums: list[tuple[Value, Value]] = []
    for at in range(0, len(parts), 2):
        terms = [term for part in parts[at : at + 2] for term in part if len(term)]
        total = sum(terms[1:], terms[0])
        if not plain:
            register = Signal(total.shape(), reset_less=True)
            m.d.sync += register.eq(total)
            total = register
        sums.append((total, Cat()))
    return add_up(m, sums, max(plain - 1, 0))
