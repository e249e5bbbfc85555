"""The loader: requests the rows of blocks, and their side data, in the order of use."""

from itertools import count
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION, UNINITIALISED
from hw.soc.schedule.block_walk import Block, BlockWalk
from hw.soc.schedule.destination import OF_A, Destination
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.row_plan import RowPlan, count_rows, row_plans, rows_names
from hw.soc.schedule.row_request import Bases, RowRequest
from hw.soc.schedule.row_state import RowState, chosen

__all__ = ["Loader", "parts"]


def parts(spec: CoprocessorSpec) -> dict[Destination, int]:
    """Return the buffers of each store: how many blocks it can hold."""
    operands = dict.fromkeys(
        (Destination.A, Destination.B, Destination.A_SCALES, Destination.B_SCALES), spec.PARTS
    )
    return {**operands, Destination.BIAS: 2, Destination.RECORD: 4, Destination.ADDEND: 2}


class Loader(wiring.Component):
    """Requests the rows of blocks, one per cycle, as soon as a buffer is free for them.

    Two cycles without a row precede those of each matrix, and two each block. One adder makes all
    addresses.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.
    lean : bool
        How: places in block RAM, which take a cycle more, before the rows of each matrix.

    Members
    -------
    i_geometry : In
        The job.
    i_start : In(1)
        It begins; only while ``o_idle``.
    o_idle : Out(1)
        All rows of the job have been requested.
    i_base : In
        :class:`Bases`, of all matrices of the job that it reads, before ``i_start``; also while
        the job before is under way, but not valid while ``o_writes``.
    o_writes : Out(1)
        The memory that keeps bases is written in this cycle.
    i_hold : In(1)
        A is not there yet, and is requested after all else that the first block needs.
    o_free : Out(1)
        No buffer of A's or B's store is taken.
    i_free : In
        A buffer of a store became free; a bit for each, in the order of :class:`Destination`.
    o : Out(stream)
        :class:`RowRequest`.
    o_block : Out(stream)
        :class:`hw.soc.schedule.block_walk.Block`, before its rows are requested.
    o_again, o_first, o_last_code : Out(1)
        Of windows: the next block of A has the same rows as this one; else the first ones; the
        block is the last one along K.
    """

    i_geometry: data.View
    i_start: Signal
    o_idle: Signal
    i_base: data.View
    o_writes: Signal
    i_hold: Signal
    o_free: Signal
    i_free: Signal
    o: stream.Interface
    o_block: stream.Interface
    o_again: Signal
    o_first: Signal
    o_last_code: Signal

    def __init__(self, spec: CoprocessorSpec, *, lean: bool = False):
        self.spec, self.lean = spec, lean
        self.walk = BlockWalk(spec)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "o_idle": Out(1),
            "i_base": In(Bases(spec)),
            "o_writes": Out(1),
            "i_hold": In(1),
            "o_free": Out(1),
            "i_free": In(len(parts(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
            "o_block": Out(stream.Signature(Block(spec))),
            **dict.fromkeys(("o_again", "o_first", "o_last_code") * spec.windows, Out(1)),
        })

    def elaborate(self, platform):
        m = Module()
        job = self.i_geometry
        m.submodules.walk = walk = self.walk
        m.d.comb += [
            walk.i_geometry.eq(job),
            walk.i_start.eq(self.i_start),
            *(
                self.o_block.payload[name].eq(getattr(walk, f"o_{name}"))
                for name, _ in Block(self.spec)
            ),
        ]
        # Offset of the block: words of K, columns of C. The row of blocks, even or odd: it starts
        # where the one before has ended.
        width, names = self.spec.dimension_width, ("codes", "columns", *rows_names(self.spec))
        codes, columns, *rows = (Signal(width, name=name) for name in names)
        turn, steps = Signal(), Signal()
        slots = count()
        plans = row_plans(self.spec, job, walk, codes, columns, turn, slots, rows)
        state = RowState.make(self.spec, len(plans))
        takes_one, free = self._buffers(m)
        read, homes = self._places(m, plans, state, next(slots))
        each = self._request(m, state, walk)
        m.d.comb += state.held.eq(Cat(self.i_hold & (to in OF_A) for to in plans))
        rooms = ((free[to] != 0) & ~held for to, held in zip(plans, state.held, strict=True))
        m.d.sync += state.room.eq(chosen(state.current, rooms))
        operands = (Destination.A, Destination.B, *[Destination.A_SCALES] * self.spec.shares)
        m.d.comb += self.o_free.eq(Cat(free[to] == parts(self.spec)[to] for to in operands).all())
        # Whether a block is the last one along K is known late: both choices are made.
        needed, again = Cat(p.needed for p in plans.values()), Cat(p.again for p in plans.values())
        choices = state.choice(needed), state.choice(needed & ~again)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.o_idle.eq(1)
                m.d.sync += [codes.eq(0), columns.eq(0)]
                with m.If(self.i_start):
                    m.next = "BLOCK"
            with m.State("BLOCK"):
                m.d.comb += self.o_block.valid.eq(1)
                m.d.sync += state.next.eq(Mux(walk.o_last_code, choices[1], choices[0]))
                with m.If(self.o_block.ready):
                    m.next = "SEEK"
            self._seek(m, state, plans, read, homes)
            self._send_rows(m, state, plans, takes_one, each)
            with m.State("STEP"):
                m.d.comb += steps.eq(1)
                m.next = "BLOCK"
                with m.If(walk.o_last):
                    m.next = "IDLE"
        m.d.comb += walk.i_next.eq(steps)
        if self.spec.windows:
            self._mark_next(m, walk)
        with m.If(steps):
            row_ends = walk.o_last_code & (job.by_columns | walk.o_last_column)
            m.d.sync += codes.eq(Mux(walk.o_last_code, 0, codes + job.codes))
            m.d.sync += turn.eq(turn ^ row_ends)
            count_rows(m, job, walk, rows, row_ends)
            with m.If(walk.o_last_code & (~job.by_columns | walk.o_last_row)):
                m.d.sync += columns.eq(Mux(walk.o_last_column, 0, columns + job.columns))
        return m

    def _mark_next(self, m: Module, walk: BlockWalk) -> None:
        """Say which rows of A are the next ones: blocks that share all of K do not load it."""
        single = walk.o_first_code | self.i_geometry.by_columns
        m.d.comb += [
            self.o_again.eq(~walk.o_last_code | (~walk.o_last_column & ~single)),
            self.o_first.eq(walk.o_last_row),
            self.o_last_code.eq(walk.o_last_code),
        ]

    def _buffers(self, m: Module) -> tuple[Signal, dict[Destination, Signal]]:
        """Count the free buffers of each store; return also what to set when one is taken."""
        # Counted a cycle late: a buffer is taken once for each matrix, cycles apart.
        stores = len(self.i_free)
        takes_one, freed, taken = Signal(stores), Signal(stores), Signal(stores)
        free: dict[Destination, Signal] = {}
        m.d.sync += [freed.eq(self.i_free), taken.eq(takes_one)]
        for number, most in parts(self.spec).items():
            free[number] = Signal(range(most + 1), name=f"free{number}", init=most)
            m.d.sync += free[number].eq(free[number] + freed[number] - taken[number])
        return takes_one, free

    def _request(self, m: Module, state: RowState, walk: BlockWalk) -> Value:
        """Offer the row; return its steps: of B's, there may be several along K, all counted."""
        row, deep = self.o.payload, self.spec.b_deep
        each: Value = C(1, 1) if deep == 1 else Mux(state.to == Destination.B, deep, 1)
        m.d.comb += [
            row.address.eq(state.at),
            row.bytes.eq(state.length),
            row.to.eq(state.to),
            row.last.eq(state.left == 1 if deep == 1 else state.left <= each),
            row.final.eq(row.last & (state.following == 0) & walk.o_last),
            state.after.eq(state.at + state.step),
            state.moves.eq(self.o.valid & self.o.ready),
            state.ends.eq(state.moves & row.last),
        ]
        return each

    def _places(
        self, m: Module, plans: dict[Destination, RowPlan], state: RowState, slots: int
    ) -> tuple[Any, dict[Destination, Value]]:
        """Store addresses of matrices, of this job and the next one, and places inside of them.

        Returns
        -------
        The read port, and where the addresses of this job's matrices are.
        """
        base = self.i_base
        homes = {number: slot for slot, number in enumerate(plans)}
        if self.spec.row_factors:
            # Of a job that has them, the address of a bias is theirs.
            homes[Destination.ROW_FACTORS] = homes.setdefault(Destination.BIAS, len(homes))
        width = (2 * len(homes) + slots - 1).bit_length()
        # What is read is never written in the same cycle.
        attributes = {UNINITIALISED: "1"} | ({NO_COLLISION: "1"} if self.lean else {})
        places: Memory[int, Value] = Memory(
            shape=self.spec.address_width, depth=1 << width, init=[], attrs=attributes
        )
        bank = Signal()
        with m.If(self.i_start):
            m.d.sync += bank.eq(~bank)
        m.submodules.places = places
        write, read = places.write_port(), places.read_port(domain="sync" if self.lean else "comb")
        stores_end, read_here = Signal(), Signal()
        m.d.comb += [
            self.o_writes.eq(stores_end),
            write.en.eq((base.valid & read_here) | stores_end),
            write.data.eq(Mux(stores_end, state.at, base.address)),
        ]
        with m.If(stores_end):
            slots_of = (_slot(plan.end_slot, width) for plan in plans.values())
            m.d.comb += write.addr.eq(chosen(state.current, slots_of))
        with m.Else():
            for number, slot in homes.items():
                with m.If(base.to == number):
                    m.d.comb += [write.addr.eq(Cat(bank, C(slot, width - 1))), read_here.eq(1)]
        # A cycle after the last row: no other matrix's rows begin from there.
        stored = (plan.stores_end for plan in plans.values())
        m.d.sync += stores_end.eq(state.ends & chosen(state.current, stored))
        return read, {to: Cat(~bank, C(slot, width - 1)) for to, slot in homes.items()}

    def _seek(
        self,
        m: Module,
        state: RowState,
        plans: dict[Destination, RowPlan],
        read: Any,
        homes: dict[Destination, Value],
    ) -> None:
        """Find where the rows of the next matrix begin: at its address, or where the last ended."""
        following, waiting, asked = state.following, state.waiting, list(plans.values())
        # They stay since the block began, a cycle and more before they are looked at.
        width, names = len(read.addr), (f"place_{to.name}".lower() for to in plans)
        places = [Signal(width, name=name, reset_less=True) for name in names]
        now = (Mux(plan.home, homes[to], _slot(plan.slot, width)) for to, plan in plans.items())
        m.d["comb" if self.lean else "sync"] += Cat(places).eq(Cat(now))
        with m.State("SEEK"):
            m.d.sync += state.next.eq(state.choice(waiting))
            if not self.lean:
                m.d.sync += state.at.eq(read.data)
            m.d.sync += state.begun.eq(0)
            m.d.sync += [
                state.current.eq(following),
                state.to.eq(chosen(following, (C(number.value) for number in plans))),
                state.left.eq(chosen(following, (plan.rows for plan in asked))),
                state.step.eq(chosen(following, (plan.before for plan in asked))),
                state.length.eq(chosen(following, (plan.length for plan in asked))),
            ]
            m.d.comb += read.addr.eq(chosen(following, places))
            m.next = "TAKE" if self.lean else "ADD"
        if self.lean:
            with m.State("TAKE"):
                m.d.sync += state.at.eq(read.data)
                m.next = "ADD"
        with m.State("ADD"):
            m.d.sync += state.at.eq(state.after)
            m.next = "ROWS"
            m.d.sync += state.step.eq(chosen(state.current, (plan.step for plan in asked)))

    def _send_rows(
        self,
        m: Module,
        state: RowState,
        plans: dict[Destination, RowPlan],
        takes_one: Signal,
        each: Value,
    ) -> None:
        """Request the rows of a matrix; the first one allocates a buffer of the store."""
        with m.State("ROWS"):
            m.d.comb += self.o.valid.eq(state.begun | state.room)
            with m.If(state.moves):
                m.d.sync += [state.begun.eq(1), state.at.eq(state.after)]
                m.d.sync += state.left.eq(state.left - each)
                for number, bit in zip(plans, state.current, strict=True):
                    m.d.comb += takes_one[number].eq(bit & ~state.begun)
            with m.If(state.ends):
                m.next = "SEEK"
                with m.If(state.following == 0):
                    m.next = "STEP"


def _slot(slot: Value, width: int) -> Value:
    """Return the address of a slot: they are at the end."""
    return ~Cat(slot, C(0, width))[:width]
