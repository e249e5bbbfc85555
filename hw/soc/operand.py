"""From the stores of operands to the engine: beats of a tile, masked at its edges."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.job import Geometry, pick
from hw.soc.store import OperandStore

__all__ = ["Operand", "Words", "TileRequest"]


class Words(data.StructLayout):
    """Words of the engine, row by row; ``last`` ends the sums."""

    def __init__(self, width: int):
        super().__init__({"data": width, "last": 1})


class TileRequest(data.StructLayout):
    """A tile's operands: where they begin in a store, and how many there are.

    ``codes`` are words along K, the last of which is that of K if ``tail``; ``rows`` those of A
    that are inside of C. ``last`` ends the sums, ``release`` the use of the part.
    """

    def __init__(self, spec: CoprocessorSpec, words: int, slices: int):
        super().__init__({
            "part": range(spec.PARTS),
            "address": range(words),
            "slice": range(slices),
            "codes": spec.DIMENSION_WIDTH,
            "rows": range(spec.inside.m + 1),
            "tail": 1,
            "last": 1,
            "release": 1,
        })


class Operand(wiring.Component):
    """Reads tiles of A, or of B, from its store, a beat a cycle, and hands them to the engine.

    A beat of A is the next slice of a word of each row; one of B is the same slice of the rows
    that are next, a word of each. Rows of A outside of C, rows of B beyond K, and codes beyond K
    in the last word, are zeros.

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
    i_geometry : In
        The job.
    en, o_part, o_address : Out
        Read from the store.
    i_words : In
        What was read with the last ``en``.
    o_release : Out(1)
        The part can be filled again.
    o : Out(stream)
        :class:`Words`.
    """

    i: stream.Interface
    i_geometry: data.View
    en: Signal
    o_part: Signal
    o_address: Signal
    i_words: Signal
    o_release: Signal
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec, side: str):
        inside = spec.inside
        self.spec = spec
        self.side = side
        if side == "a":
            self.banks, self.across, self.width = inside.m, inside.k, inside.a_width
            self.words, self.slices, word_bytes = spec.a_words, spec.a_slices, spec.a_word_bytes
        else:
            self.banks, self.across, self.width = inside.k, inside.n, inside.b_width
            self.words, self.slices, word_bytes = spec.b_words, spec.b_slices, spec.b_word_bytes
        most = max(self.slices(kind) for kind in spec.kinds)
        self.store = OperandStore(f"{side}_bank", self.banks, word_bytes, self.words, spec.PARTS)
        self.request = TileRequest(spec, self.words, most)
        super().__init__({
            "i": In(stream.Signature(self.request)),
            "i_geometry": In(Geometry(spec)),
            "en": Out(1),
            "o_part": Out(range(spec.PARTS)),
            "o_address": Out(range(self.words)),
            "i_words": In(8 * word_bytes * self.banks),
            "o_release": Out(1),
            "o": Out(stream.Signature(Words(self.banks * self.across * self.width))),
        })

    def elaborate(self, platform):
        m = Module()
        job, k = self.i_geometry, self.spec.inside.k
        slices = [self.slices(kind) for kind in self.spec.kinds]
        move = Signal()
        busy, issue, final = Signal(), Signal(), Signal()
        tile = data.View(self.request, Signal(self.request.size, name="tile", reset_less=True))
        # A slice is chosen in the cycle in which its word arrives.
        valid = Signal()
        chosen = Signal(len(tile.slice), reset_less=True)
        mask, last = Signal(self.banks, reset_less=True), Signal(reset_less=True)
        tail = Signal(reset_less=True)
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
                m.d.sync += tile.address.eq(tile.address + job.b_stride)
            elif max(slices) == 1:
                m.d.sync += tile.address.eq(tile.address + 1)
            else:
                ends = tile.slice == pick(lambda count: C(count - 1), slices, job.kind)
                m.d.sync += tile.slice.eq(Mux(ends, 0, tile.slice + 1))
                with m.If(ends):
                    m.d.sync += tile.address.eq(tile.address + 1)
        with m.If(self.i.ready):
            m.d.sync += [busy.eq(self.i.valid), tile.eq(self.i.payload)]
        with m.If(move):
            m.d.sync += [
                valid.eq(busy),
                chosen.eq(tile.slice),
                mask.eq(Cat(number < inside for number in range(self.banks))),
                last.eq(final & tile.last),
                tail.eq(final & tile.tail & (job.tail != 0)),
                self.o.valid.eq(valid),
                self.o.payload.last.eq(last),
                self.o.payload.data.eq(self._words(chosen, mask, tail)),
            ]
        return m

    def _words(self, chosen: Value, mask: Value, tail: Value) -> Value:
        """Take the chosen slice of each bank's word, zeros where it is masked, word by word."""
        job, width = self.i_geometry, self.width
        kinds = self.spec.kinds
        shapes = [(kind.codes, getattr(kind, f"{self.side}_bits")) for kind in kinds]
        inside: Value = C((1 << width) - 1, width)
        if any(kind.codes > 1 for kind in kinds):
            inside = Mux(tail, (1 << job.tail) - 1, inside)[:width]
        words: list[Value] = []
        for number in range(self.banks):
            row = self.i_words.word_select(number, len(self.i_words) // self.banks)

            def of(shape: int, row: Value = row) -> Value:
                codes, bits = shapes[shape]
                part = row.word_select(chosen, self.across * bits)
                return Cat(
                    _spread(part.word_select(word, bits), codes, width)
                    for word in range(self.across)
                )

            part = pick(of, [shapes.index(shape) for shape in shapes], job.kind)
            words += (
                part.word_select(word, width) & inside & mask[number].replicate(width)
                for word in range(self.across)
            )
        return Cat(words)


def _spread(word: Value, codes: int, width: int) -> Value:
    """Put the codes of a word in memory into their slots of the engine's."""
    bits, pitch = len(word) // codes, width // codes
    kept = min(bits, pitch)
    return Cat(
        Cat(word.word_select(code, bits)[:kept], C(0, pitch - kept)) for code in range(codes)
    )
