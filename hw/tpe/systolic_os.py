"""Output-stationary systolic array."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib.wiring import Out

from golden.tpe.rows import RowsSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.cell import Placement
from hw.pe.cell import Hop, PeCell
from hw.tpe.rows import Column, RowsEngine, skew

__all__ = ["SystolicOs"]


class SystolicColumn(Column):
    """A column that A crosses and B moves down, one element a cycle.

    Members
    -------
    o_a, o_clear : Out
        ``i_a`` and ``i_clear``, one cycle later, for the next column.
    """

    o_a: Signal
    o_clear: Signal

    def __init__(self, spec: RowsSpec, element: PeCell, adder: str):
        super().__init__(
            spec,
            Hop(element),
            adder,
            o_a=Out(spec.m * len(element.i_a)),
            o_clear=Out(spec.m),
        )

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Pass A and the clear bits through the elements, and B from each to the one below."""
        width = len(self.element.i_a)
        b: Value = self.i_b
        for number, row in enumerate(rows):
            m.d.comb += [
                row.i_a.eq(self.i_a.word_select(number, width)),
                row.i_b.eq(b),
                row.i_clear.eq(self.i_clear[number]),
                self.o_a.word_select(number, width).eq(row.o_a),
                self.o_clear[number].eq(row.o_clear),
            ]
            b = row.o_b


class SystolicOs(RowsEngine):
    """Multiplies matrices on a systolic array; see :class:`RowsEngine`.

    Computes :func:`golden.tpe.systolic_os.systolic_os`, exactly. A and B enter skewed, A moves
    right and B moves down one element a cycle.
    """

    SPEC = SystolicOsSpec

    def make_column(self, element: PeCell, adder: str) -> Column:
        """Make a column of elements with operand registers."""
        return SystolicColumn(self.spec, element, adder)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        return super().latency + self.spec.n - 1

    def place_columns(
        self, m: Module, move: Signal, a: list[Value], b: list[Value], clear: Value
    ) -> Value:
        """Place the columns side by side; column j works j cycles late."""
        spec = self.spec
        b = skew(m, move, "b", Cat(b), spec.n, spec.b_width)
        crossing, clears = Cat(a), clear
        early: Value = C(0, 0)
        for number in range(spec.n):
            m.submodules[f"column{number}"] = column = self.column.place()
            m.d.comb += [
                column.en.eq(move),
                column.i_a.eq(crossing),
                column.i_b.eq(b[number]),
                column.i_clear.eq(clears),
            ]
            crossing, clears = column.o_a, column.o_clear
            # The sums of the columns before wait for the last one's.
            row = Cat(early, column.o)
            if number < spec.n - 1:
                early = Signal(len(row), name=f"c{number}", reset_less=True)
                with m.If(move):
                    m.d.sync += early.eq(row)
        return row
