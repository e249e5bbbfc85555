"""Arrays that process weights bit plane by bit plane: multi-cycle beats, corrected sums."""

from dataclasses import dataclass, replace

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from golden.check import Flag, Integer, Parameter
from golden.formats.integer import IntFormat
from golden.tpe.rows import RowsEngineSpec
from hw.arith.bit_heap import BitHeap
from hw.lib.array_entry import ArrayEntry
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.lib.shared_module import Placement, SharedModule
from hw.pe.bitplane_lane import LINES, BitplaneLane
from hw.pe.element import Element, SumModule
from hw.pe.lut_table import Table
from hw.pe.mac import MacElement
from hw.tpe.broadcast import BroadcastColumn, place_columns
from hw.tpe.rows_array import RowsArray, late, skew
from hw.tpe.rows_column import RowsColumn

__all__ = ["PLANE_BUILD", "Correction", "BitplaneEngine"]

PLANE_BUILD: dict[str, Parameter] = {
    "pipeline": replace(Element.BUILD["pipeline"], default=0),
    "adder": MacElement.BUILD["adder"],
    "slack": Integer("extra adder delay allowed, for fewer carry bits", 0, 0, 64, "XOR gates"),
    "held": Flag("registers between lanes and adder; always on with more than 8 rows", True),
}


@dataclass(frozen=True, kw_only=True)
class Correction:
    """A correction of sums: from a row's activations, and from the parities of their groups.

    Members
    -------
    fmt, count : format and number of inputs per row: activations, or partial sums of them.
    activations, parities : factors of both.
    group : activations per parity.
    shift : log2 of a factor of the whole correction.
    dropped : lowest bits of the correction that are always 0, and are left out.
    """

    fmt: IntFormat
    count: int
    activations: int
    parities: int = 0
    group: int = 1
    shift: int = 0
    dropped: int = 0


class ActivationSum(BitplaneLane):
    """Accumulates a correction over the activations of all beats.

    Members: see :class:`BitplaneLane`; the control lines are ``i_b``.

    Parameters
    ----------
    correction : Correction
        What: activations and factors.
    width : int
        What: bits of the accumulator.
    pipeline : int
        How: registers between activations and accumulator.
    """

    module = "activations"
    controls = 0

    def __init__(self, correction: Correction, *, width: int, pipeline: int):
        self.correction = correction
        operands = correction.count * correction.fmt.width
        super().__init__(operands, LINES - 1, width=width, planes=1, pipeline=pipeline)

    @property
    def lines(self) -> Value:
        """Control lines: a beat is valid; a sum begins with it."""
        return self.i_b

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        correction, fmt = self.correction, self.correction.fmt
        codes = [a.word_select(number, fmt.width) for number in range(correction.count)]
        for code in codes:
            for weight, bit in enumerate(code):
                negative = fmt.signed and weight == fmt.width - 1
                _times(heap, bit, weight, correction.activations * (-1 if negative else 1))
        for start in range(0, correction.count if correction.parities else 0, correction.group):
            odd = Signal(name=f"odd{start}")
            lowest = Cat(code[0] for code in codes[start : start + correction.group])
            m.d.comb += odd.eq(lowest.xor())
            _times(heap, odd, 0, correction.parities)
        return heap

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Accumulate; the dropped bits are 0 after each cycle, and need no register."""
        columns = super()._accumulate(m, products, accumulator)
        return [
            [C(0, 1)] if weight < self.correction.dropped and len(column) == 1 else column
            for weight, column in enumerate(columns)
        ]


def _times(heap: BitHeap, bit: Value, low: int, factor: int) -> None:
    """Put a bit times a factor on a heap, with the fewest bits: the factor's signed digits."""
    weight = low
    while factor:
        digit = 2 - factor % 4 if factor % 2 else 0
        if digit:
            heap.add_bit(bit, weight, negative=digit < 0)
        factor = (factor - digit) // 2
        weight += 1


