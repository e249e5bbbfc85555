"""Flags of rows, columns and tiles, delayed from the array's edge to the ends of columns."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.tpe.rows_array import late

__all__ = ["TileFlags"]


class TileFlags(wiring.Component):
    """Flags each element of C whose row of A or column of B was invalid.

    The flags collected at the edge, and the tile's side information, are delayed to the end of each
    column, in step with its sums.

    Parameters
    ----------
    spec : NpeSpec
        What: the shape.
    tile_width : int
        How: bits of side information per tile.
    delay : int
        How: cycles from a column's registered ``clear`` to its sum of row 0.

    Members
    -------
    move : In(1)
        Common clock enable.
    clear : In
        One bit for each row or column, whichever are more: a new sum starts; number i is i cycles
        late.
    i_a, i_b : In
        For each row and column, sampled at ``clear``: a code was NaN.
    i_tile : In
        Side information of the tile that ends, sampled at ``clear`` of row 0.
    o_invalid : Out
        For each column, the number at its output is invalid.
    o_tile : Out
        For each column, the side information of the tile at its output.
    """

    move: Signal
    clear: Signal
    i_a: Signal
    i_b: Signal
    i_tile: Signal
    o_invalid: Signal
    o_tile: Signal

    def __init__(self, spec: NpeSpec, tile_width: int, delay: int):
        self.spec = spec
        self.delay = delay
        super().__init__({
            "move": In(1),
            "clear": In(max(spec.m, spec.n)),
            "i_a": In(spec.m),
            "i_b": In(spec.n),
            "i_tile": In(tile_width),
            "o_invalid": Out(spec.n),
            "o_tile": Out(spec.n * tile_width),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        # Rows leave one after the other, by segments as in the columns of elements.
        ended = self.i_a & self.clear[: spec.m]
        row: Value = C(0, 1)
        for segment in reversed(range(0, spec.m, spec.SEGMENT)):
            above = ended[segment : segment + spec.SEGMENT].any() | row
            row = Signal(name=f"row{segment}", reset_less=True)
            with m.If(self.move):
                m.d.sync += row.eq(above)
        tile = _hold(m, self.move & self.clear[0], "tile", self.i_tile)
        crossing = late(m, self.move, "late", Cat(row, tile), self.delay + 1)[-1]
        for number, here in enumerate(late(m, self.move, "crossing", crossing, spec.n)):
            load = self.move & self.clear[number]
            column = _hold(m, load, f"column{number}", self.i_b[number])
            column = late(m, self.move, f"column{number}_late", column, self.delay + 1)[-1]
            m.d.comb += [
                self.o_invalid[number].eq(here[0] | column),
                self.o_tile.word_select(number, len(tile)).eq(here[1:]),
            ]
        return m


def _hold(m: Module, load: Value, name: str, value: Value) -> Value:
    """Hold a value until the next is loaded."""
    register = Signal(len(value), name=name, reset_less=True)
    with m.If(load):
        m.d.sync += register.eq(value)
    return register
