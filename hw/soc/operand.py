"""From the stores of operands to the engine: beats of a tile, masked at its edges."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.engine import ASlice, BSlice
from hw.soc.store import OperandStore

__all__ = ["Operand", "TileRequest"]


class TileRequest(data.StructLayout):
    """A tile's operands: where they begin in a store, and how many there are.

    ``codes`` are those of K; ``rows`` those of A that are inside of C. ``last`` ends the sums,
    ``release`` the use of the part.
    """

    def __init__(self, spec: CoprocessorSpec, words: int, slices: int):
        super().__init__({
            "part": range(spec.PARTS),
            "address": range(words),
            "slice": range(slices),
            "codes": spec.DIMENSION_WIDTH,
            "rows": range(spec.engine.m + 1),
            "last": 1,
            "release": 1,
        })


class Operand(wiring.Component):
    """Reads tiles of A, or of B, from its store, a beat a cycle, and hands them to the engine.

    A beat of A is the next slice of a word of each row; one of B is the same slice of the rows
    that are next, a word of each. Rows of A outside of C, and rows of B beyond K, are zeros.

    Latency, tile to its first beat: 3 cycles. Tiles follow each other without a gap.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the stores.
    side : str
        What: "a" or "b".

    Members
    -------
    i : In(stream)
        :class:`TileRequest`.
    i_stride : In
        Words from a row of B to the next one in its bank.
    en, o_part, o_address : Out
        Read from the store.
    i_words : In
        What was read with the last ``en``.
    o_release : Out(1)
        The part can be filled again.
    o : Out(stream)
        :class:`ASlice` or :class:`BSlice`.
    """

    i: stream.Interface
    i_stride: Signal
    en: Signal
    o_part: Signal
    o_address: Signal
    i_words: Signal
    o_release: Signal
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec, side: str):
        engine = spec.engine
        self.spec = spec
        self.side = side
        if side == "a":
            self.banks, self.bits, self.width = engine.m, spec.a_bits, engine.a_code_width
            self.words, self.slices, self.codes = spec.a_words, spec.a_slices, engine.k
            word_bytes = spec.a_word_bytes
        else:
            self.banks, self.bits, self.width = engine.k, spec.b_bits, engine.b_width
            self.words, self.slices, self.codes = spec.b_words, spec.b_slices, engine.n
            word_bytes = spec.b_word_bytes
        self.store = OperandStore(f"{side}_bank", self.banks, word_bytes, self.words, spec.PARTS)
        self.request = TileRequest(spec, self.words, self.slices)
        super().__init__({
            "i": In(stream.Signature(self.request)),
            "i_stride": In(range(self.words + 1)),
            "en": Out(1),
            "o_part": Out(range(spec.PARTS)),
            "o_address": Out(range(self.words)),
            "i_words": In(8 * word_bytes * self.banks),
            "o_release": Out(1),
            "o": Out(stream.Signature(ASlice(engine) if side == "a" else BSlice(engine))),
        })

    def elaborate(self, platform):
        m = Module()
        k = self.spec.engine.k
        move = Signal()
        busy, issue, final = Signal(), Signal(), Signal()
        tile = data.View(self.request, Signal(self.request.size, name="tile", reset_less=True))
        # A slice is chosen in the cycle in which its word arrives.
        valid = Signal()
        chosen = Signal(len(tile.slice), reset_less=True)
        mask, last = Signal(self.banks, reset_less=True), Signal(reset_less=True)
        inside = tile.rows if self.side == "a" else tile.codes
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            issue.eq(busy & move),
            final.eq(tile.codes <= k),
            self.i.ready.eq(~busy | (issue & final)),
            self.en.eq(issue),
            self.o_part.eq(tile.part),
            self.o_address.eq(tile.address),
            self.o_release.eq(issue & final & tile.release),
        ]
        with m.If(issue):
            m.d.sync += tile.codes.eq(tile.codes - k)
            if self.side == "b":
                m.d.sync += tile.address.eq(tile.address + self.i_stride)
            elif self.slices == 1:
                m.d.sync += tile.address.eq(tile.address + 1)
            else:
                m.d.sync += tile.slice.eq(tile.slice + 1)
                with m.If(tile.slice == self.slices - 1):
                    m.d.sync += tile.address.eq(tile.address + 1)
        with m.If(self.i.ready):
            m.d.sync += [busy.eq(self.i.valid), tile.eq(self.i.payload)]
        with m.If(move):
            m.d.sync += [
                valid.eq(busy),
                chosen.eq(tile.slice),
                mask.eq(Cat(number < inside for number in range(self.banks))),
                last.eq(final & tile.last),
                self.o.valid.eq(valid),
                self.o.payload.data.eq(self._codes(chosen, mask)),
            ]
            if self.side == "a":
                m.d.sync += self.o.payload.last.eq(last)
        return m

    def _codes(self, chosen: Value, mask: Value) -> Value:
        """Take the chosen slice of each bank's word, zeros where it is masked, code by code."""
        codes: list[Value] = []
        for number in range(self.banks):
            word = self.i_words.word_select(number, len(self.i_words) // self.banks)
            part = word.word_select(chosen, self.codes * self.bits)
            codes += (
                part.word_select(code, self.bits)[: self.width] & mask[number].replicate(self.width)
                for code in range(self.codes)
            )
        return Cat(codes)
