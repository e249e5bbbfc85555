"""Unpacker: beats of rows at any byte alignment to beats of rows from byte 0 on."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer
from hw.soc.bus.burst import Beat, Span

__all__ = ["Piece", "Unpacker", "rotate"]


class Piece(data.StructLayout):
    """Beat of a row from byte 0 on; the ``last`` one has ``rest`` + 1 valid bytes.

    With ``last``, ``end`` tells whether it ends its block; where a row may have several pieces that
    are last, it has a second bit, and they are joined.
    """

    def __init__(self, beat_bytes: int, marks: int = 1):
        places = range(beat_bytes)
        super().__init__({"data": 8 * beat_bytes, "rest": places, "last": 1, "end": marks})


class Unpacker(wiring.Component):
    """Aligns rows of bytes to byte 0 of their first beat.

    A row of `bytes` becomes ceil(bytes / `beat_bytes`) pieces. A beat is rotated; its low part
    joins the stored rest of the previous beat. Latency, beat to the piece it completes: 1 cycle;
    last beat to the last piece: :attr:`latency` cycles. Throughput: one beat per cycle, across rows
    too: the first beat of a row completes nothing, so the rest of the previous row leaves
    meanwhile. Stalls: ``o.ready`` reaches ``i.ready`` combinationally, ``i.last`` and both reach
    ``i_row.ready``. A row's span must be valid at least one cycle before its first beat is taken.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    length_width : int
        What: bits of a row's number of bytes.
    marks : int
        What: bits of what is known of a row beside, see :class:`Piece`.

    Members
    -------
    i_clear : In(1)
        Discards everything, also what is accepted in this cycle.
    i_row : In(stream)
        :class:`hw.soc.bus.burst.Span`, one for each row; ``i_end``: its block ends with it.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: the row's beats. ``last`` must be right: only the
        number of bytes in the last beat is derived from ``bytes``.
    o : Out(stream)
        :class:`Piece`.
    """

    i_clear: Signal
    i_row: stream.Interface
    i_end: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, length_width: int = 32, marks: int = 1):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.marks = marks
        super().__init__({
            "i_clear": In(1),
            "i_row": In(stream.Signature(Span(beat_bytes, length_width))),
            "i_end": In(marks),
            "i": In(stream.Signature(Beat(8 * beat_bytes))),
            "o": Out(stream.Signature(Piece(beat_bytes, marks))),
        })

    @property
    def latency(self) -> int:
        """Cycles from a row's last beat to its last piece, at most."""
        return 2

    def elaborate(self, platform):
        m = Module()
        row, beat, piece = self.i_row.payload, self.i.payload, self.o.payload
        known, taken, move = Signal(), Signal(), Signal()
        # The current row: its first byte, its last one, its bytes minus one.
        first, final, rest = (
            Signal(range(self.beat_bytes), name=name, reset_less=True)
            for name in ("first", "final", "rest")
        )
        end, places = Signal(self.marks, reset_less=True), Signal.like(first, name="places")
        # A beat of the row has been taken; the stored rest is a row's last piece.
        begun, left = Signal(), Signal()
        kept = Signal(8 * self.beat_bytes, reset_less=True)
        late = Signal(len(rest) + self.marks, reset_less=True)
        turned = Signal(8 * self.beat_bytes)
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(move & known),
            taken.eq(self.i.valid & self.i.ready),
            self.i_row.ready.eq(~known | (taken & beat.last)),
            turned.eq(rotate(beat.data, places, 8)),
        ]
        with m.If(self.i_row.ready):
            m.d.sync += [
                known.eq(self.i_row.valid),
                first.eq(row.offset),
                places.eq(-row.offset),
                final.eq(row.offset + row.bytes - 1),
                rest.eq(row.bytes - 1),
                end.eq(self.i_end),
            ]
        with m.If(taken):
            m.d.sync += [kept.eq(turned), begun.eq(~beat.last), late.eq(Cat(rest, end))]
        more = final >= first
        with m.If(move):
            m.d.sync += [
                left.eq(taken & beat.last & more),
                self.o.valid.eq(left | (taken & begun)),
                piece.data.eq(
                    Cat(
                        Mux(left | (first < self.beat_bytes - byte), kept_byte, byte_now)
                        for byte, (kept_byte, byte_now) in enumerate(
                            zip(_bytes(kept), _bytes(turned), strict=True)
                        )
                    )
                ),
                Cat(piece.rest, piece.end).eq(Mux(left, late, Cat(rest, end))),
                piece.last.eq(left | (beat.last & ~more)),
            ]
        return ResetInserter(self.i_clear)(m)


def rotate(bits: Value, places: Value, pitch: int) -> Value:
    """Rotate left by a multiple of `pitch` bits; the number of positions is a power of two."""
    for level in range((len(bits) // pitch - 1).bit_length()):
        bits = Mux(places[level], bits.rotate_left(pitch << level), bits)
    return bits


def _bytes(bits: Value) -> list[Value]:
    """Take bits apart."""
    return [bits[at : at + 8] for at in range(0, len(bits), 8)]
