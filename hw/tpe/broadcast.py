"""Arrays that broadcast A to all columns: 2D matrix, 3D cube, multiplier-adder trees."""

from collections.abc import Mapping
from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib.wiring import Member

from golden.tpe.rows import RowsEngineSpec, RowsSpec, SparseEngineSpec
from hw.device import GENERIC
from hw.lib.shared_module import Placement
from hw.pe.element import Element, SumModule
from hw.tpe.row_exit import Enable, near
from hw.tpe.rows_column import RowsColumn
from hw.tpe.rows_engine import RowsEngine

__all__ = ["Broadcast", "BroadcastColumn", "place_columns"]


_TOGETHER = 8
"""Columns of a large array that share registers of A."""


class BroadcastColumn(RowsColumn):
    """A column of elements without operand registers: A comes from the edge, B from above."""

    def __init__(
        self,
        spec: RowsSpec,
        element: SumModule,
        adder: str,
        *,
        held: bool = True,
        **members: Member,
    ):
        super().__init__(spec, element, adder, held=held, **members)

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Connect each element to its row of A, and to B, delayed by its row's number of cycles."""
        width, late = len(self.element.i_a), len(self.i_b) - self.element.ahead
        b: Value = self.i_b
        for number, row in enumerate(rows):
            if not (number and self.spec.together):
                early = b
                held = Signal(len(self.i_b), name=f"b{number}", reset_less=True)
                with m.If(self.en):
                    m.d.sync += held.eq(b)
                b = held
            m.d.comb += [
                row.i_a.eq(self.i_a.word_select(number, width)),
                row.i_b.eq(Cat(b[:late], early[late:])),
                row.i_clear.eq(self.i_clear[number]),
            ]


class Broadcast(RowsEngine):
    """Multiplies matrices by m x n elements of k products; see :class:`RowsEngine`.

    A row of A is broadcast to the n elements of its row of the array, a column of B to the m
    elements of its column, each row one cycle after the one above. So rows finish one cycle apart,
    and need neither a second set of accumulators nor registers that align the columns of C. With
    ``together``, rows share the registers of B, and the next tile waits until all sums have left.

    With ``sparsity`` N:M an element has N multipliers for M codes of K, each behind a choice of A
    by the masks of B, see :class:`hw.pe.sparse_select.SparseSelect`, and has the registers of A.
    Its multipliers are Booth's if nothing is said: fewer bits of A are chosen and registered.
    """

    def __init__(self, spec: RowsEngineSpec, **build: Any):
        target = build.get("target", GENERIC)
        if target != GENERIC and isinstance(spec, SparseEngineSpec) and not spec.plain:
            raise ValueError(f"sparsity must be none with target={target}, not {spec.sparsity!r}")
        super().__init__(spec, **build)

    @classmethod
    def default_build(cls, spec: RowsEngineSpec, build: Mapping[str, Any]) -> dict[str, Any]:
        """Return the multipliers of sparse arrays."""
        return {} if build["target"] != GENERIC or spec.plain else {"encoding": "booth"}

    def make_column(self, spec: RowsEngineSpec, element: Element, adder: str) -> RowsColumn:
        """Make a column of elements."""
        return BroadcastColumn(spec, element, adder)

    def place_columns(
        self, m: Module, move: ValueLike, a: list[Value], b: list[Value], clear: Value
    ) -> Value:
        """Place the columns side by side; all work in step."""
        return Cat(column.o for column in place_columns(m, move, self.column, Cat(a), b, clear))


def place_columns(
    m: Module, move: ValueLike, column: RowsColumn, a: Value, b: list[Value], clear: Value
) -> list[Placement]:
    """Place a column for each operand b; a and clear are registered first.

    Registers of a are in the elements if these take it a cycle ahead. Registers whose clock enables
    differ stay apart in synthesis: each serves a few columns.
    """
    columns = [column.place() for _ in b]
    together = _TOGETHER if isinstance(move, Enable) else len(b)
    for number, (placed, codes) in enumerate(zip(columns, b, strict=True)):
        if number % together == 0:
            copy = f"{number}" if number else ""
            held_a = Signal(len(a), name=f"held_a{copy}", reset_less=True)
            held_clear = Signal(len(clear), name=f"held_clear{copy}", reset_less=True)
            with m.If(near(move)):
                m.d.sync += [held_a.eq(a), held_clear.eq(clear)]
            operands = a if column.element.ahead else held_a
        m.submodules[f"column{number}"] = placed
        m.d.comb += [
            placed.en.eq(near(move)),
            placed.i_a.eq(operands),
            placed.i_b.eq(codes),
            placed.i_clear.eq(held_clear),
        ]
    return columns
