"""Flags of rows, columns and tiles, from the edge of an array of lanes to the ends of columns."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.tpe.rows_array import late

__all__ = ["TileFlags"]


class TileFlags(wiring.Component):
    """Tells of every number of C whether its row of A or its column of B was invalid.

    The flags that the edge has collected, and what is to be known of the whole tile, are brought
    to the end of each column as the sums of its rows come out there.

    Parameters
    ----------
    spec : NpeSpec
        What: the shape.
    tile_width : int
        How: bits to be known of a tile.
    delay : int
        How: cycles from ``clear`` of a column, as it stands in a register, to its sum of row 0.

    Members
    -------
    move : In(1)
        Common enable.
    clear : In
        A bit for each row or column, the later of the two: a new sum starts, number i i cycles
        late.
    i_a, i_b : In
        For each row and column, as it is at ``clear``, a code was no number.
    i_tile : In
        As it is at ``clear`` of row 0, what is to be known of the tile that ends there.
    o_invalid : Out
        For each column, the number at its end is invalid.
    o_tile : Out
        For each column, what is to be known of the tile at its end.
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
    """Keep a value until the next is loaded."""
    register = Signal(len(value), name=name, reset_less=True)
    with m.If(load):
        m.d.sync += register.eq(value)
    return register
