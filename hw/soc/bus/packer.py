"""Packer: words of rows to beats of rows at any byte alignment."""

from collections.abc import Sequence

from amaranth import Array, C, Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from golden.check import Integer
from hw.soc.bus.burst import Span
from hw.soc.bus.unpacker import rotate

__all__ = ["Packed", "Packer", "Word"]


class Word(data.StructLayout):
    """Word of a row, byte 0 lowest."""

    def __init__(self, word_bytes: int):
        super().__init__({"data": 8 * word_bytes})


class Packed(data.StructLayout):
    """Beat of a row: bytes outside the row have no ``strb`` and are 0; ``last`` ends the row."""

    def __init__(self, beat_bytes: int):
        super().__init__({"data": 8 * beat_bytes, "strb": beat_bytes, "last": 1})


class Packer(wiring.Component):
    """Aligns the words of rows in beats.

    A row takes ceil(bytes / `word_bytes`) words; extra bytes in the last one are ignored. A word
    wider than a beat is processed in pieces of a beat, the last piece being the rest of the word. A
    piece is rotated into place; a completed beat leaves, the rest is kept. A row costs one cycle
    per piece, and one more if its last piece reaches into another beat. With words of whole beats
    that is one cycle per beat of the row, across rows too; smaller words take one cycle each.
    Latency, piece to the beat it completes: 1 cycle. Stalls: ``o.ready`` reaches ``i.ready``, both
    and ``i.valid`` reach ``i_row.ready``, combinationally. A row's span must be valid at least two
    cycles before its first word is taken.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    *word_bytes : int
        What: of words of each kind, any numbers.
    length_width : int
        What: bits of a row's number of bytes.

    Members
    -------
    i_clear : In(1)
        Discards everything, also what is accepted in this cycle.
    i_kind : In
        Kind of the words of the row, with its span.
    i_row : In(stream)
        :class:`hw.soc.bus.burst.Span`, one for each row.
    i : In(stream)
        :class:`Word`: the row's words, any kind from byte 0 on.
    o : Out(stream)
        :class:`Packed`: the row's beats.

    Examples
    --------
    >>> packer = Packer(8, 12, 3)  # beats of 8 bytes, words of 12 or of 3
    >>> packer.pieces, packer.latency
    ([2, 1], 1)
    """

    i_clear: Signal
    i_kind: Signal
    i_row: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, *word_bytes: int, length_width: int = 32):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        for size in word_bytes:
            Integer("bytes of a word", 16, 1, 4096, "bytes").check("word_bytes", size)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.word_bytes = word_bytes
        super().__init__({
            "i_clear": In(1),
            "i_kind": In(range(len(word_bytes))),
            "i_row": In(stream.Signature(Span(beat_bytes, length_width))),
            "i": In(stream.Signature(Word(max(word_bytes)))),
            "o": Out(stream.Signature(Packed(beat_bytes))),
        })

    @property
    def latency(self) -> int:
        """Cycles from a piece of a word to the beat that it completes."""
        return 1

    @property
    def pieces(self) -> list[int]:
        """Pieces of a word of each kind."""
        return [-(-size // self.beat_bytes) for size in self.word_bytes]

    def elaborate(self, platform):
        m = Module()
        move, taken = Signal(name="move"), Signal(name="taken")
        left, planned = Signal(name="left"), Signal(name="planned")
        plan = self._plan(m, planned, taken)
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            # The rest of a row takes the place of the next piece.
            self.i.ready.eq(planned & move & ~left & plan.whole),
            taken.eq(self.i.valid & planned & move & ~left),
        ]
        self._place(m, plan, move, taken, left)
        return ResetInserter(self.i_clear)(m)

    @property
    def _most(self) -> int:
        """Most bytes of a piece."""
        return min(self.beat_bytes, max(self.word_bytes))

    def _plan(self, m: Module, planned: Signal, taken: Value) -> data.View:
        """Decide what the next piece does, a cycle before it comes."""
        beat, row, most = self.beat_bytes, self.i_row.payload, self._most
        number = Signal(range(max(self.pieces)))
        known, plans = Signal(), Signal()
        # Remaining bytes of the row, minus one; a piece decrements the lower part. That the upper
        # one is 0 is known a cycle before.
        width = bits_for(most)
        low = Signal(width, reset_less=True)
        high, short = Signal(len(row.bytes) - width, reset_less=True), Signal(reset_less=True)
        size, over = Signal(width), Signal(width + 1)
        final, whole = Signal(), Signal()
        tails = [
            size - (count - 1) * beat
            for size, count in zip(self.word_bytes, self.pieces, strict=True)
        ]
        kind = Signal.like(self.i_kind, reset_less=True)
        m.d.comb += [
            whole.eq(number == _of([count - 1 for count in self.pieces], kind)),
            size.eq(Mux(whole, _of(tails, kind), most)),
            over.eq(low + ~size + 1),
            final.eq(short & ~over[width]),
        ]

        # The lane where the next piece begins, and where the row begins in the current beat.
        at, front = (Signal(range(beat), name=name, reset_less=True) for name in ("at", "front"))
        # Where it ends, if it is not the row's last one, and if it may be.
        behind, after = (Signal(range(2 * beat + 1), name=name) for name in ("behind", "after"))
        rest = Signal(range(beat))
        full = after >= beat
        spills = final & (after > beat)
        plan = data.View(self._layout, Signal(self._layout.size, name="plan", reset_less=True))
        m.d.comb += [
            behind.eq(at + size),
            after.eq(Mux(final, at + low + 1, behind)),
            rest.eq(after),
            plans.eq(~planned | taken),
            self.i_row.ready.eq(~known | (plans & final)),
        ]
        with m.If(plans):
            m.d.sync += [
                planned.eq(known),
                plan.at.eq(at),
                plan.number.eq(number),
                plan.whole.eq(final | whole),
                plan.final.eq(final & ~spills),
                plan.completes.eq(full | final),
                plan.spills.eq(spills),
                at.eq(behind),
                low.eq(over),
                high.eq(Mux(over[width], high, high - 1)),
                short.eq(Mux(over[width], short, high == 1)),
                number.eq(Mux(final | whole, 0, number + 1)),
            ]
            self._plan_lanes(m, plan, at, front, after, rest, full)
            with m.If(behind >= beat):
                m.d.sync += front.eq(0)
        with m.If(self.i_row.ready):
            m.d.sync += [
                known.eq(self.i_row.valid),
                kind.eq(self.i_kind),
                at.eq(row.offset),
                front.eq(row.offset),
                Cat(low, high).eq(row.bytes - 1),
                # As in bytes - 1, without waiting for it.
                short.eq((row.bytes[width:] == 0) | (row.bytes == 1 << width)),
                number.eq(0),
            ]
        return plan

    def _plan_lanes(
        self,
        m: Module,
        plan: data.View,
        at: Value,
        front: Value,
        after: Value,
        rest: Value,
        full: Value,
    ) -> None:
        """Decide what each lane does with a piece: take, strobe, or hold the rest of it."""
        for lane in range(self.beat_bytes):
            # No row begins, and nothing is left, after the last lane.
            inside = lane < self.beat_bytes - 1
            beyond = at > lane if inside else C(0, 1)
            m.d.sync += [
                plan.beyond[lane].eq(beyond),
                plan.keeps[lane].eq(full | ~beyond),
                plan.strb[lane].eq((front <= lane if inside else C(1, 1)) & (after > lane)),
                plan.rest[lane].eq(rest > lane if inside else C(0, 1)),
            ]

    @property
    def _layout(self) -> data.StructLayout:
        """What is planned of a piece; the last four have a bit for each lane."""
        beat = self.beat_bytes
        return data.StructLayout({
            "at": range(beat),
            "number": range(max(self.pieces)),
            **dict.fromkeys(("whole", "final", "completes", "spills"), 1),
            **dict.fromkeys(("beyond", "keeps", "strb", "rest"), beat),
        })

    def _place(self, m: Module, plan: data.View, move: Value, taken: Value, left: Signal) -> None:
        """Rotate pieces to their lanes, and put beats together from what came before."""
        beat, out, most = self.beat_bytes, self.o.payload, self._most
        left_strb = Signal(beat, reset_less=True)
        lanes = 1 << ceil_log2(most)
        words, turned = Signal(8 * beat * max(self.pieces)), Signal(8 * lanes)
        # A signal: otherwise every multiplexer of the rotation would select the piece anew.
        piece = Signal(8 * beat)
        m.d.comb += [
            words.eq(self.i.payload.data),
            piece.eq(words.word_select(plan.number, 8 * beat)),
            turned.eq(rotate(piece[: 8 * lanes], plan.at, 8)),
        ]
        with m.If(move):
            m.d.sync += [
                self.o.valid.eq(left | (taken & plan.completes)),
                out.last.eq(left | plan.final),
                left.eq(taken & plan.spills),
                left_strb.eq(plan.rest),
            ]
        for lane in range(beat):
            byte = turned.word_select(lane % lanes, 8)
            stored = Signal(8, name=f"stored{lane}", reset_less=True)
            older, strobe = Signal(name=f"older{lane}"), Signal(name=f"strobe{lane}")
            m.d.comb += [
                older.eq(left | plan.beyond[lane]),
                strobe.eq(Mux(left, left_strb[lane], plan.strb[lane])),
            ]
            with m.If(taken & plan.keeps[lane]):
                m.d.sync += stored.eq(byte)
            with m.If(move):
                m.d.sync += [
                    out.data.word_select(lane, 8).eq(
                        Mux(older, stored, byte) & strobe.replicate(8)
                    ),
                    out.strb[lane].eq(strobe),
                ]


def _of(values: Sequence[int], kind: Value) -> Value:
    """Choose a constant."""
    return Value.cast(Array(C(value) for value in values)[kind])
