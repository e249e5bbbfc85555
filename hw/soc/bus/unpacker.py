"""Unpacker: beats of rows at any byte alignment to beats of rows from byte 0 on."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Integer
from hw.soc.bus.burst import Beat, Span

__all__ = ["Piece", "Unpacker", "rotate"]


class Piece(data.StructLayout):
    """Beat of a row from byte 0 on; the ``last`` one has ``rest`` + 1 valid bytes.

    With ``last``, ``end`` is set for the last row of a block.
    """

    def __init__(self, beat_bytes: int):
        places = range(beat_bytes)
        super().__init__({"data": 8 * beat_bytes, "rest": places, "last": 1, "end": 1})


class Unpacker(wiring.Component):
    """Aligns rows of bytes to byte 0 of their first beat.

    A row of `bytes` becomes ceil(bytes / `beat_bytes`) pieces. A beat is rotated; its low part
    joins the stored rest of the previous beat. Latency, beat to the piece it completes: 1 cycle;
    last beat to the last piece: :attr:`latency` cycles. Throughput: one beat per cycle, across rows
    too: the first beat of a row completes nothing, so the rest of the previous row leaves
    meanwhile. Stalls: ``o.ready`` reaches ``i.ready`` combinationally, ``i.last`` and both reach
    ``i_row.ready``. A row's span must be valid at least one cycle before its first beat is taken.

    Where rows may be joined to one, each goes on where the one before has ended: a piece that is
    not full waits for the bytes of the next one, whose first piece leaves a cycle later where the
    stored rest is in its way.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two up to 64.
    length_width : int
        What: bits of a row's number of bytes.
    joins : bool
        What: rows may be joined to the next one.

    Members
    -------
    i_clear : In(1)
        Discards everything, also what is accepted in this cycle.
    i_row : In(stream)
        :class:`hw.soc.bus.burst.Span`, one for each row.
    i_end, i_joins : In(1)
        Its block ends with it; the next one is joined to it.
    i_fill : In(8)
        Where rows may be joined: bits that are set in each byte of the beat.
    i : In(stream)
        :class:`hw.soc.bus.burst.Beat`: the row's beats. ``last`` must be right: only the
        number of bytes in the last beat is derived from ``bytes``.
    o : Out(stream)
        :class:`Piece`.
    """

    i_clear: Signal
    i_row: stream.Interface
    i_end: Signal
    i_joins: Signal
    i_fill: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, length_width: int = 32, *, joins: bool = False):
        Integer("bytes of a beat", 16, 1, 64, "bytes").check("beat_bytes", beat_bytes)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.joins = joins
        super().__init__({
            "i_clear": In(1),
            "i_row": In(stream.Signature(Span(beat_bytes, length_width))),
            "i_end": In(1),
            **({"i_joins": In(1), "i_fill": In(8)} if joins else {}),
            "i": In(stream.Signature(Beat(8 * beat_bytes))),
            "o": Out(stream.Signature(Piece(beat_bytes))),
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
        end, places = Signal(reset_less=True), Signal.like(first, name="places")
        # A beat of the row has been taken; the stored rest is a row's last piece.
        begun, left = Signal(), Signal()
        previous = Signal(8 * self.beat_bytes, reset_less=True)
        turned = Signal(8 * self.beat_bytes)
        # Bytes that are there already of the row's first piece; whether the next row is joined.
        here, joins = Signal.like(first, name="here"), Signal(reset_less=True)
        late = Signal(2 * len(rest) + 2, reset_less=True)
        leaves = taken & begun
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(move & known & ~(left & begun)),
            taken.eq(self.i.valid & self.i.ready),
            self.i_row.ready.eq(~known | (taken & beat.last)),
            turned.eq(self._turned(beat.data, places)),
        ]
        with m.If(taken):
            m.d.sync += [previous.eq(turned), begun.eq(~beat.last)]
            m.d.sync += late.eq(Cat(rest, end, joins, Mux(begun, 0, here)))
            with m.If(begun):
                m.d.sync += here.eq(0)
        begin, count = row.offset, row.bytes
        with m.If(self.i_row.ready):
            if self.joins:
                begin, count = self._join(m, begun, here, joins)
            m.d.sync += [
                known.eq(self.i_row.valid),
                first.eq(begin),
                places.eq(-begin),
                final.eq(row.offset + row.bytes - 1),
                rest.eq(count - 1),
                end.eq(self.i_end),
            ]
        more, ends = final >= first, Signal()
        last, goes_on, there = Signal(), Signal(), Signal.like(first, name="there")
        piece_rest = Signal.like(rest, name="piece_rest")
        m.d.comb += [
            last.eq(left | (beat.last & ~more)),
            Cat(piece_rest, ends, goes_on, there).eq(Mux(left, late, Cat(rest, end, joins, here))),
        ]
        waits = last & goes_on & ~piece_rest.all()
        with m.If(move):
            m.d.sync += [
                left.eq(taken & beat.last & more),
                self.o.valid.eq((left | leaves) & ~waits),
                Cat(piece.rest, piece.end).eq(Cat(piece_rest, ends)),
                piece.last.eq(last & ~goes_on),
            ]
        fills = move & (left | leaves) if self.joins else move
        self._fill(m, (fills, there), (left, first), previous, turned)
        return ResetInserter(self.i_clear)(m)

    def _turned(self, beat: Value, places: Value) -> Value:
        """Turn the bytes of a beat; those of fill are all alike, so that they need not be."""
        turned = rotate(beat, places, 8)
        return turned | self.i_fill.replicate(self.beat_bytes) if self.joins else turned

    def _fill(
        self,
        m: Module,
        new: tuple[Value, Value],
        old: tuple[Value, Value],
        previous: Value,
        turned: Value,
    ) -> None:
        """Make a piece, but for the bytes that are there already, of two beats or the rest."""
        (fills, there), (left, first) = new, old
        for byte, (before, now) in enumerate(zip(_bytes(previous), _bytes(turned), strict=True)):
            with m.If(fills & (there <= byte) if byte < self.beat_bytes - 1 else fills):
                chosen = Mux(left | (first < self.beat_bytes - byte), before, now)
                m.d.sync += self.o.payload.data.word_select(byte, 8).eq(chosen)

    def _join(self, m: Module, begun: Signal, here: Signal, joins: Signal) -> tuple[Value, Value]:
        """Have a row go on where the one before has ended, as one that has begun before.

        Returns
        -------
        Where it would have begun, maybe in a beat that does not come; and its bytes.
        """
        # A row that a reset drops is joined to none.
        row, before = self.i_row.payload, Signal(len(here), name="before")
        bits = len(before)
        with m.If(self.i_row.valid):
            m.d.sync += before.eq(Mux(self.i_joins, before + row.bytes[:bits], 0))
        m.d.sync += [begun.eq(row.offset < before), here.eq(before), joins.eq(self.i_joins)]
        return (row.offset - before)[:bits], before + row.bytes[:bits]


def rotate(bits: Value, places: Value, pitch: int) -> Value:
    """Rotate left by a multiple of `pitch` bits; the number of positions is a power of two."""
    for level in range((len(bits) // pitch - 1).bit_length()):
        bits = Mux(places[level], bits.rotate_left(pitch << level), bits)
    return bits


def _bytes(bits: Value) -> list[Value]:
    """Take bits apart."""
    return [bits[at : at + 8] for at in range(0, len(bits), 8)]
