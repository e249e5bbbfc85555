"""Unpacker: beats of rows at any byte to words of rows."""

from amaranth import C, Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer
from hw.soc.burst import Beat, Span
from hw.soc.gather import Gather

__all__ = ["Unpacker"]


class Unpacker(wiring.Component):
    """Cuts rows of bytes into words; the row's first byte is byte 0 of its first word.

    A row of `bytes` becomes ceil(bytes / `word_bytes`) words; the last one is filled with zeros.
    Latency, beat to the word it completes: 1 cycle. Throughput: one beat per cycle, across rows
    too: no row costs more cycles than it has beats, since it never has more words than beats.
    Stalls: ``o.ready`` reaches ``i.ready`` combinationally, ``i.last`` and both reach
    ``i_row.ready``. A row must be known, since the cycle before, when its first beat is taken.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    word_bytes : int
        What: of a word, any number from `beat_bytes` up.

    Members
    -------
    i_clear : In(1)
        Forgets everything, and what is taken in this cycle too.
    i_row : In(stream)
        :class:`hw.soc.burst.Span`, one for each row.
    i : In(stream)
        :class:`hw.soc.burst.Beat`: the row's beats. ``last`` must be right: of the row's
        ``bytes`` only the number in the last beat counts.
    o : Out(stream)
        :class:`hw.soc.burst.Beat`: the row's words.
    """

    i_clear: Signal
    i_row: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, word_bytes: int):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        Integer("bytes of a word", 16, beat_bytes, 4096, "bytes").check("word_bytes", word_bytes)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.word_bytes = word_bytes
        super().__init__({
            "i_clear": In(1),
            "i_row": In(stream.Signature(Span(beat_bytes))),
            "i": In(stream.Signature(Beat(8 * beat_bytes))),
            "o": Out(stream.Signature(Beat(8 * word_bytes))),
        })

    @property
    def latency(self) -> int:
        """Cycles from a beat to the word that it completes."""
        return 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.gather = gather = Gather(8, self.beat_bytes, self.word_bytes)
        wiring.connect(m, gather.o, wiring.flipped(self.o))
        row, beat, piece = self.i_row.payload, self.i.payload, gather.i.payload
        known, taken, end = Signal(), Signal(), Signal()
        # First byte of the next beat, and last byte of the last one.
        first = Signal(range(self.beat_bytes), reset_less=True)
        final = Signal(range(self.beat_bytes), reset_less=True)

        def inside(byte: int) -> Value:
            """Whether a byte of the beat is of the row."""
            begun = first <= byte if byte < self.beat_bytes - 1 else C(1, 1)
            return begun & (~beat.last | (final >= byte)) if byte else begun

        m.d.comb += [
            gather.i.valid.eq(self.i.valid & known),
            self.i.ready.eq(gather.i.ready & known),
            taken.eq(self.i.valid & self.i.ready),
            end.eq(taken & beat.last),
            self.i_row.ready.eq(~known | end),
            piece.data.eq(
                Cat(
                    beat.data.word_select(byte, 8) & inside(byte).replicate(8)
                    for byte in range(self.beat_bytes)
                )
            ),
            piece.start.eq(first),
            piece.count.eq(Mux(beat.last, final + 1, self.beat_bytes) - first),
            piece.last.eq(beat.last),
        ]
        with m.If(taken):
            m.d.sync += first.eq(0)
        with m.If(self.i_row.ready):
            m.d.sync += [
                known.eq(self.i_row.valid),
                first.eq(row.offset),
                final.eq(row.offset + row.bytes - 1),
            ]
        return ResetInserter(self.i_clear)(m)
