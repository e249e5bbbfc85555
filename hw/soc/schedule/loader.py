"""The loader: requests the rows of blocks, and their side data, in the order of use."""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import count
from operator import or_
from typing import NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION, UNINITIALISED
from hw.soc.schedule.block_walk import Block, BlockWalk
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, block_widths, scales_of, words_bytes

__all__ = ["Bases", "Loader", "RowRequest", "parts"]


def parts(spec: CoprocessorSpec) -> dict[Destination, int]:
    """Return the buffers of each store: how many blocks it can hold."""
    operands = dict.fromkeys(
        (Destination.A, Destination.B, Destination.A_SCALES, Destination.B_SCALES), spec.PARTS
    )
    return {**operands, Destination.BIAS: 2, Destination.RECORD: 4, Destination.ADDEND: 2}


class RowRequest(data.StructLayout):
    """A row to read: address, destination, whether it ends its block; its job."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": spec.length_width,
            "to": range(len(Destination)),
            "last": 1,
            "final": 1,
        })


class Bases(data.StructLayout):
    """The address of a matrix, by its destination; C's is that of what it is added to."""

    def __init__(self, spec: CoprocessorSpec):
        super().__init__({"valid": 1, "to": range(len(Destination)), "address": spec.address_width})


class _Asks(NamedTuple):
    """Rows of one kind: whether a block needs any, how many, of which length, and their stride.

    The first one is `before` bytes from the matrix's address if it is the ``home`` one, else from
    a place kept in slot `slot`. The address after the block's last row goes to slot `keeps`, if
    `kept`.
    """

    needed: Value
    rows: Value
    length: Value
    step: Value
    home: Value
    before: Value
    slot: Value
    keeps: Value
    kept: Value


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
    i_free : In
        A buffer of a store became free; a bit for each, in the order of :class:`Destination`.
    o : Out(stream)
        :class:`RowRequest`.
    o_block : Out(stream)
        :class:`hw.soc.schedule.block_walk.Block`, before its rows are requested.
    """

    i_geometry: data.View
    i_start: Signal
    o_idle: Signal
    i_base: data.View
    o_writes: Signal
    i_free: Signal
    o: stream.Interface
    o_block: stream.Interface

    def __init__(self, spec: CoprocessorSpec, *, lean: bool = False):
        self.spec = spec
        self.lean = lean
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "o_idle": Out(1),
            "i_base": In(Bases(spec)),
            "o_writes": Out(1),
            "i_free": In(len(parts(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
            "o_block": Out(stream.Signature(Block(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job = self.spec, self.i_geometry
        m.submodules.walk = walk = BlockWalk(spec)
        # Counted a cycle late: a buffer is taken once for each matrix, cycles apart.
        stores = len(self.i_free)
        free, takes_one, freed, taken = [], Signal(stores), Signal(stores), Signal(stores)
        m.d.sync += [freed.eq(self.i_free), taken.eq(takes_one)]
        for number, most in parts(spec).items():
            free.append(Signal(range(most + 1), name=f"free{number}", init=most))
            m.d.sync += free[number].eq(free[number] + freed[number] - taken[number])

        widths = block_widths(spec)
        row = self.o.payload
        # Offset of the block: words of K, columns of C.
        codes, columns = (Signal(spec.dimension_width, name=name) for name in ("codes", "columns"))
        # The row of blocks, even or odd: it starts where the one before has ended.
        turn = Signal()
        # The requested row, those left, and from it to the next one.
        at, step = Signal(spec.address_width), Signal(BYTES_WIDTH)
        to, left = Signal(range(len(Destination))), Signal(max(widths["rows"], widths["codes"]))
        length = Signal(spec.length_width)
        after = Signal(spec.address_width)
        # A row of B may be of several steps along K, which are counted.
        each: Value = C(1, 1) if spec.b_deep == 1 else Mux(to == Destination.B, spec.b_deep, 1)
        m.d.comb += [
            walk.i_geometry.eq(job),
            walk.i_start.eq(self.i_start),
            *(self.o_block.payload[name].eq(getattr(walk, f"o_{name}")) for name, _ in Block(spec)),
            row.address.eq(at),
            row.bytes.eq(length),
            row.to.eq(to),
            row.last.eq(left == 1 if spec.b_deep == 1 else left <= each),
            after.eq(at + step),
        ]

        slots = count()
        asks = self._asks(walk, codes, columns, turn, slots)
        todo = Signal(len(asks))
        m.d.comb += todo.eq(Cat(ask.needed for ask in asks.values()))
        # A bit for each kind of rows: those that wait, the next one, and the one that is requested.
        waiting, following, asked = (
            Signal(len(asks), name=name) for name in ("waiting", "following", "asked")
        )
        m.d.comb += row.final.eq(row.last & (following == 0) & walk.o_last)
        # Addresses of matrices, of this job and the next one, then places inside of them.
        homes, used = {number: place for place, number in enumerate(asks)}, next(slots)
        width = (2 * len(homes) + used - 1).bit_length()
        # What is read is never written in the same cycle.
        attributes = {UNINITIALISED: "1"} | ({NO_COLLISION: "1"} if self.lean else {})
        places: Memory[int, Value] = Memory(
            shape=spec.address_width, depth=1 << width, init=[], attrs=attributes
        )
        bank = Signal()
        with m.If(self.i_start):
            m.d.sync += bank.eq(~bank)
        m.submodules.places = places
        write, read = places.write_port(), places.read_port(domain="sync" if self.lean else "comb")
        moves, ends, steps, keeps = Signal(), Signal(), Signal(), Signal()
        read_here = Signal()
        base = self.i_base
        m.d.comb += [
            moves.eq(self.o.valid & self.o.ready),
            ends.eq(moves & row.last),
            self.o_writes.eq(keeps),
            write.en.eq((base.valid & read_here) | keeps),
            write.data.eq(Mux(keeps, at, base.address)),
        ]
        with m.If(keeps):
            keeps_at = (_slot(ask.keeps, width) for ask in asks.values())
            m.d.comb += write.addr.eq(_chosen(asked, keeps_at))
        with m.Else():
            for number, place in homes.items():
                with m.If(base.to == number):
                    m.d.comb += [write.addr.eq(Cat(bank, C(place, width - 1))), read_here.eq(1)]
        # A cycle after the last row: no other matrix's rows begin from there.
        m.d.sync += keeps.eq(ends & _chosen(asked, (ask.kept for ask in asks.values())))
        begun = Signal()
        room = Signal()
        m.d.sync += room.eq(_chosen(asked, (free[number] != 0 for number in asks)))

        takes = [] if self.lean else [at.eq(read.data)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.o_idle.eq(1)
                with m.If(self.i_start):
                    m.d.sync += [codes.eq(0), columns.eq(0)]
                    m.next = "BLOCK"
            with m.State("BLOCK"):
                m.d.comb += self.o_block.valid.eq(1)
                m.d.sync += [following.eq(_lowest(todo)), waiting.eq(todo & ~_lowest(todo))]
                with m.If(self.o_block.ready):
                    m.next = "SEEK"
            with m.State("SEEK"):
                m.d.sync += [
                    following.eq(_lowest(waiting)),
                    waiting.eq(waiting & ~_lowest(waiting)),
                ]
                m.d.sync += [*takes, begun.eq(0)]
                m.d.sync += [
                    asked.eq(following),
                    to.eq(_chosen(following, (C(number.value) for number in asks))),
                    left.eq(_chosen(following, (ask.rows for ask in asks.values()))),
                    step.eq(_chosen(following, (ask.before for ask in asks.values()))),
                    length.eq(_chosen(following, (ask.length for ask in asks.values()))),
                ]
                own = [Cat(~bank, C(homes[number], width - 1)) for number in asks]
                found = [_slot(ask.slot, width) for ask in asks.values()]
                places_of = (
                    Mux(ask.home, home, slot)
                    for ask, home, slot in zip(asks.values(), own, found, strict=True)
                )
                m.d.comb += read.addr.eq(_chosen(following, places_of))
                m.next = "TAKE" if self.lean else "ADD"
            if self.lean:
                with m.State("TAKE"):
                    m.d.sync += at.eq(read.data)
                    m.next = "ADD"
            with m.State("ADD"):
                m.d.sync += at.eq(after)
                m.next = "ROWS"
                m.d.sync += step.eq(_chosen(asked, (ask.step for ask in asks.values())))
            with m.State("ROWS"):
                # The first row allocates a buffer of the store.
                m.d.comb += self.o.valid.eq(begun | room)
                with m.If(moves):
                    m.d.sync += [begun.eq(1), at.eq(after), left.eq(left - each)]
                    for number, bit in zip(asks, asked, strict=True):
                        m.d.comb += takes_one[number].eq(bit & ~begun)
                with m.If(ends):
                    m.next = "SEEK"
                    with m.If(following == 0):
                        m.next = "STEP"
            with m.State("STEP"):
                m.d.comb += steps.eq(1)
                m.next = "BLOCK"
                with m.If(walk.o_last):
                    m.next = "IDLE"
        m.d.comb += walk.i_next.eq(steps)
        with m.If(steps):
            row_ends = walk.o_last_code & (job.by_columns | walk.o_last_column)
            column_ends = walk.o_last_code & (~job.by_columns | walk.o_last_row)
            m.d.sync += codes.eq(Mux(walk.o_last_code, 0, codes + job.codes))
            m.d.sync += turn.eq(turn ^ row_ends)
            with m.If(column_ends):
                m.d.sync += columns.eq(Mux(walk.o_last_column, 0, columns + job.columns))
        return m

    def _asks(
        self, walk: BlockWalk, codes: Value, columns: Value, turn: Value, slots: Iterator[int]
    ) -> dict[Destination, _Asks]:
        """List the rows of a block in the order of requests.

        Operands come last, since sums start when A and B arrive, one of which may be loaded
        already; C after them, since it waits until the block before the last has left.
        """
        spec, job, first = self.spec, self.i_geometry, walk.o_first_code
        asks: dict[Destination, _Asks] = {}

        def of_columns(to: Destination, needed: Value, address_bytes: int) -> None:
            size = address_bytes
            asks[to] = _Asks(
                needed & first, C(1), walk.o_columns * size, C(0), C(1), columns * size,
                C(0), C(0), C(0),
            )  # fmt: skip

        def of_rows(to: Destination, step: Value, before: Value, length: Value) -> None:
            even, odd = next(slots), next(slots)
            asks[to] = _Asks(
                ~walk.o_again_a, walk.o_rows, length, step, walk.o_first_row, before,
                Mux(turn, odd, even), Mux(turn, even, odd), first,
            )  # fmt: skip

        def of_codes(
            to: Destination, rows: Value, step: Value, before: Value, length: Value
        ) -> None:
            slot = C(next(slots), 3)
            before = Mux(first, before, 0)
            asks[to] = _Asks(~walk.o_again_b, rows, length, step, first, before, slot, slot, C(1))

        if spec.bias:
            of_columns(Destination.BIAS, job.biased, spec.sum_bytes)
        if spec.requantises_columns:
            of_columns(Destination.RECORD, job.per_column, spec.RECORD_BYTES)
        before, length = (words_bytes(spec, "a", x, job.kind) for x in (codes, walk.o_codes))
        of_rows(Destination.A, job.lda, before, length)
        scales = self._scales(walk.o_codes)
        if spec.scales:
            of_rows(Destination.A_SCALES, job.ldsa, self._scales(codes), scales)
        before, length = (words_bytes(spec, "b", x, job.kind) for x in (columns, walk.o_columns))
        of_codes(Destination.B, walk.o_codes, job.ldb, before, length)
        if spec.scales:
            of_codes(Destination.B_SCALES, scales, job.ldsb, columns, walk.o_columns)
        if spec.accumulates:
            before, length = (x * spec.sum_bytes for x in (columns, walk.o_columns))
            of_rows(Destination.ADDEND, job.ldc, before, length)
            down = job.by_columns & ~walk.o_first_row
            asks[Destination.ADDEND] = asks[Destination.ADDEND]._replace(
                needed=job.accumulate & first,
                before=Mux(down, 0, before),
                kept=job.by_columns | walk.o_first_column,
            )
        return asks

    def _scales(self, words: Value) -> Value:
        """Return the scales of a count of words along K; 0 if codes have none."""
        if not self.spec.inside.block:
            return C(0)
        return scales_of(self.spec, words, self.i_geometry.kind)


def _lowest(bits: Value) -> Value:
    """Keep the lowest bit that is set."""
    return Cat(bit & ~bits[:number].any() for number, bit in enumerate(bits))


def _chosen(bits: Value, values: Iterable[Value]) -> Value:
    """Select a value by its bit; at most one of the bits is set."""
    return Value.cast(
        reduce(
            or_,
            (Mux(bit, value, 0) for bit, value in zip(bits, values, strict=True)),
        )
    )


def _slot(slot: Value, width: int) -> Value:
    """Return the address of a slot: they are at the end."""
    return ~Cat(slot, C(0, width))[:width]
