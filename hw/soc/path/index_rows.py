"""Lists of places: which codes of a row of A are large enough, to a row of C."""

from amaranth import Cat, Module, Mux, Signal, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.code_rows import CODE_BITS, CodeRows
from hw.soc.schedule.geometry import PLACE_BYTES, last_of_list

__all__ = ["IndexRows"]

_BITS = 8 * PLACE_BYTES


class _Row:
    """A row that is read and written.

    Members
    -------
    left, came : codes that are to come, less one; all have.
    here, listed : a code has come, and is large enough.
    place, count : its place; how many were large enough before it.
    made, pads : words of the row so far; no more of them are places.
    """

    def __init__(self, size: int):
        self.left, self.place = Signal(size, name="left"), Signal(size, name="place")
        self.made, self.count = Signal(size + 1, name="made"), Signal(size + 1, name="count")
        self.came, self.here = Signal(name="came"), Signal(name="here")
        self.listed, self.pads = Signal(name="listed"), Signal(name="pads")


class IndexRows(CodeRows):
    """Lists the places of codes whose magnitude is large enough: :func:`golden.soc.lists.index`.

    Throughput: a code in a cycle, and then a word of zeros for each code that is not in the list,
    and one for the count.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes.

    Members
    -------
    i_least : In(16)
        The least magnitude that is listed.
    """

    i_least: Signal

    def __init__(self, spec: CoprocessorSpec):
        super().__init__(spec, i_least=16)

    def elaborate(self, platform):
        m = Module()
        row = _Row(self.spec.dimension_width)
        writing, row_ends = self._write(m, row)
        requesting = self.request(m, row_ends)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _listed(self, m: Module) -> tuple[Value, Value, Signal]:
        """Return whether the code that comes is listed, and its word's last one; its number."""
        code, last_of_word, number = self.code()
        magnitude = Signal(CODE_BITS)
        m.d.comb += magnitude.eq(Mux(code[-1], -code, code))
        return magnitude >= self.i_least, last_of_word, number

    def _write(self, m: Module, row: _Row) -> tuple[Signal, Value]:
        """Write lists; return whether there are more, and whether a row has been read and left."""
        job, write = self.i_geometry, self.memory.write
        each = self.word_bytes // PLACE_BYTES
        # Words of the list in one that is written; behind the count they are filled up.
        slot, words, ends = Signal(range(each)), Signal(8 * self.word_bytes), Signal()
        word, makes, fills, moves, row_ends = (
            Signal(_BITS if name == "word" else 1, name=name)
            for name in ("word", "makes", "fills", "moves", "row_ends")
        )
        writing, may_send = self.address(m, last_of_list(job.n) + 1, row_ends)
        self._read(m, row, writing, moves, row_ends)
        m.d.comb += [
            ends.eq(row.made == job.n + 1),
            makes.eq(writing & (row.pads | (row.here & row.listed))),
            word.eq(Mux(row.pads, Mux(ends, row.count, 0), row.place)),
            fills.eq(makes & (slot == each - 1)),
            write.valid.eq(fills & may_send),
            write.payload.data.eq(Cat(words[_BITS:], word)),
            moves.eq(~fills | (write.valid & write.ready)),
            row_ends.eq(fills & moves & row.pads & (row.made > job.n)),
        ]
        with m.If(makes & moves):
            m.d.sync += [slot.eq(Mux(slot == each - 1, 0, slot + 1)), row.made.eq(row.made + 1)]
            m.d.sync += words.eq(write.payload.data)
        with m.If(self.i_start | row_ends):
            m.d.sync += row.made.eq(0)
        return writing, row_ends

    def _read(self, m: Module, row: _Row, writing: Value, moves: Value, row_ends: Value) -> None:
        """Take codes, and look at each a cycle before its place may be written."""
        takes, read = Signal(), self.memory.read
        listed, last_of_word, number = self._listed(m)
        m.d.comb += [
            takes.eq(writing & ~row.came & read.valid & (~row.here | moves)),
            read.ready.eq(takes & (last_of_word | (row.left == 0))),
        ]
        with m.If(takes):
            m.d.sync += [row.here.eq(1), row.listed.eq(listed), row.came.eq(row.left == 0)]
            m.d.sync += [row.left.eq(row.left - 1), number.eq(Mux(read.ready, 0, number + 1))]
        with m.Elif(moves):
            m.d.sync += row.here.eq(0)
        with m.If(row.here & moves):
            m.d.sync += [row.count.eq(row.count + row.listed), row.place.eq(row.place + 1)]
            m.d.sync += row.pads.eq(row.place == self.i_geometry.n)
        with m.If(self.i_start | row_ends):
            m.d.sync += [row.left.eq(self.i_geometry.n), row.place.eq(0), row.count.eq(0)]
            m.d.sync += [row.pads.eq(0), row.came.eq(0), row.here.eq(0)]