class CorrectionColumn(RowsColumn):
    """Corrections for all columns, one per row, a cycle before they are needed."""

    module = "correction"

    @property
    def adds(self) -> bool:
        """Whether there is an adder: always, for the same latency as other columns."""
        return True

    def connect(self, m: Module, rows: list[Placement]) -> None:
        """Connect each row to its inputs."""
        bits: list[Value] = [self.i_b] * len(rows)
        if not self.spec.together:
            bits = late(m, self.en, "b", self.i_b, len(rows))
        for number, (row, bit) in enumerate(zip(rows, bits, strict=True)):
            m.d.comb += [
                row.i_a.eq(self.i_a.word_select(number, len(row.i_a))),
                row.i_b.eq(bit),
                row.i_clear.eq(self.i_clear[number]),
            ]


class CorrectedColumn(BroadcastColumn):
    """A column that adds a correction to its sums as it resolves them.

    Members
    -------
    i_more : In
        The correction, times 2^-shift.
    """

    i_more: Signal

    def __init__(
        self, spec: RowsEngineSpec, element: SumModule, adder: str, *, held: bool, shift: int
    ):
        self.shift = shift
        more = In(element.layout.width - shift)
        super().__init__(spec, element, adder, held=held, i_more=more)

    @property
    def adds(self) -> bool:
        """Whether there is an adder: always."""
        return True

    def settle(self, m: Module, rows: list[list[Value]]) -> list[list[Value]]:
        """Add the number."""
        heap = BitHeap(len(rows))
        heap.add_columns(rows)
        heap.add_term(list(self.i_more), self.shift, signed=False)
        return heap.compress(m, [2] * len(rows))


