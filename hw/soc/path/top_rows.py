"""The greatest codes of a row of A and their places, to a row of C."""

from itertools import pairwise

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.code_rows import CodeRows
from hw.soc.schedule.geometry import PLACE_BYTES, bytes_of_top

__all__ = ["TopRows"]

_BITS = 8 * PLACE_BYTES


class _Greatest:
    """The greatest codes so far, in falling order, and their places.

    Members
    -------
    there, codes, places : of each rank, whether a code has come, and which.
    """

    def __init__(self, spec: CoprocessorSpec):
        ranks = range(spec.top_k)
        self.there = Signal(spec.top_k, name="there")
        shape = signed(8 * spec.vector_in_bytes)
        self.codes = [Signal(shape, name=f"code{i}", reset_less=True) for i in ranks]
        # A row has no more codes than a list has places.
        size = bits_for(spec.lists - 1)
        self.places = [Signal(size, name=f"place{i}", reset_less=True) for i in ranks]

    def insert(self, m: Module, code: Value, place: Value) -> None:
        """Insert a code behind those that are as great: they have the lower places."""
        greater = Signal(len(self.codes), name="greater")
        m.d.comb += greater.eq(
            Cat(~self.there[i] | (code > one) for i, one in enumerate(self.codes))
        )
        m.d.sync += self.there.eq(Cat(1, self.there))
        for rank in range(len(self.codes)):
            with m.If(greater[rank]):
                for mine, comes in ((self.codes, code), (self.places, place)):
                    before = Mux(greater[rank - 1], mine[rank - 1], comes) if rank else comes
                    m.d.sync += mine[rank].eq(before)

    @staticmethod
    def next(m: Module, column: list[Signal]) -> None:
        """Have the next codes, or places, be the first."""
        m.d.sync += [one.eq(after) for one, after in pairwise(column)]


class TopRows(CodeRows):
    """Finds the greatest codes of a row, and where they are: :func:`golden.soc.lists.top_k`.

    Codes go through a row of registers, one of each rank, into which each is inserted at its rank.

    Throughput: a code in a cycle, and then a cycle for each place, for their count, and for each
    code that is written, and those that fill the last word.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, most places.

    Members
    -------
    i_count : In
        K, the codes that are written.
    """

    i_count: Signal

    def __init__(self, spec: CoprocessorSpec):
        super().__init__(spec, i_count=bits_for(spec.top_k))

    def elaborate(self, platform):
        m = Module()
        greatest, row_ends = _Greatest(self.spec), Signal()
        size = bytes_of_top(self.i_count, self.i_wide)
        writing, may_send = self.address(m, size, row_ends)
        came = self._take(m, greatest, writing, row_ends)
        self._put(m, greatest, came, may_send, row_ends)
        requesting = self.request(m, row_ends)
        m.d.comb += [self.o_asked.eq(~requesting), self.o_ready.eq(~requesting & ~writing)]
        return m

    def _take(self, m: Module, greatest: _Greatest, writing: Value, row_ends: Value) -> Signal:
        """Take codes, and insert each a cycle later; return whether all have come."""
        takes, read, last = Signal(), self.memory.read, self.i_geometry.n
        code, last_of_word, number = self.code()
        here, came = Signal(), Signal()
        taken = Signal(greatest.codes[0].shape(), reset_less=True)
        coming = Signal(self.spec.dimension_width)
        place = Signal.like(greatest.places[0], name="place", reset_less=True)
        ends = coming == last
        m.d.comb += [
            takes.eq(writing & ~came & read.valid),
            read.ready.eq(takes & (last_of_word | ends)),
        ]
        m.d.sync += [here.eq(takes), place.eq(coming)]
        with m.If(takes):
            m.d.sync += [taken.eq(code), coming.eq(coming + 1), came.eq(ends)]
            m.d.sync += number.eq(Mux(read.ready, 0, number + 1))
        with m.If(here):
            greatest.insert(m, taken, place)
        with m.If(row_ends):
            m.d.sync += [greatest.there.eq(0), coming.eq(0), came.eq(0)]
        return came

    def _put(
        self, m: Module, greatest: _Greatest, came: Value, may_send: Value, row_ends: Signal
    ) -> None:
        """Write places, their count, and codes."""
        write, wide = self.memory.write, self.i_wide
        # Bytes of the word that is being filled, and how many of them there are.
        words, filled = Signal(8 * self.word_bytes), Signal(range(self.word_bytes))
        of_codes, puts, fills, moves = (
            Signal(name=name) for name in ("of_codes", "puts", "fills", "moves")
        )
        word = Signal(_BITS)
        left, size = Signal.like(self.i_count, name="left"), Signal(range(PLACE_BYTES + 1))
        code = greatest.codes[0]
        one_byte = Cat(words[8:], code[:8])
        of_code = Mux(wide, Cat(words[16:], code[:16]), one_byte) if len(code) > 8 else one_byte
        m.d.comb += [
            size.eq(Mux(of_codes, 1 + wide, PLACE_BYTES)),
            fills.eq(puts & (filled + size == self.word_bytes)),
            write.valid.eq(fills & may_send),
            write.payload.data.eq(Mux(of_codes, of_code, Cat(words[_BITS:], word))),
            moves.eq(puts & (~fills | (write.valid & write.ready))),
        ]
        with m.If(moves):
            m.d.sync += [words.eq(write.payload.data), filled.eq(Mux(fills, 0, filled + size))]
            m.d.sync += left.eq(left - 1)
        with m.FSM():
            with m.State("TAKE"):
                m.d.sync += left.eq(self.i_count - 1)
                with m.If(came):
                    m.next = "PLACES"
            with m.State("PLACES"):
                m.d.comb += [puts.eq(1), word.eq(greatest.places[0])]
                with m.If(moves):
                    greatest.next(m, greatest.places)
                    with m.If(left == 0):
                        m.next = "COUNT"
            with m.State("COUNT"):
                m.d.comb += [puts.eq(1), word.eq(self.i_count)]
                with m.If(moves):
                    m.d.sync += left.eq(self.i_count - 1)
                    m.next = "CODES"
            with m.State("CODES"):
                m.d.comb += [puts.eq(1), of_codes.eq(1)]
                with m.If(moves):
                    greatest.next(m, greatest.codes)
                    with m.If(left == 0):
                        m.next = "FILL"
                        with m.If(fills):
                            m.d.comb += row_ends.eq(1)
                            m.next = "TAKE"
            with m.State("FILL"):
                m.d.comb += [puts.eq(1), of_codes.eq(1)]
                with m.If(moves & fills):
                    m.d.comb += row_ends.eq(1)
                    m.next = "TAKE"
