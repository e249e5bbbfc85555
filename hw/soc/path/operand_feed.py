"""From the operand stores to the engine: beats of a tile, masked at the edges of C and K."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.arith.product import product_in_logic
from hw.lib.fifo import Fifo
from hw.soc.path.expander import registered, table_of
from hw.soc.path.operand_words import Choice, Words, choose, operand_words, step
from hw.soc.schedule.geometry import Geometry, pick
from hw.soc.schedule.sides import Side, TileRequest, counts
from hw.soc.stores.operand_store import OperandStore

__all__ = ["OperandFeed"]


class OperandFeed(wiring.Component):
    """Reads tiles of A, or of B, from their store, one beat per cycle, for the engine.

    A beat of A is the next slice of a word of each row; a beat of B is the same slice of a word of
    each of the next rows; of fewer, if their words have several codes along K. Rows of A
    and columns of B outside of C, words beyond K, and codes beyond K in the last word, are zeros.
    A beat waits only until its own rows are in the store.

    Latency, tile to its first beat: 4 cycles, or 5 if words have several slices or codes to expand,
    or for an array of a clock of its own; one less without the queue in which stalls of the engine
    end. Tiles follow each other without a gap; by a clock of their own, with one of a cycle.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the stores.
    side : Side
        What: which words.
    slices : int
        How: words of up to so many slices can be read by slices, where all jobs have the same ones.
    lean : bool
        How: fewer registers, and no queue: ``o.ready`` reaches ``i.ready`` and ``en``
        combinationally.

    Members
    -------
    i : In(stream)
        :class:`TileRequest`.
    i_geometry : In
        The job.
    i_stride : In
        Words from a row to the next one in its bank.
    en, o_part, o_address, o_slice : Out
        Read from the store; the slice, if it is read by slices.
    i_words : In
        The words, or slices, read with the last ``en``.
    i_filled : In(1)
        A row of each bank is complete; one pulse for each row of a block.
    o_release : Out(1)
        The buffer can be refilled.
    o : Out(stream)
        :class:`Words`.
    o_turn, i_table : Out, In
        Where jobs have tables of codes: the job that the words are of, and its table.
    o_products : Out
        Where they are counted: products that the beat read in the cycle before makes, without those
        with what pads words and tiles.
    """

    i: stream.Interface
    i_geometry: data.View
    i_stride: Signal
    en: Signal
    o_part: Signal
    o_address: Signal
    o_slice: Signal
    i_words: Signal
    i_filled: Signal
    o_release: Signal
    o: stream.Interface
    o_turn: Signal
    i_table: Signal
    o_products: Signal

    def __init__(self, spec: CoprocessorSpec, side: Side, *, slices: int = 1, lean: bool = False):
        self.spec = spec
        self.lean = lean
        self.side = side
        # At a fast clock a tile waits until the one before has been read.
        self.spaced = spec.array_clock > 1
        count = side.slices[0]
        self.slices = count if count <= slices and len(set(side.slices)) == 1 else 1
        """Slices of a word of which the store reads one."""
        sizes = side.banks, side.word_bytes, side.words, spec.PARTS
        reads = "sync" if spec.array_clock == 1 else "fast"
        self.store = OperandStore(f"{side.name}_bank", *sizes, slices=self.slices, reads=reads)
        self.request = TileRequest(spec, side)
        self.counted = side.k if spec.inside.spec.bipolar and side.name == "a" else 0
        """Codes of a beat, where the engine must know how many there are."""
        bits = side.expander.table_bytes * (spec.inside.b_width - side.expander.mirrored)
        super().__init__({
            "i": In(stream.Signature(self.request)),
            "i_geometry": In(Geometry(spec)),
            "en": Out(1),
            "o_part": Out(range(spec.PARTS)),
            "o_address": Out(range(side.words)),
            "o_slice": Out(range(self.slices)),
            "i_stride": In(range(side.words + 1)),
            "i_words": In(len(self.store.o)),
            "i_filled": In(1),
            "o_release": Out(1),
            "o": Out(stream.Signature(Words(side.banks * side.across * side.width, self.counted))),
            **({"o_products": Out(range(self.most_products + 1))} if counts(spec, side) else {}),
            **({"o_turn": Out(range(spec.PARTS))} if side.expander.table_bytes else {}),
            **({"i_table": In(bits)} if side.expander.table_bytes else {}),
        })

    @property
    def most_products(self) -> int:
        """Most products of a beat."""
        inside, side = self.spec.inside, self.side
        return inside.m * inside.n * side.k * max(codes for codes, _ in side.shapes)

    def elaborate(self, platform):
        m = Module()
        side, k, slices = self.side, self.side.k, self.side.slices
        late = (max(slices) > 1 or side.expander.bits > 0 or self.spaced) and not self.lean
        # Beats that have been read and have not left: those on their way, and one.
        most = 5 if late else 4
        places = 0 if self.lean else 1 << (most - 1).bit_length()
        m.submodules.queue = queue = Fifo(self.o.payload.shape(), places)
        connect(m, queue.o, flipped(self.o))
        out, out_valid, move = queue.i.payload, Signal(), Signal()
        # The tile's last beat: known a cycle before.
        busy, issue, final = Signal(), Signal(), Signal(reset_less=True)
        tile = data.View(self.request, Signal(self.request.size, name="tile", reset_less=True))
        # What to choose of the words that the store has read.
        valid, layout = Signal(), Choice(self.spec, side, self.counted)
        choice = data.View(layout, Signal(layout.size, name="choice", reset_less=True))
        # Without a reset of their own: else masks would be gates.
        words = Signal(len(out.data), reset_less=True)
        begins, short, row = self._next(m, busy, issue & final)
        behind = self._count_rows(m, tile, row, busy, issue)
        # What is read has a place in the queue, so that nothing stops it on its way.
        moves = ~out_valid | queue.i.ready if self.lean else C(1, 1)
        room = move if self.lean else self._count_places(m, most, issue)
        m.d.comb += [
            queue.i.valid.eq(out_valid),
            move.eq(moves),
            issue.eq(busy & room & ~behind[-1]),
            self.i.ready.eq(begins),
            self.en.eq(issue),
            self.o_part.eq(tile.part),
            self.o_address.eq(tile.address),
            self.o_slice.eq(tile.slice),
            self.o_release.eq(issue & final & tile.release),
        ]
        self._count_products(m, tile, issue, final)
        with m.If(issue):
            m.d.sync += [tile.codes.eq(tile.codes - k), final.eq(tile.codes <= 2 * k)]
            m.d.sync += [busy.eq(~final)] if self.spaced else []
            step(m, self, tile)
        with m.If(self.i.ready):
            m.d.sync += [busy.eq(self.i.valid), tile.eq(self.i.payload)]
            m.d.sync += final.eq(short)
        with m.If(move):
            m.d.sync += valid.eq(issue)
            choose(m, self, choice, tile, final)
        read, table = self.i_words, table_of(m, self, choice)
        if late:
            table = registered(m, table, move)
            valid, choice, read = self._wait(m, valid, choice)
        with m.If(move):
            m.d.sync += [
                out_valid.eq(valid),
                out.last.eq(choice.last),
                *([out.codes.eq(choice.codes)] if self.counted else []),
                words.eq(operand_words(m, self.i_geometry, side, read, choice, table)),
            ]
        m.d.comb += out.data.eq(words)
        return m

    def _next(self, m: Module, busy: Value, ends: Value) -> tuple[Value, Value, Value]:
        """Return whether a tile may begin, and of the next one whether it is a beat, and its row.

        By a fast clock, when the one before has been read; what is known of it is in registers.
        """
        tile = self.i.payload
        short = tile.codes <= self.side.k
        if not self.spaced:
            return ~busy | ends, short, tile.row
        waits, known, row = Signal(), Signal(reset_less=True), Signal.like(tile.row, name="row")
        m.d.sync += [waits.eq(self.i.valid & ~self.i.ready), known.eq(short), row.eq(tile.row)]
        return ~busy & waits, known, row

    def _wait(self, m: Module, valid: Value, choice: Any) -> tuple[Signal, Any, Signal]:
        """Register words, whether there are any, and what is chosen of them.

        Block RAM is slow, and so is a choice, or what expands codes.
        """
        layout = choice.shape()
        late = data.View(layout, Signal(layout.size, name="late", reset_less=True))
        late_valid, words = Signal(), Signal(len(self.i_words), name="late_words", reset_less=True)
        m.d.sync += [late.eq(choice), late_valid.eq(valid), words.eq(self.i_words)]
        return late_valid, late, words

    def _count_places(self, m: Module, most: int, issue: Value) -> Signal:
        """Count beats that have been read and have not left; return whether there is room."""
        away, room, after = Signal(range(most + 1)), Signal(init=1), Signal(range(most + 1))
        m.d.comb += after.eq(away + issue - (self.o.valid & self.o.ready))
        m.d.sync += [away.eq(after), room.eq(after != most)]
        return room

    def _count_rows(
        self, m: Module, tile: data.View, row: Value, busy: Value, issue: Value
    ) -> Signal:
        """Return how many rows in the store are behind that of the beat, which waits below 0.

        The rows are those of the current and the following blocks.
        """
        side = self.side
        most = self.spec.PARTS * side.words
        rows, behind = Signal(range(most + 1)), Signal(range(-side.words, most), name="behind")
        # The rows of a tile that is released are all before those behind it.
        behind_next, after = Signal.like(behind, name="behind_next"), Signal(range(-1, most + 1))
        wide = Signal(len(after))
        m.d.comb += [
            wide.eq(row),
            after.eq(rows if self.spaced else Mux(busy & tile.release, behind, rows)),
            # after - row - 1 + filled, by one adder and its carry in.
            behind_next.eq((Cat(1, after) + Cat(self.i_filled, ~wide))[1:]),
        ]
        held = Mux(self.o_release, behind, rows) + self.i_filled
        moved = behind + self.i_filled - (issue if side.down else 0)
        if self.spaced:
            # What is known last chooses behind the adders.
            moved = more = behind + self.i_filled
            held = Mux(self.o_release, more, rows + self.i_filled)
            if side.down:
                moved = Mux(issue, behind - ~self.i_filled, more)
        m.d.sync += rows.eq(held)
        with m.If(self.i.ready):
            m.d.sync += behind.eq(behind_next)
        with m.Else():
            m.d.sync += behind.eq(moved)
        return behind

    def _count_products(self, m: Module, tile: data.View, issue: Value, final: Value) -> None:
        """Count the products of the tile's next beat, where they are counted."""
        if not counts(self.spec, self.side):
            return
        job, k = self.i_geometry, self.side.k
        words: Value = C(1, 1) if k == 1 else Mux(final, tile.codes, k)[: bits_for(k)]
        each = [codes for codes, _ in self.side.shapes]
        codes = pick(lambda count: product_in_logic(words, count), each, job.kind)
        there = codes - Mux(final & tile.tail, job.missing, 0)
        products = product_in_logic(tile.area, there[: bits_for(k * max(each))])
        m.d.sync += self.o_products.eq(Mux(issue, products, 0))