class BitplaneEngine(RowsArray):
    """Multiplies matrices by m x n lanes that process one bit of each weight per cycle.

    A beat of A and B takes one cycle per bit plane and is accepted with the last one; or it takes
    one cycle and is sent again in each pass, one pass per plane. A row of A, or its tables, is
    broadcast to the n lanes of its row of the array; a plane of a column of B to the m lanes of its
    column, each row one cycle after the one above, or all rows at once, so that a column registers
    its plane once and A needs no delay.

    Latency, last plane of a tile to its row 0: :attr:`latency` cycles. Throughput: m n k one-bit
    multiply-accumulates per cycle. Stalls: as :class:`hw.tpe.rows_engine.RowsEngine`, between
    planes too. Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: tile, formats, k_max.
    element : BitplaneLane
        How: the lane.
    correction : Correction or None
        What: added to sums.
    dropped : int
        How: lowest bits of sums that are not in C.
    pipeline : int
        How: registers between operands and accumulators.
    adder : str
        How: carry propagation, once per column and in tables.
    slack : int
        How: extra adder delay allowed, in XOR gates, so that accumulators keep fewer carry bits.
        Without carry bits a column needs no adder, unless sums are corrected.
    held : bool
        How: see :class:`hw.tpe.rows_column.RowsColumn`.

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.
    """

    spec: RowsEngineSpec
    column: BroadcastColumn
    table: Table | None = None
    """Table generator of a group of codes, or None."""

    def __init__(
        self,
        spec: RowsEngineSpec,
        element: BitplaneLane,
        *,
        adder: str,
        held: bool,
        correction: Correction | None = None,
        dropped: int = 0,
    ):
        self.planes, self.passes = spec.planes, spec.passes
        self.dropped = dropped
        self.element = element
        self.correction: CorrectionColumn | None = None
        column = BroadcastColumn(spec, element, adder, held=held)
        if correction is not None:
            sums = ActivationSum(
                correction,
                width=element.layout.width - correction.shift + correction.dropped,
                pipeline=element.pipeline,
            )
            self._unused = correction.dropped
            column = CorrectedColumn(spec, element, adder, held=held, shift=correction.shift)
            self.correction = CorrectionColumn(spec, sums, adder, held=held)
        ports = {
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        }
        super().__init__(spec, column, ports)

    def code(self, m: Module, a: Value) -> Value:
        """Convert a row's k codes to lane operands: the codes, or their tables."""
        if self.table is None:
            return a
        tables = []
        width = len(self.table.i)
        for number in range(len(a) // width):
            m.submodules += (table := self.table.place())
            m.d.comb += table.i.eq(a.word_select(number, width))
            tables.append(table.o)
        return Cat(tables)

    def summands(self, m: Module, move: ValueLike, operands: list[Value]) -> Value:
        """Extract from the rows' operands the inputs of their corrections."""
        return Cat(operands)

    def weights(self, m: Module, codes: list[Value], plane: int) -> Value:
        """Extract the bits of one plane from a column's k codes."""
        return Cat(code[plane] for code in codes)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column, the correction column, and the table."""
        return tuple(filter(None, (self.column, self.correction, self.table)))

    @property
    def operations_per_cycle(self) -> float:
        """A multiplication and an addition per product."""
        return 2 * self.spec.m * self.spec.n * self.spec.k / (self.planes * self.passes)

    def ends(self, m: Module, feed: ArrayEntry) -> tuple[Value, Value, Value]:
        """Accept a beat with its last plane; a tile ends with its last pass."""
        end, several = self.i_a.payload.last, self.planes > 1
        if self.planes == self.passes == 1:
            self._lines: Value = C(1, 1)
        else:
            lines = Signal(self.planes * self.passes, init=1, name="plane")
            begins = Signal(reset_less=True)
            with m.If(feed.accept & (several | end)):
                m.d.sync += lines.eq(lines.rotate_left(1))
            with m.If(feed.accept):
                m.d.sync += begins.eq(end)
            self._lines = lines
            self._doubles = begins & ~lines[0]
        last = self._lines[-1]
        return end & last, feed.accept & (last if several else C(1, 1)), feed.finish

    def _control(self, m: Module, move: ValueLike, feed: ArrayEntry) -> Value:
        """Make the lanes' control lines; a sum begins with the first beat after another left."""
        left = Signal(reset_less=True)
        begins = feed.accept & (feed.clear | left)
        with m.If(move):
            m.d.sync += left.eq((feed.clear | left) & ~feed.accept)
        moves = self._doubles if self.passes > 1 else self._lines[0]
        return Cat(feed.accept, begins, moves)[: self.element.controls]

    def build(self, m: Module, move: ValueLike, feed: ArrayEntry, clear: Value) -> Value:
        """Make the lanes' operands, place the lanes, and correct their sums."""
        spec = self.spec
        a = self.i_a.payload.data
        # A separate signal: selecting a bit of a slice costs Amaranth as much as the whole slice.
        b = Signal.like(Value.cast(self.i_b.payload.data), name="b")
        m.d.comb += b.eq(self.i_b.payload.data)
        lines = self._lines
        width = spec.a_codes * spec.a_code_width
        operands: list[Value] = [a.word_select(row, width) for row in range(spec.m)]
        control = self._control(m, move, feed)
        controls = [control] * spec.m
        if not spec.together:
            operands = skew(m, move, "a", a, spec.m, width)
            controls = late(m, move, "control", control, spec.m)
        rows = [
            Cat(self.code(m, row), lines) for row, lines in zip(operands, controls, strict=True)
        ]
        columns = []
        for number in range(spec.n):
            places = range(number, spec.n * spec.b_codes, spec.n)
            codes = [b.word_select(at, spec.b_code_width) for at in places]
            columns.append(_select([self.weights(m, codes, p) for p in range(self.planes)], lines))
        placed = place_columns(m, move, self.column, Cat(rows), columns, clear)
        if self.correction is not None:
            m.submodules.correction = correction = self.correction.place()
            m.d.comb += [
                correction.en.eq(move),
                correction.i_a.eq(self.summands(m, move, operands)),
                correction.i_b.eq(Cat(feed.accept & lines[0], control[1])),
                correction.i_clear.eq(clear),
                *(column.i_more.eq(correction.o[self._unused :]) for column in placed),
            ]
        return Cat(column.o[self.dropped :] for column in placed)


def _select(planes: list[Value], lines: Value) -> Value:
    """Select the plane whose line is set."""
    if len(planes) == 1:
        return planes[0]
    if len(planes) == 2:
        return Mux(lines[1], planes[1], planes[0])
    return Cat(
        Cat(line & bit for line, bit in zip(lines, bits, strict=True)).any()
        for bits in zip(*planes, strict=True)
    )
