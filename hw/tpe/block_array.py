"""Array of a device's own multiplier blocks: it never stops, its sums leave by themselves."""

from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from golden.tpe.rows import RowsEngineSpec
from hw.device import Family
from hw.device.choice import groups_of_blocks
from hw.lib.shared_module import Placement, SharedModule
from hw.pe.block_element import BlockElement
from hw.pe.cascade_element import make_block_element
from hw.pe.fabric_element import FabricElement
from hw.tpe.row_collector import collect, has_room
from hw.tpe.rows_array import skew

__all__ = ["BlockArray", "BlockColumn"]

_ALWAYS = C(1, 1)
_LATE = 2
"""Tiles that may end before the count of tiles knows, which is three cycles late."""


class BlockColumn(SharedModule):
    """Elements one below the other; their sums are a shift register.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: the array.
    element : BlockElement
        How: of each of its rows; it passes B on if rows take it one after the other.
    module : str
        How: name of the Verilog module.

    Members
    -------
    i_a, i_keep, i_b : In
        As the elements', row 0 lowest.
    o_a, o_keep : Out
        As the elements', if they pass A on.
    o : Out
        Sums of the last row.
    """

    i_a: Signal
    i_keep: Signal
    i_b: Signal
    o_a: Signal
    o_keep: Signal
    o: Signal

    def __init__(self, spec: RowsEngineSpec, element: BlockElement, module: str = "column"):
        self.module = module
        self.element = element
        self.elements = -(-spec.m // element.rows)
        a, rows = self.elements * len(element.i_a), self.elements * element.rows
        passed: dict[str, Member] = {}
        if element.passes_a:
            passed = {"o_a": Out(a), "o_keep": Out(rows)}
        super().__init__({
            "i_a": In(a),
            "i_keep": In(rows),
            "i_b": In(len(element.first.i_b)),
            "o": Out(element.columns * spec.accumulator_width),
            **passed,
        })

    @property
    def rows(self) -> int:
        """Rows of sums; the last ones of the array may be more than the tile has."""
        return len(self.i_keep)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The elements."""
        first, others = self.element.first, (self.element,)[: self.elements - 1]
        return others if first in others else (first, *others)

    def elaborate(self, platform):
        m = Module()
        element = self.element
        b: Value = self.i_b
        above: Value = C(0, 0)
        for number in range(self.elements):
            m.submodules[f"pe{number}"] = pe = (element if number else element.first).place()
            m.d.comb += [
                pe.i_a.eq(self.i_a.word_select(number, len(element.i_a))),
                pe.i_keep.eq(self.i_keep.word_select(number, element.rows)),
                pe.i_b.eq(b),
            ]
            if number:
                m.d.comb += pe.i_sums.eq(above)
            if element.passes_a:
                m.d.comb += [
                    self.o_a.word_select(number, len(element.i_a)).eq(pe.o_a),
                    self.o_keep.word_select(number, element.rows).eq(pe.o_keep),
                ]
            if element.passes_b:
                b = pe.o_b
            above = getattr(pe, element.DOWN)
        m.d.comb += self.o.eq(self._leave(m, pe))
        return m

    def _leave(self, m: Module, last: Placement) -> Value:
        """Return the sums that leave, from the last element."""
        return Cat(self.element.finish(m, last.o_sums))


class BlockArray:
    """Control, columns and output of an array of blocks, for an engine of rows.

    The array has no enable: when no beat comes, zeros do. After the last beat of a tile the sums
    move down, one row in a cycle, while zeros follow: the last element has row 0 of C, so that it
    comes out first, and A's rows are given out from the last element up. So a tile of `beats` beats
    takes `beats` + :attr:`gap` cycles. Each column writes its sums to a memory of its own, from
    which rows are read when all columns have written them; a beat that ends a tile waits for room.
    Columns beyond those for which there are blocks are of logic, in step with the others.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: the array.
    family : Family
        How: the device.
    packing : str
        How: products in a block, of :data:`hw.device.PACKINGS`.
    dsps : int
        How: blocks that may be used.
    systolic : bool
        How: A moves from column to column, one in a cycle; else all take it at once.

    Raises
    ------
    ValueError
        Operands do not fit a block, or `dsps` is less than the blocks of a column.
    """

    ZERO_B: ClassVar[bool] = False
    """B too is zero when no beat comes. Operands are registered first: one bit decides for all."""

    def __init__(
        self, spec: RowsEngineSpec, family: Family, packing: str, dsps: int, *, systolic: bool
    ):
        self.spec = spec
        self.family = family
        self.systolic = systolic
        self.element = self._make_element(packing)
        self.column = self._make_column(self.element, "column")
        self.columns = -(-spec.n // self.element.columns)
        each = self.column.elements * self.element.blocks
        self.of_blocks = groups_of_blocks(dsps, self.columns, each, "a column")
        self.fabric = self._make_column(self._make_fabric(), "column_fabric")
        on_their_way = -(-(self.latency + spec.m + _LATE) // (self.gap + 1)) + 1
        self.depth = max(family.rows, 1 << ((on_their_way + _LATE) * spec.m - 1).bit_length())
        self.slots = self.depth // spec.m - _LATE
        self.store = family.row_store(spec.accumulator_width, self.depth)

    def _make_element(self, packing: str) -> BlockElement:
        """Make the element."""
        spec = self.spec
        passed = {"passes_a": self.systolic, "passes_b": not spec.together}
        return make_block_element(spec.element, self.family, packing, spec.n, **passed)

    def _make_fabric(self) -> BlockElement:
        """Make the element of logic that goes with it."""
        return FabricElement(self.element)

    def _make_column(self, element: BlockElement, module: str) -> BlockColumn:
        """Make a column."""
        return BlockColumn(self.spec, element, module)

    def _column(self, number: int) -> BlockColumn:
        """Return what a column is: the last ones are those of logic."""
        return self.column if number < self.of_blocks else self.fabric

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The columns, and the memory behind one."""
        ends = (self._column(0), self._column(self.columns - 1))
        kinds = {column.module: column for column in ends}
        return (*kinds.values(), self.store)

    @property
    def dsps(self) -> int:
        """Multiplier blocks."""
        return self.of_blocks * self.column.elements * self.element.blocks

    @property
    def gap(self) -> int:
        """Idle cycles between two tiles."""
        return self.column.rows

    @property
    def _spread(self) -> int:
        """Cycles from the first row's operands to the last one's."""
        return 0 if self.spec.together else self.column.elements - 1

    @property
    def _until_done(self) -> int:
        """Cycles from the last beat to the first in which all sums of column 0 are complete."""
        return 1 + self.ZERO_B + self._spread + self.element.latency + 1

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        written = self._until_done + (self.columns - 1 if self.systolic else 0)
        return written + self.element.late + 3

    def build(self, m: Module, i_a: Any, i_b: Any, o_c: Any) -> None:
        """Connect the array to the engine's streams."""
        accept, closing = Signal(), i_a.valid & i_b.valid & i_a.payload.last
        is_open = self._opening(m, closing, o_c)
        last = is_open & closing
        m.d.comb += [
            accept.eq(is_open & i_a.valid & i_b.valid),
            i_a.ready.eq(accept),
            i_b.ready.eq(accept),
        ]
        a, b = self._operands(m, accept, i_a.payload.data, i_b.payload.data)
        keep, write = self._ends(m, last)
        sums = self._place(m, a, b, keep)
        together = self.element.columns if self.systolic else self.spec.n
        collect(m, self.store, sums, write, o_c, rows=self.spec.m, together=together)

    def _opening(self, m: Module, closing: Value, o_c: Any) -> Value:
        """Let beats in: a tile of them, then a gap for its sums, and more of it without room.

        `closing` is a last beat that is offered.
        """
        is_open, waits = Signal(), Signal()
        gap = Signal(self.gap, init=1)
        opens = gap[-1] | waits
        room = has_room(m, is_open & closing, o_c, self.slots, _LATE)
        m.d.sync += [
            is_open.eq((is_open & ~closing) | (opens & room)),
            waits.eq(opens & ~room),
            gap.eq(Cat(is_open & closing, gap)),
        ]
        return is_open

    def _operands(self, m: Module, accept: Value, a: Value, b: Value) -> tuple[Value, list[Value]]:
        """Encode a beat; returns A of all elements, and B of each column, late as they need it."""
        spec, element, elements = self.spec, self.element, self.column.elements
        if self.ZERO_B:
            accept, a, b = (_registered(m, value) for value in (accept, a, b))
        rows = [
            [a.word_select(row * spec.k + pair, spec.a_width) for pair in range(spec.k)]
            for row in range(spec.m)
        ]
        rows += [[C(0, spec.a_width)] * spec.k] * (elements * element.rows - spec.m)
        columns = [
            [b.word_select(pair * spec.n + column, spec.b_width) for pair in range(spec.k)]
            for column in range(spec.n)
        ]
        columns += [[C(0, spec.b_width)] * spec.k] * (self.columns * element.columns - spec.n)
        rows.reverse()  # the last element has the first row
        width, b_width = len(element.i_a), len(element.first.i_b)
        # Of a systolic array, each row has its own bit that clears it: one for all would have to
        # cross the device in a cycle.
        coded_a: list[Value] = [
            Cat(element.encode_a(m, group), ~accept) for group in _groups(rows, element.rows)
        ]
        if not spec.together:
            coded_a = skew(m, _ALWAYS, "a", Cat(coded_a), elements, width + 1)
        held_a = Signal(len(self.column.i_a), name="a", reset_less=True)
        held_b = Signal(self.columns * b_width, name="b", reset_less=True)
        for number, code in enumerate(coded_a):
            m.d.sync += held_a.word_select(number, width).eq(Mux(code[width], 0, code[:width]))
        coded_b: Value = Cat(
            self._column(number).element.encode_b(m, group)
            for number, group in enumerate(_groups(columns, element.columns))
        )
        coded_b = Mux(accept, coded_b, 0) if self.ZERO_B else coded_b
        m.d.sync += held_b.eq(self.family.next_b(held_b, accept, coded_b))
        all_a: Value = held_a
        wide_b: Value = held_b
        if element.chained:
            all_a, wide_b = self._staggered(m, "a", all_a), self._staggered(m, "b", wide_b)
        all_b: list[Value] = [wide_b.word_select(number, b_width) for number in range(self.columns)]
        if self.systolic:
            all_b = skew(m, _ALWAYS, "b", wide_b, self.columns, b_width)
        return all_a, all_b

    def _staggered(self, m: Module, name: str, operands: Value) -> Value:
        """Delay pairs of elements whose blocks add up one after the other."""
        pairs = self.spec.k
        width = len(self.element.i_a if name == "a" else self.element.first.i_b) // pairs
        if pairs < 3:
            return operands
        late: list[Value] = []
        for at in range(0, len(operands), pairs * width):
            part = operands[at : at + pairs * width]
            rest = skew(m, _ALWAYS, f"{name}{at}_", part[width:], pairs - 1, width)
            late += [part[:width], *rest]
        return Cat(late)

    def _ends(self, m: Module, last: Value) -> tuple[Value, Value]:
        """Follow the end of a tile; returns ``keep`` of each row, and when column 0 is written.

        Row r of the column takes the sums above it r + 1 times: first what its element had moves
        down, at last the zeros from above. Reset is such an end, after which nothing is written.
        """
        spec = self.spec
        rows = self.column.rows
        on_its_way = Signal(self._until_done - 2, init=1)
        start, real = on_its_way[-1], Signal()
        follows = Signal(1 + self.element.late)
        keep = Signal(rows, init=(1 << rows) - 1)
        write, left = Signal(), Signal(range(spec.m))
        m.d.sync += [
            on_its_way.eq(Cat(last, on_its_way)),
            keep.eq(Mux(start, 0, Cat(C(1, 1), keep))),
            follows.eq(Cat(start & real, follows)),
        ]
        with m.If(start):
            m.d.sync += real.eq(1)
        with m.If(follows[-1]):
            m.d.sync += [write.eq(1), left.eq(spec.m - 1)]
        with m.Elif(write):
            m.d.sync += [write.eq(left != 0), left.eq(left - 1)]
        return keep, write

    def _place(self, m: Module, a: Value, b: list[Value], keep: Value) -> list[Value]:
        """Place the columns side by side; returns the sums of each column of C."""
        sums: list[Value] = []
        for number, codes in enumerate(b):
            m.submodules[f"column{number}"] = column = self._column(number).place()
            m.d.comb += [column.i_a.eq(a), column.i_keep.eq(keep), column.i_b.eq(codes)]
            if self.systolic:
                a, keep = column.o_a, column.o_keep
            width = self.spec.accumulator_width
            sums += [column.o.word_select(index, width) for index in range(self.element.columns)]
        return sums[: self.spec.n]


def _registered(m: Module, value: Value) -> Signal:
    """Register a value that reset clears only if it is one bit."""
    register = Signal(len(value), name="entering", reset_less=len(value) > 1)
    m.d.sync += register.eq(value)
    return register


def _groups(codes: Sequence[list[Value]], size: int) -> list[Sequence[list[Value]]]:
    """Split codes of rows or columns into those of elements."""
    return [codes[at : at + size] for at in range(0, len(codes), size)]
