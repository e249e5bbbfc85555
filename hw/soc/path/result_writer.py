"""From the sum store to memory: rows of a block as sums, or requantised."""

from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.npe.requantiser import RequantiserSpec
from golden.soc.spec import CoprocessorSpec
from hw.device.family import Family
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Row, Span
from hw.soc.bus.packer import Packed, Packer, Word
from hw.soc.path.greatest_sum import watch_sums
from hw.soc.path.group_connections import mark_piece, mark_rows, send_groups
from hw.soc.path.group_sums import GroupSums
from hw.soc.path.place_walk import place_codes
from hw.soc.path.requantise_rows import RequantiseRows
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.path.result_words import end_job, joined, numbers_of, queue_words, word_sizes
from hw.soc.path.send_sums import send_sums
from hw.soc.path.stored_row import StoredRow
from hw.soc.path.sum_words import SumWords, load_words
from hw.soc.path.writer_ports import writer_ports
from hw.soc.schedule.block_done import BlockDone
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.result_addresses import ResultAddresses
from hw.soc.schedule.row_request import Bases
from hw.soc.stores.sum_rows import SumRead

__all__ = ["ResultWriter"]


class ResultWriter(wiring.Component):
    """Reads rows of blocks as they complete, converts them to codes, packs them for the bus.

    Throughput: `requantisers` sums or codes per cycle, up to one bus beat, across blocks too.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the bus, the requantiser.
    build : RequantiserBuild
        How: columns that leave per cycle, and how they are converted; if lean, fewer queues, of
        one entry, and addresses in block RAM.
    blocks : Family
        How: see :class:`hw.soc.path.requantise_rows.RequantiseRows`.

    Members
    -------
    i_geometry : In
        The job.
    i_start : In(1)
        It begins.
    i_base : In
        :class:`Bases`, of C at least, before ``i_start``; not valid while ``o_writes``.
    o_writes : Out(1)
        See :class:`hw.soc.schedule.result_addresses.ResultAddresses`.
    i_how, i_records : In, In
        The requantisation, see :class:`hw.soc.path.requantise_rows.RequantiseRows`; records are
        those of the columns ``o_piece`` of the last ``o_move``.
    i : In(stream)
        :class:`BlockDone`: the blocks to expect.
    sums : Out(SumRead)
        The sum store's rows.
    o_move, o_piece : Out
        Read scales: index of the columns in their row, counted in `requantisers`.
    o_last : Out(1)
        With ``o_move``: they are the last of their block.
    o_invalid : Out(1)
        In this cycle a row with a NaN sum leaves.
    i_of_rows, i_rows, i_words : In(1), In(stream), In(stream)
        With a vector unit: what follows is a vector job's, rows of C, see
        :class:`hw.soc.bus.burst.Row`, and their words, see :class:`hw.soc.bus.packer.Word`.
    i_of_maps, i_sums : In(1), In(stream)
        With jobs on maps: it is one of these, and has sums to be requantised instead of words.
    i_looks, i_table, i_sums_end : In(1), In(stream), In(1)
        With tables, see :class:`hw.soc.path.requantise_rows.RequantiseRows`; ``i_sums`` are the
        last ones of their job.
    i_seed : In(31)
        Where codes are rounded by random bits: that of the job.
    o_greatest : Out(64)
        See :class:`hw.soc.path.greatest_sum.GreatestSum`, if the build has it.
    i_powers, i_scales, o_taken : In, In, Out(1)
        Where sums of groups are scaled: see :class:`hw.soc.path.group_sums.GroupSums`; scales of a
        block have been used.
    o_rows : Out(stream)
        :class:`hw.soc.bus.burst.Row`: addresses of the rows of C.
    o : Out(stream)
        :class:`hw.soc.bus.packer.Packed`: their beats.
    o_idle : Out(1)
        No block is being written.
    """

    i_geometry: data.View
    i_start: Signal
    i_base: data.View
    o_writes: Signal
    i_how: data.View
    i_records: Signal
    i: stream.Interface
    sums: Any
    o_move: Signal
    o_piece: Signal
    o_last: Signal
    o_invalid: Signal
    i_of_rows: Signal
    i_rows: stream.Interface
    i_words: stream.Interface
    i_of_maps: Signal
    i_sums: stream.Interface
    i_looks: Signal
    i_table: stream.Interface
    i_sums_end: Signal
    i_seed: Signal
    o_greatest: Signal
    i_powers: stream.Interface
    i_scales: Signal
    o_taken: Signal
    o_rows: stream.Interface
    o: stream.Interface
    o_idle: Signal

    def __init__(
        self,
        spec: CoprocessorSpec,
        build: RequantiserBuild,
        *,
        blocks: Family | None = None,
    ):
        self.spec = spec
        self.lean = build.lean
        self.across = across = build.requantisers
        self.pieces = spec.inside.n // across
        self.codes = RequantiseRows(spec, build, blocks=blocks) if spec.requantise else None
        row, rest = divmod(across * spec.sum_bytes, spec.bytes)
        self.sum_words = row if row > 1 and not rest else 1
        """Words in which sums leave that could leave at once: those of a beat."""
        self.words = SumWords(row, 8 * spec.bytes) if self.sum_words > 1 else None
        self.groups = None
        if spec.group_scales != "none":
            self.groups = GroupSums(spec, build, self.sum_words)
            # The row at the store's output is of the first group of K, of the last one.
            self.group = Signal(2, name="group_of_row")
            self.marks = Signal(across + 4, name="marks_of_piece")
        self.row_bytes = 0 if spec.vector is None else spec.vector.lanes * spec.vector_out_bytes
        ports = {
            "i_geometry": In(Geometry(spec)),
            "i_start": In(1),
            "i_base": In(Bases(spec)),
            "o_writes": Out(1),
            "i": In(stream.Signature(BlockDone(spec))),
            "sums": Out(SumRead(spec)),
            "o_move": Out(1),
            "o_piece": Out(range(spec.rows * self.pieces)),
            "o_last": Out(1),
            "o_invalid": Out(1),
            "o_rows": Out(stream.Signature(Row(spec))),
            "o": Out(stream.Signature(Packed(spec.bytes))),
            "o_idle": Out(1),
        }
        super().__init__(ports | writer_ports(self))

    @property
    def requantiser(self) -> RequantiserSpec:
        """The requantiser of the columns that leave together."""
        return replace(self.spec.requantiser, n=self.across)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the requantiser."""
        groups = () if self.groups is None else self.groups.shared_modules
        return groups if self.codes is None else (*self.codes.shared_modules, *groups)

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        codes, near = Signal(name="codes"), m.d.comb if self.lean else m.d.sync
        # It comes from afar, and sums come later than their job by more than a cycle.
        near += codes.eq(self.i_geometry.requantised if spec.requantise else 0)
        sizes, kind = word_sizes(self, codes, self.of_words if self.row_bytes else C(0, 1))
        m.submodules.packer = packer = Packer(spec.bytes, *sizes, length_width=spec.length_width)
        m.d.comb += packer.i_kind.eq(kind)
        row = self._read(m, *self._address(m, packer))
        valid, waiting, sent = self._cut(m, row)

        # Stalls of the bus end here, those of the packer before it.
        m.submodules.beats = beats = Fifo(Packed(spec.bytes), self._depth)
        connect(m, packer.o, beats.i)
        connect(m, beats.o, flipped(self.o))
        numbers = numbers_of(self, waiting)
        m.submodules.words = words = queue_words(m, self, Word(max(sizes)), codes)
        connect(m, words.o, packer.i)
        sums: Any = words.i
        if self.row_bytes:
            sums = stream.Signature(Word(max(sizes))).create(path=("sums",))
            both = joined(m, "joined_words", sums, self.i_words, self.of_words)
            connect(m, both, words.i)
        if self.groups is None:
            m.d.comb += sent.eq(send_sums(m, self, sums, numbers, codes, valid))
        else:
            plain, here, taken = send_groups(m, self, sums, numbers, valid)
            others = send_sums(m, self, plain, numbers, codes, valid & ~here)
            m.d.comb += sent.eq(Mux(here, taken, others))
        return m

    @property
    def _depth(self) -> int:
        """Entries of the queues in which a stall ends."""
        return 0 if self.lean else 2

    def _address(self, m: Module, packer: Packer) -> tuple[ResultAddresses, Fifo]:
        """Send rows' addresses to the bus, and spans to the packer; return what makes them."""
        spec, depth = self.spec, self._depth
        # Addresses follow the rows that leave the store, without a gap between blocks.
        m.submodules.result_addresses = addresses = ResultAddresses(spec, lean=self.lean)
        m.submodules.blocks = blocks = Fifo(BlockDone(spec), 1 if self.lean else 2)
        # A row's beats come late after its address, and more addresses meanwhile. A vector unit's
        # words wait for the address, as the packer without a queue waits for words.
        entries = 2 * depth or int(self.row_bytes > 0)
        m.submodules.spans = spans = Fifo(Span(spec.bytes, spec.length_width), entries)
        rows: Any = addresses.o
        if self.row_bytes:
            rows = joined(m, "joined_rows", addresses.o, self.i_rows, self.i_of_rows)
        connect(m, blocks.o, addresses.i)
        connect(m, spans.o, packer.i_row)
        m.d.comb += [
            addresses.i_geometry.eq(self.i_geometry),
            addresses.i_start.eq(self.i_start),
            addresses.i_base.eq(self.i_base),
            self.o_writes.eq(addresses.o_writes),
            self.o_rows.payload.eq(rows.payload),
            self.o_rows.valid.eq(rows.valid & spans.i.ready),
            spans.i.valid.eq(rows.valid & self.o_rows.ready),
            spans.i.payload.offset.eq(0 if spec.STREAM else rows.payload.address),
            spans.i.payload.bytes.eq(rows.payload.bytes),
            rows.ready.eq(self.o_rows.ready & spans.i.ready),
        ]
        return addresses, blocks

    def _read(self, m: Module, addresses: ResultAddresses, blocks: Fifo) -> StoredRow:
        """Read tiles of rows from the store as they complete; the last one with its half."""
        spec, block, row, n = self.spec, self.i.payload, StoredRow.of(self.spec), self.spec.inside.n
        # Rows that are complete, less one: there are none if it is negative.
        complete = Signal(range(-1, 2 * spec.rows), init=-1)
        full, full_next, some_full = Signal(2), Signal(2), Signal()
        left = Signal.like(block.rows, name="left")
        width, columns = Signal.like(block.columns, name="width"), row.columns
        names = "busy", "begins", "added", "half", "ends", "takes"
        busy, begins, added, half, ends, takes = (Signal(name=name) for name in names)
        # The next block, so that a block that begins waits for nothing.
        ahead, following = Signal(), data.View(BlockDone(spec), Signal(BlockDone(spec).size))
        # `keep`: else synthesis would merge these tables with those that follow them.
        available, last = (Signal(name=name, attrs={"keep": 1}) for name in ("available", "last"))
        # The last tile of a row, the last row, and whether a row is one tile: known a cycle before.
        right, narrow, final, below = row.right, Signal(), Signal(), Signal()
        at, left_side = row.place(m, self, final)
        written, of_groups, idle = mark_rows(m, self, row, begins, following)
        placed = place_codes(m, self)
        m.d.comb += [
            final.eq(right & below),
            available.eq(busy & ~complete[-1] & ((~final & ~added) | some_full)),
            self.sums.en.eq(available & row.move),
            self.sums.half.eq(half),
            self.sums.address.eq(at),
            last.eq(available & final),
            ends.eq(last & row.move),
            full_next.eq(full + self.sums.half_complete - ends),
            # The store's output holds the last row until it is taken.
            self.sums.free.eq(row.ends_half & row.move),
            begins.eq(~busy | ends),
            blocks.i.valid.eq(reduce(and_, [*written, *placed], self.i.valid & ~ahead)),
            blocks.i.payload.eq(block),
            self.i.ready.eq(reduce(and_, placed, blocks.i.ready & ~ahead)),
            takes.eq(self.i.valid & self.i.ready),
            addresses.i_row.eq(reduce(and_, of_groups, self.sums.en & left_side)),
            self.o_idle.eq(reduce(and_, idle, ~busy & ~ahead & ~self.i.valid & addresses.o_idle)),
        ]
        m.d.sync += ahead.eq(takes | (ahead & ~begins))
        with m.If(takes):
            m.d.sync += following.eq(block)
        m.d.sync += complete.eq(complete + self.sums.row_complete - (self.sums.en & right))
        m.d.sync += [full.eq(full_next), some_full.eq(full_next != 0)]
        with m.If(self.sums.en):
            m.d.sync += row.inside.eq(Cat(columns > number for number in range(n)))
            m.d.sync += [columns.eq(columns - n), right.eq(columns <= 2 * n)]
            with m.If(right):
                m.d.sync += [columns.eq(width), right.eq(narrow)]
                m.d.sync += [left.eq(left - 1), below.eq(left == 2)]
        with m.If(row.move):
            m.d.sync += [row.valid.eq(self.sums.en), row.ends_half.eq(ends)]
            m.d.sync += row.ends_job.eq(ends & row.last_block)
        m.d.sync += half.eq(half ^ ends)
        with m.If(begins):
            thin, ends_job = following.columns <= n, following.last_row & following.last_column
            m.d.sync += [busy.eq(ahead), left.eq(following.rows), width.eq(following.columns)]
            m.d.sync += columns.eq(following.columns)
            m.d.sync += [added.eq(following.added), below.eq(following.rows == 1)]
            m.d.sync += [right.eq(thin), narrow.eq(thin), row.last_block.eq(ends_job)]
        return row

    def _cut(self, m: Module, row: StoredRow) -> tuple[Signal, Signal, Signal]:
        """Have a tile's row leave in pieces, which end with the last column of C.

        Returns
        -------
        Whether a piece waits in a register, that register, and what to set when it is sent. The
        register is 0 elsewhere: block RAM is slow, and so is a choice.
        """
        across, pieces, bits = self.across, self.pieces, self.spec.number_width
        n = self.spec.inside.n
        piece, most = (Signal(range(pieces), name=name) for name in ("piece", "most"))
        final_piece = Signal()  # known a cycle before
        at_piece = Signal(pieces, init=1)  # the same, a bit for each
        number, ends_row = Signal(range(self.spec.rows * pieces)), Signal()
        waits, waiting = Signal(), Signal(n * bits, reset_less=True)
        sent, leaves, done = Signal(), Signal(), Signal()
        m.d.comb += [
            leaves.eq(row.valid & (~waits | sent)),
            done.eq(leaves & final_piece),
            row.move.eq(~row.valid | (final_piece & (~waits | sent))),
            self.o_move.eq(leaves),
            self.o_piece.eq(number),
            self.o_last.eq(done & row.ends_half),
        ]
        chosen = [at_piece[column // across] if pieces > 1 else C(1, 1) for column in range(n)]
        if self.spec.code_bits < 8:
            chosen = [at & row.inside[column] for column, at in enumerate(chosen)]
        columns = row.columns
        last_piece = Mux(row.right, (columns - 1)[: len(columns)] // across, pieces - 1)
        with m.If(self.sums.en):
            m.d.sync += [ends_row.eq(row.right), most.eq(last_piece)]
            m.d.sync += final_piece.eq(last_piece == 0)
        with m.Elif(leaves):
            m.d.sync += final_piece.eq(piece + 1 == most)
        with m.If(leaves):
            m.d.sync += [
                waiting.eq(
                    Cat(
                        Mux(at, self.sums.row.word_select(column, bits), 0)
                        for column, at in enumerate(chosen)
                    )
                ),
                piece.eq(Mux(done, 0, piece + 1)),
                at_piece.eq(Mux(done, 1, at_piece << 1)),
                number.eq(Mux(done & ends_row, 0, number + 1)),
            ]
        with m.If(leaves | sent):
            m.d.sync += waits.eq(leaves)
        load_words(m, self, leaves, at_piece, row.inside)
        mark_piece(m, self, leaves, at_piece, row.inside, [done & ends_row, done & row.ends_half])
        watch_sums(m, self, row, (leaves, at_piece, done), (waits & sent, waiting))
        if self.spec.table:
            end_job(m, self, leaves, done & row.ends_job)
        if self.spec.inside.flags:
            flags = Cat(self.sums.row.word_select(column, bits)[-1] for column in range(n))
            m.d.comb += self.o_invalid.eq(done & (flags & row.inside).any())
        return waits, waiting, sent

    @property
    def of_words(self) -> Value:
        """Whether words come from a vector job, not from sums."""
        return self.i_of_rows & ~self.i_of_maps if self.spec.taps else self.i_of_rows
