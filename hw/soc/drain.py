"""From the store of sums to memory: rows of a block as sums, or requantised."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.cell import Cell
from hw.npe.requantiser import Requantisation
from hw.soc.burst import Row
from hw.soc.codes import Codes
from hw.soc.job import Geometry, bytes_of
from hw.soc.pack import Packed, Packer
from hw.soc.tiles import BlockDone

__all__ = ["Drain"]


class Drain(wiring.Component):
    """Takes the rows of finished blocks, makes codes of them, and packs them for the bus.

    Throughput: n sums a cycle, or as many codes, up to a beat of the bus.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the bus, the requantiser.

    Members
    -------
    i_geometry : In
        The job.
    i_start : In(1)
        It begins.
    i_how : In
        How sums become codes, see :class:`hw.soc.codes.Codes`; scales are those of ``i_row``.
    i : In(stream)
        :class:`BlockDone`: what blocks there will be.
    i_full : In(1)
        A half of the store of sums is complete.
    en, o_half, o_address : Out
        Read from the store; ``i_row`` is what was read with the last ``en``.
    o_column : Out
        The place of its tile in a row of tiles.
    o_free : Out(1)
        The half can be filled again.
    o_invalid : Out(1)
        In this cycle a row leaves with a sum that is no number.
    o_rows : Out(stream)
        :class:`hw.soc.burst.Row`: where rows of C go.
    o_final : Out(1)
        The row is the last one of C.
    o : Out(stream)
        :class:`hw.soc.pack.Packed`: their beats.
    o_idle : Out(1)
        No block is under way.
    """

    i_geometry: data.View
    i_start: Signal
    i_how: data.View
    i: stream.Interface
    i_full: Signal
    en: Signal
    o_half: Signal
    o_address: Signal
    i_row: Signal
    o_column: Signal
    o_free: Signal
    o_invalid: Signal
    o_rows: stream.Interface
    o_final: Signal
    o: stream.Interface
    o_idle: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        self.codes = Codes(spec) if spec.requantise else None
        ports = {
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i": In(stream.Signature(BlockDone(spec))),
            "i_full": In(1),
            "en": Out(1),
            "o_half": Out(1),
            "o_address": Out(range(spec.rows)),
            "i_row": In(spec.inside.n * spec.number_width),
            "o_column": Out(range(spec.rows)),
            "o_free": Out(1),
            "o_invalid": Out(1),
            "o_rows": Out(stream.Signature(Row(spec))),
            "o_final": Out(1),
            "o": Out(stream.Signature(Packed(spec.bytes))),
            "o_idle": Out(1),
        }
        if spec.requantise and spec.inside.result is None:
            ports["i_how"] = In(Requantisation(spec.requantiser))
        super().__init__(ports)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The column of the requantiser."""
        return () if self.codes is None else self.codes.cells

    def elaborate(self, platform):
        m = Module()
        spec, job, block = self.spec, self.i_geometry, self.i.payload
        codes = job.requantised if spec.requantise else C(0, 1)
        n = spec.inside.n

        def length(numbers: Value) -> Value:
            """Count the bytes of so many numbers of C."""
            return Mux(codes, bytes_of(numbers, spec.code_bits), numbers * spec.sum_bytes)

        # Addresses of rows, ahead of their sums.
        full = Signal(2)
        start, row, offset = (
            Signal(spec.address_width, name=name) for name in ("start", "row", "offset")
        )
        address = Signal(spec.address_width)
        rows = Signal(spec.DIMENSION_WIDTH)
        busy, asks, done = Signal(), Signal(), Signal()
        packers = [Packer(spec.bytes, n * spec.sum_bytes)]
        if spec.requantise:
            packers.append(Packer(spec.bytes, n * spec.code_bits // 8))
        ready = Mux(codes, packers[-1].i_row.ready, packers[0].i_row.ready)
        m.d.comb += [
            address.eq(row + offset),
            self.o_rows.payload.address.eq(address),
            self.o_rows.payload.bytes.eq(length(block.columns)),
            self.o_rows.valid.eq(busy & (rows != 0) & ready),
            self.o_final.eq(block.last_row & block.last_column & (rows == 1)),
            asks.eq(self.o_rows.valid & self.o_rows.ready),
        ]
        with m.If(asks):
            m.d.sync += [row.eq(row + job.ldc), rows.eq(rows - 1)]

        # Sums, row by row of the block.
        left, columns = (Signal(spec.DIMENSION_WIDTH, name=name) for name in ("left", "columns"))
        base, column = Signal(range(spec.rows)), Signal(range(spec.rows))
        half, valid, move, ends, held = (Signal(name=name) for name in (
            "half", "valid", "move", "ends", "held"
        ))  # fmt: skip
        right = columns <= n
        m.d.comb += [
            self.en.eq(busy & (left != 0) & move),
            self.o_half.eq(half),
            self.o_address.eq(base + column),
            self.o_column.eq(column),
            ends.eq(self.en & right & (left == 1)),
            # What was read last stands at the store's output until it is taken.
            self.o_free.eq(held & move),
        ]
        # Columns beyond C are no part of a byte, and no number that is none.
        inside = Signal(n, reset_less=True)
        with m.If(self.en):
            m.d.sync += inside.eq(Cat(columns > number for number in range(n)))
            m.d.sync += [columns.eq(columns - n), column.eq(column + 1)]
            with m.If(right):
                m.d.sync += [columns.eq(block.columns), column.eq(0)]
                m.d.sync += [base.eq(base + job.across), left.eq(left - 1)]
        with m.If(move):
            m.d.sync += [valid.eq(self.en), held.eq(ends)]
        with m.If(ends):
            m.d.sync += half.eq(~half)

        m.d.sync += full.eq(full + self.i_full - ends)
        m.d.comb += [
            done.eq(busy & (rows == 0) & (left == 0)),
            self.i.ready.eq(done),
            self.o_idle.eq(~busy & ~self.i.valid),
        ]
        with m.If(self.i_start):
            m.d.sync += [start.eq(job.c), row.eq(job.c), offset.eq(0)]
        with m.Elif(~busy & self.i.valid & (full != 0)):
            m.d.sync += [busy.eq(1), rows.eq(block.rows), left.eq(block.rows)]
            m.d.sync += [columns.eq(block.columns), base.eq(0), column.eq(0)]
        with m.Elif(done):
            m.d.sync += busy.eq(0)
            leaves_row = Mux(job.by_columns, 1, block.last_column)
            with m.If(~leaves_row):
                m.d.sync += row.eq(start)
            with m.Elif(block.last_row):
                m.d.sync += [start.eq(job.c), row.eq(job.c)]
            with m.Else():
                m.d.sync += start.eq(row)
            with m.If(~job.by_columns & block.last_column):
                m.d.sync += offset.eq(0)
            with m.Elif(~job.by_columns | block.last_row):
                m.d.sync += offset.eq(offset + length(job.columns))

        width = spec.number_width
        numbers = [
            self.i_row.word_select(number, width) & inside[number].replicate(width)
            for number in range(n)
        ]
        self._pack(m, packers, numbers, codes, valid, move, length(block.columns), address, asks)
        return m

    def _pack(
        self,
        m: Module,
        packers: list[Packer],
        numbers: list[Value],
        codes: Value,
        valid: Value,
        move: Value,
        length: Value,
        address: Value,
        asks: Value,
    ) -> None:
        """Send rows of sums to their packer, or through the requantiser to that of codes."""
        spec = self.spec
        for number, packer in enumerate(packers):
            chosen = codes == number
            m.submodules[f"packer{number}"] = packer
            m.d.comb += [
                packer.i_row.valid.eq(asks & chosen),
                packer.i_row.payload.offset.eq(0 if spec.STREAM else address),
                packer.i_row.payload.bytes.eq(length),
                packer.o.ready.eq(self.o.ready & chosen),
            ]
            with m.If(chosen):
                m.d.comb += [self.o.valid.eq(packer.o.valid), self.o.payload.eq(packer.o.payload)]
        inside, wide = spec.inside, []
        for number, value in enumerate(numbers):
            total = value[: inside.sum_width]
            wide.append(Signal(8 * spec.sum_bytes, name=f"sum{number}"))
            m.d.comb += wide[-1].eq(total.as_signed() if inside.signed else total)
        m.d.comb += [
            packers[0].i.valid.eq(valid & ~codes),
            packers[0].i.payload.data.eq(Cat(wide)),
        ]
        taken: Value = packers[0].i.ready
        if self.codes is not None:
            m.submodules.codes = unit = self.codes
            m.d.comb += [
                unit.i_geometry.eq(self.i_geometry),
                unit.i.valid.eq(valid & codes),
                unit.i.payload.eq(Cat(numbers)),
                packers[1].i.valid.eq(unit.o.valid),
                packers[1].i.payload.data.eq(unit.o.payload),
                unit.o.ready.eq(packers[1].i.ready),
            ]
            if inside.result is None:
                m.d.comb += unit.i_how.eq(self.i_how)
            taken = Mux(codes, unit.i.ready, taken)
        m.d.comb += move.eq(~valid | taken)
        if inside.flags:
            flags = Cat(value[-1] for value in numbers)
            m.d.comb += self.o_invalid.eq(valid & taken & flags.any())
