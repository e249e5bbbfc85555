"""Output-stationary systolic array."""

from collections.abc import Callable

from amaranth import C, Cat, Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib.wiring import Out

from golden.tpe.rows import RowsEngineSpec, RowsSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.lib.evidence import ENGINE
from hw.lib.shared_module import Placement
from hw.pe.element import Element, SumModule
from hw.pe.registered_element import RegisteredElement
from hw.tpe.row_exit import near
from hw.tpe.rows_array import skew
from hw.tpe.rows_column import RowsColumn
from hw.tpe.rows_engine import RowsEngine

__all__ = ["SystolicColumn", "SystolicOs", "place_systolic"]


class SystolicColumn(RowsColumn):
    """A column that A crosses and B moves down, one element per cycle.

    Members
    -------
    o_a, o_clear : Out
        ``i_a`` and ``i_clear``, one cycle later, for the next column.
    """

    o_a: Signal
    o_clear: Signal

    def __init__(self, spec: RowsSpec, element: SumModule, adder: str):
        super().__init__(
            spec,
            RegisteredElement(element),
            adder,
            o_a=Out(spec.m * len(element.i_a)),
            o_clear=Out(spec.m),
        )

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Pass A and the clear bits through the elements, and B from element to element down."""
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

    Computes :func:`golden.tpe.systolic_os.systolic_os`, exactly. A and B enter skewed; A moves
    right and B moves down one element per cycle.

    Examples
    --------
    >>> array = SystolicOs(SystolicOsSpec(m=2, n=3), encoding="booth")
    >>> array.latency, array.operations_per_cycle
    (6, 12)
    """

    SPEC = SystolicOsSpec
    SUMMARY = "output-stationary systolic array of either PE, one resolver per column"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    SYSTOLIC = True

    def make_column(self, spec: RowsEngineSpec, element: Element, adder: str) -> RowsColumn:
        """Make a column of elements with operand registers."""
        return SystolicColumn(spec, element, adder)

    def place_columns(
        self, m: Module, move: ValueLike, a: list[Value], b: list[Value], clear: Value
    ) -> Value:
        """Place the columns side by side; column j is j cycles late."""
        b = skew(m, move, "b", Cat(b), self.spec.n, self.spec.b_width)
        return place_systolic(m, move, self.column, a, b, clear)


def place_systolic(
    m: Module,
    move: ValueLike,
    kind: RowsColumn,
    a: list[Value],
    b: list[Value],
    clear: Value,
    drain: Callable[[int, Value], Value] = lambda _, total: total,
) -> Value:
    """Place columns side by side, crossed by A.

    Parameters
    ----------
    m, move : where, and the common clock enable.
    kind : a :class:`SystolicColumn`.
    a, clear : for each row its operands and its clear bit, row i delayed by i cycles.
    b : for each column its operands, column j delayed by j cycles.
    drain : converts a column's index and sum to its output; same latency for all columns.

    Returns
    -------
    A row of C, all columns aligned to the last one.
    """
    crossing, clears = Cat(a), clear
    early: Value = C(0, 0)
    for number, codes in enumerate(b):
        m.submodules[f"column{number}"] = column = kind.place()
        m.d.comb += [
            column.en.eq(near(move)),
            column.i_a.eq(crossing),
            column.i_b.eq(codes),
            column.i_clear.eq(clears),
        ]
        crossing, clears = column.o_a, column.o_clear
        # The sums of earlier columns wait for the last one's.
        row = Cat(early, drain(number, column.o))
        if number < len(b) - 1:
            early = Signal(len(row), name=f"c{number}", reset_less=True)
            with m.If(near(move)):
                m.d.sync += early.eq(row)
    return row
