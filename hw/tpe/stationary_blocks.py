"""Weight-stationary array of a device's own multiplier blocks: it never stops."""

from typing import Any

from amaranth import Array, C, Cat, Module, Mux, Signal, Value

from golden.tpe.systolic_ws import SystolicWsSpec
from hw.device import Family
from hw.device.choice import groups_of_blocks
from hw.device.packing import Packing
from hw.device.row_stationary import RowStationary
from hw.lib.shared_module import SharedModule
from hw.tpe.row_collector import collect, has_room
from hw.tpe.rows_array import RowCount, skew
from hw.tpe.stationary_block_column import StationaryBlockColumn
from hw.tpe.turns import Turns

__all__ = ["StationaryBlocks"]

_LATE = 3
"""Tiles that may end before the count of tiles knows."""


class StationaryBlocks:
    """Control, columns and output of a weight-stationary array of blocks.

    The array has no enable. Rows of A enter one per cycle as in any other, zeros where none is; so
    a turn without operands adds nothing. The last beat of a tile waits until there is room for its
    rows of C, which are written to a memory for each column. Weights need no bus: row r of a beat
    of B goes to the elements of its row r cycles after the beat began, to all columns that it
    reaches before its next one, and one turn later to as many more; there it waits for its codes
    of A.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: the array.
    family : Family
        How: the device.
    packing : str
        How: products in a block; one.
    dsps : int
        How: blocks that may be used; columns beyond are of logic.

    Raises
    ------
    ValueError
        Operands do not fit a block, or `dsps` is less than the blocks of a column.
    """

    def __init__(self, spec: SystolicWsSpec, family: Family, packing: str, dsps: int):
        if packing not in {"auto", "none"}:
            raise ValueError(f"packing must be 'auto' or 'none' with systolic_ws, not {packing!r}")
        Packing.densest(spec.a_format, spec.b_format, family.multiplier, most=1)
        blocks = family.stationary(spec.accumulator_width)
        fabric = RowStationary(family, spec.accumulator_width, like=blocks)
        self.spec = spec
        self.family = family
        self.of_blocks = groups_of_blocks(dsps, spec.n, spec.k, "a column")
        self.column = StationaryBlockColumn(spec, blocks)
        self.fabric = StationaryBlockColumn(spec, fabric, "_fabric")
        on_their_way = (self._delay + spec.n + spec.m + _LATE) // spec.turn + 2
        least = (on_their_way + _LATE) * spec.m
        self.slots = on_their_way
        depth = max(family.rows, 1 << (least - 1).bit_length())
        self.store = family.row_store(spec.accumulator_width, depth)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The columns, and the memory behind one."""
        ends = (self._column(0), self._column(self.spec.n - 1))
        kinds = {column.module: column for column in ends}
        return (*kinds.values(), self.store)

    def _column(self, number: int) -> StationaryBlockColumn:
        """Return what a column is: the last ones are those of logic."""
        return self.column if number < self.of_blocks else self.fabric

    @property
    def dsps(self) -> int:
        """Multiplier blocks."""
        return self.of_blocks * self.spec.k

    @property
    def _delay(self) -> int:
        """Cycles from the first row of A of a beat to the row of C, in column 0."""
        return 1 + self.column.latency

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C; may be negative."""
        return self._delay + self.spec.n - 1 + 3 - (self.spec.turn - 1)

    def build(self, m: Module, i_a: Any, i_b: Any, o_c: Any) -> None:
        """Connect the array to the engine's streams."""
        spec = self.spec
        m.submodules.turns = turns = Turns(spec)
        m.submodules.rows = rows = RowCount(spec, self._delay)
        room = has_room(m, turns.finish, o_c, self.slots, _LATE)
        last = i_a.payload.last
        m.d.comb += [
            turns.move.eq(1),
            turns.valid.eq(i_a.valid & i_b.valid & (room | ~last)),
            turns.last.eq(last),
            i_a.ready.eq(turns.accept),
            i_b.ready.eq(turns.accept),
            rows.move.eq(1),
            rows.finish.eq(turns.finish),
        ]
        swap, clear = Signal(spec.k), Signal()
        m.d.sync += [swap.eq(turns.row[: spec.k]), clear.eq(turns.clear)]
        codes = self._row_of_a(m, turns, i_a.payload.data)
        crossing: Value = Cat(skew(m, C(1, 1), "a", codes, spec.k, spec.a_width))
        weights: Value = i_b.payload.data
        load: Value = turns.row[: spec.k]
        before: Value = load
        sums: list[Value] = []
        for number in range(spec.n):
            if number and number % spec.turn == 0:
                weights, load = self._hold(m, weights, load, number), before
            m.submodules[f"column{number}"] = column = self._column(number).place()
            m.d.comb += [
                column.i_a.eq(crossing),
                column.i_b.eq(Cat(self._weight(weights, row, number) for row in range(spec.k))),
                column.i_load.eq(load),
                column.i_swap.eq(swap),
                column.i_clear.eq(clear),
            ]
            before = swap
            crossing, swap, clear = column.o_a, column.o_swap, column.o_clear
            sums.append(column.o)
        collect(m, self.store, sums, rows.valid, o_c, rows=spec.m, together=1)

    def _row_of_a(self, m: Module, turns: Turns, codes: Value) -> Value:
        """Return the row of A that enters in a cycle of a turn, a cycle later; else zeros."""
        spec = self.spec
        width = spec.k * spec.a_width
        rows = [codes.word_select(row, width) for row in range(spec.m)]
        rows += [C(0, width)] * (spec.turn - spec.m)
        # Cycles of a turn are counted down, but from 0.
        chosen = Array(rows[:1] + rows[:0:-1])[turns.left]
        row = Signal(width, name="row", reset_less=True)
        # Those of `turns.row` are all over the array; row 1 is in when `left` is `turn - 1`.
        begin, going, entered = turns.row[0], Signal(), Signal()
        if spec.m > 1:
            m.d.sync += going.eq(begin | (going & (turns.left != spec.turn - spec.m + 1)))
        # Zeros are the next registers' reset, as `begin` comes late.
        m.d.sync += [row.eq(chosen), entered.eq(begin | going)]
        return Mux(entered, row, 0)

    def _weight(self, weights: Value, row: int, column: int) -> Value:
        """Return one of the codes of B."""
        return weights.word_select(row * self.spec.n + column, self.spec.b_width)

    def _hold(self, m: Module, weights: Value, load: Value, first: int) -> Value:
        """Keep the weights of columns from `first` on for a turn more."""
        spec = self.spec
        held = Signal(len(weights), name=f"held{first}", reset_less=True)
        for row in range(spec.k):
            with m.If(load[row]):
                m.d.sync += [
                    self._weight(held, row, column).eq(self._weight(weights, row, column))
                    for column in range(first, spec.n)
                ]
        return held
