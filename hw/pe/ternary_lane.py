"""Ternary lane: activations, or sums from tables, are added, subtracted or skipped."""

from collections.abc import Iterator

from amaranth import C, Cat, Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.pe.bitplane_lane import BitplaneLane
from hw.pe.chained_sum import ChainedSum, chained
from hw.pe.sparse_select import SparseSelect
from hw.pe.ternary_table import TernaryTable

__all__ = ["TernaryLane"]

# Arrival times in XOR gates after the operands.
_CHOSEN, _SIGN = 3.0, 0.6


class TernaryLane(BitplaneLane):
    """Adds what two-bit weights, or keys of several, select. Members: see :class:`BitplaneLane`.

    To subtract, the operand is inverted and the sign bit added; zero stays zero.

    Parameters
    ----------
    fmt : IntFormat
        What: activations.
    count : int
        What: weights per cycle.
    table : TernaryTable or None
        How: table of a group of activations; None if weights select single activations.
    keys : str
        What: "none", or groups of weights come as keys of a "pair" or of a "table".
    select : SparseSelect or None
        What: weights choose their activations; those and the select lines are a cycle ahead.
    chain : int
        How: operands are added by the tool's adders, so many one after the other, then in a tree;
        0: they are compressed, together with the accumulator.
    more
        As :class:`BitplaneLane`.
    """

    module = "ternary_lane"

    def __init__(
        self,
        fmt: IntFormat,
        count: int,
        *,
        table: TernaryTable | None,
        keys: str,
        select: SparseSelect | None = None,
        chain: int = 0,
        **more: int,
    ):
        self.fmt = fmt
        self.table = table
        self.keys = keys
        self.count = count
        self.chain = chain
        width = fmt.width if table is None else len(table.o)
        group = 1 if table is None else table.group
        self.select = select
        operands = count // group
        if select is not None:
            self.ahead = select.lines_width
            operands = select.count * select.sparse.share
        super().__init__(operands * width, 2 * count + self.ahead, planes=1, **more)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        for inverted, sign in self._chosen(m, a, b):
            heap.add_term(list(inverted), signed=True, arrival=_CHOSEN)
            heap.add_bit(sign, 0, arrival=_SIGN)
        return heap

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        return super()._products(m, enable, self._selected(m, enable, a, b), b)

    def _selected(self, m: Module, enable: Value, a: Value, b: Value) -> Value:
        """Register the activations that weights choose; without a choice all are here already."""
        a = a[: self._operands]
        return a if self.select is None else self.select.held(m, enable, a, b[2 * self.count :])

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Add what is selected to a sum; by adders, if there are chains."""
        if not self.chain:
            return super().step(m, enable, a, b, accumulator)
        terms = [
            ChainedSum(*pair, 1) for pair in self._chosen(m, self._selected(m, enable, a, b), b)
        ]
        total = chained(m, enable, terms, self.chain, self.pipeline)
        summed = ChainedSum(Cat(bit for (bit,) in accumulator), C(0, 1), 1)
        return [[bit] for bit in total.plus(m, summed, self.width, "total_next").value]

    def _heights(self, products: BitHeap) -> list[int]:
        return [1] * products.width if self.chain else super()._heights(products)

    def _chosen(self, m: Module, a: Value, b: Value) -> Iterator[tuple[Value, Value]]:
        """Select operands, two's complement, each with a bit that is to be added."""
        table = self.table
        for number in range(self.count if table is None else self.count // table.group):
            name = f"x{number}"
            if table is None:
                code = b.word_select(number, 2)
                activation = a.word_select(number, self.fmt.width)
                inverted, sign = self._single(m, activation, code, name)
            else:
                key = b.word_select(number, 2 * table.group)
                activation = a.word_select(number, len(table.o))
                inverted, sign = self._group(m, table, activation, key, name)
            yield inverted, sign

    def _single(self, m: Module, a: Value, code: Value, name: str) -> tuple[Value, Value]:
        """Select an activation, its inverse, or zero; tell whether it is the inverse."""
        extended = a if self.fmt.signed else Cat(a, C(0, 1))
        chosen = Signal(len(extended), name=name)
        if self.chain:
            # Of an adder with the code's bits as they are; the unused code makes -1, plus 1.
            masked = extended & code[0].replicate(len(chosen))
            m.d.comb += chosen.eq(masked ^ code[1].replicate(len(chosen)))
            return chosen, code[1]
        plus, minus = Signal(name=f"{name}_plus"), Signal(name=f"{name}_minus")
        m.d.comb += [
            plus.eq(code[0] & ~code[1]),
            minus.eq(code[0] & code[1]),
            chosen.eq(
                (extended & plus.replicate(len(chosen)))
                | (~extended & minus.replicate(len(chosen)))
            ),
        ]
        return chosen, minus

    def _group(
        self, m: Module, table: TernaryTable, a: Value, key: Value, name: str
    ) -> tuple[Value, Value]:
        """Select an entry, its inverse, or zero; tell whether it is the inverse."""
        chosen, sign, signed = table.look_up(m, a, key, self.keys, name)
        extended = chosen if signed else Cat(chosen, C(0, 1))
        inverted = Signal(len(extended), name=f"{name}_inverted")
        m.d.comb += inverted.eq(extended ^ sign.replicate(len(extended)))
        return inverted, sign
