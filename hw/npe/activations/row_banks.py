"""Two banks of rows: the next row comes while the last is read."""

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.npe.vector import VectorUnitSpec
from hw.lib.shared_module import NO_COLLISION
from hw.npe.activations.row_beats import RowContext, ValueBeat, scaling_fields
from hw.npe.activations.row_greatest import greatest
from hw.npe.activations.row_order import RowOrder, numbers_of

__all__ = ["RowBanks"]


class RowBanks(wiring.Component):
    """Stores two rows in turn, and replays them any number of times.

    Latency: beats are in `o_data` in the cycle after ``reading``. Throughput: one beat per cycle
    in, and out in the passes of a softmax or a norm; else as
    :class:`~hw.npe.activations.row_order.RowOrder` orders them. The bank of a row that is read
    for the last time is written behind that, unless the row is requantised: then when all of it
    has been read.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: lanes, width, length.

    Members
    -------
    i : In(stream)
        :class:`ValueBeat`.
    full : Out(2)
        Whether a bank has a row that has not been read for the last time, nor is.
    o_row0, o_row1 : Out
        :class:`RowContext` of each bank, until its next row is complete; ``top`` a cycle later.
    move : In(1)
        Clock enable of the reading side.
    start, bank, final : In(1)
        Read a bank from the next cycle on; it is the last time.
    end : In
        Last beat of the row that is read, from then on.
    reading, last : Out(1)
        A beat is read; it is the pass's last.
    o_data : Out
        The beat that was read.
    operation : In
        Of the pass, in builds that requantise rows.
    first, other : Out(1)
        Of the beat that is read, see :class:`~hw.npe.activations.row_order.RowOrder`; likewise.
    o_block_top : Out
        Where shares are built: the greatest value of the block of `o_data`.
    block_ends : Out(1)
        The beat that is read is its block's last; likewise.
    """

    i: stream.Interface
    full: Signal
    o_row0: data.View
    o_row1: data.View
    move: Signal
    start: Signal
    bank: Signal
    final: Signal
    end: Signal
    reading: Signal
    last: Signal
    o_data: Signal
    operation: Signal
    first: Signal
    other: Signal
    o_block_top: Signal
    block_ends: Signal

    def __init__(self, spec: VectorUnitSpec):
        self.spec = spec
        self.blocks = spec.builds(spec.SHARES)
        super().__init__({
            "i": In(stream.Signature(ValueBeat(spec))),
            "full": Out(2),
            "o_row0": Out(RowContext(spec)),
            "o_row1": Out(RowContext(spec)),
            **dict.fromkeys(("move", "start", "bank", "final"), In(1)),
            "end": In(range(spec.beats)),
            **dict.fromkeys(("reading", "last"), Out(1)),
            "o_data": Out(spec.lanes * spec.width),
            **(
                {"operation": In(spec.operation_width), "first": Out(1), "other": Out(1)}
                if spec.scales
                else {}
            ),
            **(
                {"o_block_top": Out(signed(spec.width)), "block_ends": Out(1)}
                if self.blocks
                else {}
            ),
        })

    def elaborate(self, platform):
        m = Module()
        spec, layout = self.spec, self.i.payload
        behind = Signal(range(spec.beats))
        if spec.scales and not len(behind):
            behind = Signal(name="behind")  # one beat, of each of two operands
        # A beat is written behind those that are still to be read.
        memory: Memory[int, Value] = Memory(
            shape=len(layout.data), depth=2 << len(behind), init=[], attrs={NO_COLLISION: "1"}
        )
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        into, source = Signal(), Signal()
        full, draining, first = Signal(2), Signal(), Signal(init=1)
        rows = [self._row(bank) for bank in (0, 1)]
        most, closed = Signal(signed(spec.width)), Signal(2)
        address, read_before = (self._ordered if spec.scales else self._counted)(m, behind)
        begins = [self._begins(behind)] if self.blocks else []
        top, *block_tops = greatest(m, spec, layout, write.en, first, *begins)
        for block_top in block_tops:
            self._keep_tops(m, block_top, (write.en, Cat(behind, into)), Cat(address, source))
        m.d.comb += [
            # Beats of a row that leaves make place once they are read.
            self.i.ready.eq(
                ~full.bit_select(into, 1) & (~draining | (source != into) | read_before)
            ),
            most.eq(top),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(Cat(behind, into)),
            write.data.eq(layout.data),
            read.en.eq(self.move),
            read.addr.eq(Cat(address, source)),
            self.full.eq(full),
            self.o_row0.eq(rows[0]),
            self.o_row1.eq(rows[1]),
            self.o_data.eq(read.data),
        ]
        with m.If(self.move & self.reading & self.last):
            m.d.sync += draining.eq(0)
        with m.If(self.start):
            m.d.sync += [source.eq(self.bank), draining.eq(self.final)]
        ends, last_beat = self._end(m, behind)
        with m.If(write.en):
            m.d.sync += [behind.eq(behind + 1), first.eq(layout.last)]
        with m.If(write.en & layout.last):
            m.d.sync += [behind.eq(0), into.eq(~into)]
            if spec.builds(spec.PAIRS):
                with m.If(~ends):
                    m.d.sync += [behind.eq(1 << len(behind) - 1), into.eq(into)]
        for bank, row in enumerate(rows):
            with m.If(closed[bank]):
                m.d.sync += row.top.eq(most)
            m.d.sync += closed[bank].eq(0)
            with m.If(write.en & ends & (into == bank)):
                m.d.sync += [full[bank].eq(1), closed[bank].eq(1)]
                self._take_row(m, row, last_beat)
            with m.Elif(self.start & self.final & (self.bank == bank)):
                m.d.sync += full[bank].eq(0)
        return m

    @property
    def _low(self) -> int:
        """Bits of the number of a beat within its block, in a bank that has as many."""
        return exact_log2(self.spec.block // self.spec.lanes)

    def _begins(self, behind: Value) -> Value:
        """Return whether a beat is the first of its block."""
        return behind[: self._low] == 0

    def _keep_tops(self, m: Module, top: Value, written: tuple[Value, Value], read: Value) -> None:
        """Keep the greatest value of each block, so far until it is complete, beside its beats."""
        enabled, to = written
        places = max(len(to) - 1 - self._low, 0)

        def place(address: Value) -> Value:
            return Cat(address[self._low : -1][:places], address[-1])

        memory: Memory[int, Value] = Memory(
            shape=signed(self.spec.width), depth=2 << places, init=[], attrs={NO_COLLISION: "1"}
        )
        m.submodules.tops = memory
        write, out = memory.write_port(), memory.read_port()
        m.d.sync += [write.en.eq(enabled), write.addr.eq(place(to))]
        m.d.comb += [
            write.data.eq(top),
            out.en.eq(self.move),
            out.addr.eq(place(read)),
            self.o_block_top.eq(out.data),
            self.block_ends.eq(~read[:-1][: self._low] == 0),
        ]

    def _end(self, m: Module, behind: Value) -> tuple[Value, Value]:
        """Return whether a beat ends a row, or both of a pair, and the number of its last beat."""
        spec, beat = self.spec, self.i.payload
        if not spec.builds(spec.PAIRS):
            return beat.last, behind
        # Their second row comes to the upper half, which the first one does not reach.
        pair, ends = Signal(), Signal()
        m.d.comb += [
            pair.eq(beat.operation.matches(*numbers_of(spec, *spec.PAIRS))),
            ends.eq(beat.last & (~pair | behind[-1])),
        ]
        return ends, Mux(pair, behind[:-1], behind)

    def _row(self, bank: int) -> data.View:
        """Make the registers of what is known of a bank's row."""
        layout = RowContext(self.spec)
        return data.View(layout, Signal(layout.size, name=f"row{bank}", reset_less=True))

    def _take_row(self, m: Module, row: data.View, last_beat: Value) -> None:
        """Store what a row's last beat says of the row."""
        beat = self.i.payload
        m.d.sync += [row.end.eq(last_beat), row.operation.eq(beat.operation)]
        m.d.sync += row.count.eq(beat.count)
        if self.blocks:
            m.d.sync += row.divisor.eq(beat.data.word_select(beat.count, self.spec.width))
        m.d.sync += [row[name].eq(beat[name]) for name in scaling_fields(self.spec)]

    def _counted(self, m: Module, behind: Signal) -> tuple[Value, Value]:
        """Read one beat after the other; return it, and whether there is room for the next."""
        at = Signal.like(behind, reset_less=True)
        m.d.comb += self.last.eq(at == self.end)
        with m.If(self.move & self.reading):
            m.d.sync += at.eq(at + 1)
            with m.If(self.last):
                m.d.sync += self.reading.eq(0)
        with m.If(self.start):
            m.d.sync += [self.reading.eq(1), at.eq(0)]
        # What is written does not overtake what is read.
        return at, behind != at

    def _ordered(self, m: Module, behind: Signal) -> tuple[Value, Value]:
        """Read in the order of operations; return the beat, and whether the next one has room."""
        spec = self.spec
        m.submodules.order = order = RowOrder(spec, len(behind))
        # A block's greatest value is there until all of it has been read.
        direct = self.operation.matches(*numbers_of(spec, *spec.SCALED, "exps"))
        m.d.comb += [
            order.move.eq(self.move),
            order.start.eq(self.start),
            order.end.eq(self.end),
            order.operation.eq(self.operation),
            self.reading.eq(order.reading),
            self.last.eq(order.last),
            self.first.eq(order.first),
            self.other.eq(order.other),
        ]
        # The second row of a pair begins far from the first one: where nothing is read any more.
        return order.address, ~direct & ((behind < order.at) | (behind > self.end))
