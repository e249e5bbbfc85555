"""Array of multiplier blocks by Winograd's inner product: half as many blocks."""

from amaranth import C, Cat, Module, Signal, Value

from golden.tpe.rows import RowsEngineSpec
from hw.lib.shared_module import Placement, SharedModule
from hw.pe.block_element import BlockElement
from hw.pe.winograd_element import WinogradCorrection, WinogradElement
from hw.tpe.block_array import BlockArray, BlockColumn

__all__ = ["WinogradArray", "WinogradColumn"]


class WinogradColumn(BlockColumn):
    """Such a column, of whose sums the column's correction is subtracted, a cycle later.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: the array.
    element : WinogradElement
        How: of each of its rows.
    module : str
        How: name of the Verilog module.
    correction : WinogradCorrection
        How: that of the column.
    """

    def __init__(
        self,
        spec: RowsEngineSpec,
        element: BlockElement,
        module: str,
        correction: WinogradCorrection,
    ):
        self.correction = correction
        super().__init__(spec, element, module)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The element, and the correction."""
        return (self.element, self.correction)

    def _leave(self, m: Module, last: Placement) -> Value:
        """Subtract the correction, which is complete when row 0 leaves, as the last element is.

        It stands still until row m - 1 leaves, since no beats come before. Then it is cleared.
        """
        leaves, follows = ~self.i_keep[-1], Cat(C(1, 1), self.i_keep)[-2]
        m.submodules.correction = correction = self.correction.place()
        corrected = Signal(len(last.o_sums), name="corrected", reset_less=True)
        m.d.comb += [
            correction.i.eq(last.i_b),
            correction.i_keep.eq(~(leaves & follows)),
            correction.i_sum.eq(0),
        ]
        m.d.sync += corrected.eq(last.o_sums - correction.o_sum)
        return corrected


class WinogradArray(BlockArray):
    """Such an array, for which a block makes two products.

    See :mod:`hw.pe.winograd_element`. Beside the columns of elements is one of the corrections of
    rows; they leave together with the sums that they are subtracted from.
    """

    ZERO_B = True

    element: WinogradElement
    column: WinogradColumn

    def _make_element(self, packing: str) -> WinogradElement:
        """Make the element; with it come the corrections of a row and of a column."""
        spec = self.spec
        element = WinogradElement(spec.element, self.family, passes_b=not spec.together)
        self.correction = WinogradCorrection("row_correction", element, spec.a_format)
        self.of_column = WinogradCorrection("column_correction", element, spec.b_format)
        return element

    def _make_fabric(self) -> WinogradElement:
        """Make the element of logic that goes with it."""
        spec, passes_b = self.spec.element, not self.spec.together
        return WinogradElement(spec, self.family, passes_b=passes_b, fabric=True)

    def _make_column(self, element: BlockElement, module: str) -> WinogradColumn:
        """Make a column."""
        return WinogradColumn(self.spec, element, module, self.of_column)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column, the correction of a row, and the memory behind a column."""
        return (*super().shared_modules, self.correction)

    def _place(self, m: Module, a: Value, b: list[Value], keep: Value) -> list[Value]:
        """Place the columns, and subtract corrections of rows; returns each column of C."""
        correction: Value = C(0, self.spec.accumulator_width)
        for number in range(self.column.elements):
            m.submodules[f"row_correction{number}"] = row = self.correction.place()
            m.d.comb += [
                row.i.eq(a.word_select(number, len(row.i))),
                row.i_keep.eq(keep[number]),
                row.i_sum.eq(correction),
            ]
            correction = row.o_sum
        held = Signal(len(correction), name="row_correction", reset_less=True)
        m.d.sync += held.eq(correction)
        corrected: list[Value] = []
        for number, total in enumerate(super()._place(m, a, b, keep)):
            c = Signal(len(total), name=f"c{number}", reset_less=True)
            m.d.sync += c.eq(total - held)
            corrected.append(c)
        return corrected
