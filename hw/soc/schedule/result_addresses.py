"""Addresses of the rows of C in memory, block by block."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION, UNINITIALISED
from hw.soc.bus.burst import Row
from hw.soc.schedule.block_done import BlockDone
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, bytes_of
from hw.soc.schedule.row_request import Bases

__all__ = ["ResultAddresses"]


class _Next(NamedTuple):
    """What a block leads to, from the cycle on in which it is known.

    Members
    -------
    on : the next one goes on where it ends.
    down : it is the last one of its row of blocks.
    done : it is the last one of its job or, by columns, of its column.
    home : the next one begins where C does.
    before : bytes of a row before the next one's columns.
    """

    on: Value
    down: Value
    done: Value
    home: Value
    before: Value


class ResultAddresses(wiring.Component):
    """Issues the address of each row of a block of C, as soon as the row leaves the store.

    A job may begin before the one before has ended, of which only its addresses may differ.

    Not earlier: an address waiting for data could block other bus managers. Latency: one cycle
    after the row begins to leave. Throughput: one row per cycle, with one idle cycle between
    blocks. A row that is offered stays.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.
    lean : bool
        How: places in block RAM, which take a cycle more, before the rows of a block.

    Members
    -------
    i_geometry : In
        The job.
    i_start : In(1)
        It begins; it is at most the fourth that has not ended.
    i_base : In
        :class:`Bases`, of C at least, before ``i_start``, while fewer than four have not ended; not
        valid while ``o_writes``.
    o_writes : Out(1)
        The memory that keeps bases is written in this cycle.
    i : In(stream)
        :class:`hw.soc.schedule.block_done.BlockDone`: the blocks to expect.
    i_row : In(1)
        A row begins to leave.
    o : Out(stream)
        :class:`hw.soc.bus.burst.Row`: its address.
    o_idle : Out(1)
        All rows of the known blocks have been issued.
    """

    i_geometry: data.View
    i_start: Signal
    i_base: data.View
    o_writes: Signal
    i: stream.Interface
    i_row: Signal
    o: stream.Interface
    o_idle: Signal

    def __init__(self, spec: CoprocessorSpec, *, lean: bool = False):
        self.spec = spec
        self.lean = lean
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i_base": In(Bases(spec)),
            "o_writes": Out(1),
            "i": In(stream.Signature(BlockDone(spec))),
            "i_row": In(1),
            "o": Out(stream.Signature(Row(spec))),
            "o_idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job, block = self.spec, self.i_geometry, self.i.payload
        # The next row, without the block's column offset if it is `fresh`; what is added to that:
        # the offset, or what leads to the next row.
        at, fresh = Signal(spec.address_width), Signal()
        after, step = Signal(spec.address_width), Signal(BYTES_WIDTH)
        # Bytes of a row before the block's columns, this one's and the next one's.
        before, offset = Signal(BYTES_WIDTH), Signal(BYTES_WIDTH)
        known = Signal()
        # `keep`: else synthesis would merge these tables with those that follow them.
        moves, leaves = (Signal(name=name, attrs={"keep": 1}) for name in ("moves", "leaves"))
        ended = Signal()
        # Jobs that have not got here; those that have ended; none is here.
        waiting, job_ended = Signal(3), Signal(2)
        between, enters = Signal(init=1), Signal()
        # The block is in the first row; in an even or odd one: it starts where the one before ends.
        top, left_side, turn = Signal(), Signal(), Signal()
        offers = known & ~fresh & ~between
        seeks = Signal()
        reads = Signal(name="reads") if self.lean else seeks
        if self.lean:
            offers &= ~reads
            m.d.sync += reads.eq(seeks)
        some, ends = self._count(m, known, moves)
        m.d.comb += [
            self.o.valid.eq(offers & some),
            self.o.payload.address.eq(at),
            self.o.payload.bytes.eq(self._length(block.columns)),
            moves.eq(self.o.valid & self.o.ready),
            ended.eq(moves & ends),
            self.i.ready.eq(ended),
            self.o.payload.final.eq(block.last_row & block.last_column & ends),
            enters.eq(between & (waiting != 0)),
            self.o_idle.eq(~self.i.valid),
            after.eq(at + step),
        ]
        m.d.sync += known.eq(self.i.valid & ~ended)
        m.d.sync += waiting.eq(waiting + self.i_start - enters)
        read = self._places(m, ended & left_side, after, turn)
        next_ = self._next(m, before, top, left_side)
        chooses = enters | (leaves & ~fresh & known)
        m.d.comb += [
            leaves.eq(ends & ~next_.on),
            seeks.eq(enters | (moves & leaves)),
            offset.eq(Mux(between, 0, next_.before)),
            # Where the next block begins: C of a job, or a row of blocks.
            read.addr.eq(Mux(turn ^ next_.down, C(0b01, 3), C(0b10, 3))),
        ]
        with m.If(between | next_.home):
            m.d.comb += read.addr.eq(Cat(job_ended, 1))
        if self.lean:
            with m.If(reads):
                m.d.sync += [at.eq(read.data), step.eq(before)]
            with m.Else():
                m.d.sync += step.eq(job.ldc)
                with m.If(moves | fresh):
                    m.d.sync += at.eq(after)
        else:
            # The same, of which the choice waits for no stall.
            with m.If(enters | moves | fresh):
                m.d.sync += at.eq(Mux(chooses, read.data, after))
            with m.If(enters | moves | fresh | ~known):
                m.d.sync += step.eq(Mux(chooses, offset, job.ldc))
        m.d.sync += fresh.eq(reads)
        with m.If(enters):
            m.d.sync += [before.eq(0), top.eq(1), left_side.eq(1), between.eq(0)]
        with m.Elif(ended):
            with m.If(self.o.payload.final):
                m.d.sync += [between.eq(1), job_ended.eq(job_ended + 1)]
            m.d.sync += [turn.eq(turn ^ next_.down), left_side.eq(block.last_column)]
            m.d.sync += top.eq(Mux(job.by_columns | block.last_column, next_.done, top))
            m.d.sync += before.eq(offset)
        return m

    def _next(self, m: Module, before: Value, top: Value, left_side: Value) -> _Next:
        """Register what the block leads to: nothing moves in the cycle before it is known."""
        job, block = self.i_geometry, self.i.payload
        on, down, done, home = (Signal(name=name) for name in ("on", "down", "done", "home"))
        further = Signal(BYTES_WIDTH, name="further", reset_less=True)
        ends_row = ~job.by_columns & block.last_column
        right = ~job.by_columns | block.last_row
        ends_part = block.last_row & (job.by_columns | block.last_column)
        m.d.sync += [
            # By columns, a row of blocks continues where the one above has ended; so does a row of
            # one block.
            on.eq(Mux(job.by_columns, ~block.last_row, ends_row & left_side & ~block.last_row)),
            down.eq(ends_row),
            done.eq(ends_part),
            home.eq(ends_part | (top & ~ends_row)),
            further.eq(Mux(ends_row, 0, before + Mux(right, self._length(job.columns), 0))),
        ]
        return _Next(on, down, done, home, further)

    def _count(self, m: Module, known: Value, moves: Value) -> tuple[Value, Signal]:
        """Count rows; return whether any begins to leave, and whether the next is its block's last.

        A block's rows are counted from when they are known.
        """
        # Rows that begin to leave, less one, but for the one of the cycle before. Which way it goes
        # waits for no stall.
        begun, newest = Signal(range(-1, 2 * self.spec.rows), init=-1), Signal()
        m.d.sync += newest.eq(self.i_row)
        with m.If(newest ^ moves):
            m.d.sync += begun.eq(begun + Mux(newest, 1, -1))
        rows = self.i.payload.rows
        left, ends = Signal.like(rows, name="left"), Signal(name="ends")
        with m.If(~known):
            m.d.sync += [left.eq(rows), ends.eq(rows == 1)]
        with m.Elif(moves):
            m.d.sync += [left.eq(left - 1), ends.eq(left == 2)]
        return ~begun[-1] | newest, ends

    def _places(self, m: Module, writes: Value, after: Value, turn: Value) -> Any:
        """Store where two rows of blocks go on, and where C begins, of four jobs; return a port."""
        # What is read is never written in the same cycle.
        attributes = {UNINITIALISED: "1"} | ({NO_COLLISION: "1"} if self.lean else {})
        places: Memory[int, Value] = Memory(
            shape=self.spec.address_width, depth=8, init=[], attrs=attributes
        )
        m.submodules.places = places
        write, read = places.write_port(), places.read_port(domain="sync" if self.lean else "comb")
        begun, given = Signal(2, name="job_begun"), Signal()
        with m.If(self.i_start):
            m.d.sync += begun.eq(begun + 1)
        # Where a block ends is stored a cycle later: the next one that could read it is farther.
        end, slot = Signal(self.spec.address_width, reset_less=True), Signal(2, reset_less=True)
        m.d.comb += [
            given.eq(self.i_base.valid & (self.i_base.to == Destination.ADDEND)),
            write.en.eq(given | self.o_writes),
            write.addr.eq(Mux(self.o_writes, slot, Cat(begun, 1))),
            write.data.eq(Mux(self.o_writes, end, self.i_base.address)),
        ]
        m.d.sync += [self.o_writes.eq(writes), end.eq(after), slot.eq(Cat(~turn, turn))]
        return read

    def _length(self, numbers: Value) -> Value:
        """Return the bytes of a count of numbers of C."""
        spec = self.spec
        sums = numbers * spec.sum_bytes
        if not spec.requantise:
            return sums
        codes = bytes_of(numbers, spec.code_bits)
        if spec.sizes:
            codes = Mux(self.i_geometry.wide, bytes_of(numbers, 2 * spec.code_bits), codes)
        return Mux(self.i_geometry.requantised, codes, sums)
