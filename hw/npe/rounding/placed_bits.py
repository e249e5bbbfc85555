"""Random bits of numbers of a matrix, by their place: a generator that counts."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Place", "PlacedBits"]

_BLOCK, _WORD = 32, 16
_STAGES, _ROUNDS = 3, 4
"""Registers on the way, and rounds before each."""
_CONSTANTS = "11111010"
"""Of the words of the key after the first four: the begin of the sequence z0 of SIMON."""

_Words = tuple[Value, ...]


class Place(data.StructLayout):
    """Where some numbers of a row are: the seed, the row, and the first one's column."""

    def __init__(self, column_width: int):
        super().__init__({"seed": 31, "row": 24, "column": column_width})


class PlacedBits(wiring.Component):
    """Makes the random bits of numbers side by side in a row of a matrix.

    Computes :func:`golden.formats.placed_bits.placed_bits`, exactly.

    Latency, place to bits: 3 cycles. Throughput: one place per cycle. Stalls: ``o.ready`` reaches
    ``i.ready`` combinationally.

    Parameters
    ----------
    width : int
        What: random bits of a number.
    across : int
        How: numbers at a time; columns of places are multiples of it.
    column_width : int
        How: bits of the number of a column.

    Members
    -------
    i : In(stream)
        :class:`Place`.
    o : Out(stream)
        Bits of each number, that of the first column lowest.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int, across: int, column_width: int = 24):
        self.width, self.across, self.column_width = width, across, column_width
        self.each = 1 << (_BLOCK // width).bit_length() - 1
        """Columns of a block."""
        self.together = min(self.each, across & -across)
        """Columns of a place that are always of one block."""
        super().__init__({
            "i": In(stream.Signature(Place(column_width))),
            "o": Out(stream.Signature(across * width)),
        })

    def elaborate(self, platform):
        m = Module()
        move, valid = Signal(), Signal(_STAGES)
        m.d.comb += [move.eq(~self.o.valid | self.o.ready), self.i.ready.eq(move)]
        m.d.comb += self.o.valid.eq(valid[-1])
        with m.If(move):
            m.d.sync += valid.eq(Cat(self.i.valid, valid))
        place = self.i.payload
        keys: _Words = (*_words(place.row), *_words(place.seed))
        blocks, lanes = self._blocks(place.column)
        for stage in range(_STAGES):
            blocks = [self._rounds(block, keys) for block in blocks]
            keys = _next_keys(keys, stage) if stage < _STAGES - 1 else ()
            held: list[Value] = []
            with m.If(move):
                for value in (*keys, *(word for block in blocks for word in block), *lanes):
                    register = Signal(len(value), name=f"stage{stage}_{len(held)}", reset_less=True)
                    m.d.sync += register.eq(value)
                    held.append(register)
            keys, rest = tuple(held[: len(keys)]), held[len(keys) :]
            words = rest[: 2 * len(blocks)]
            blocks = [(words[at], words[at + 1]) for at in range(0, len(words), 2)]
            lanes = rest[len(words) :]
        size = self.together * self.width
        m.d.comb += self.o.payload.eq(
            Cat(
                Cat(right, left).word_select(lane, size) if len(lane) else Cat(right, left)[:size]
                for (left, right), lane in zip(blocks, lanes, strict=True)
            )
        )
        return m

    def _blocks(self, column: Value) -> tuple[list[tuple[Value, Value]], list[Value]]:
        """Return the blocks of a place's columns, and which part of each is theirs."""
        whole = self.across.bit_count() == 1
        lane_width, blocks, lanes = (self.each - 1).bit_length(), [], []
        for first in range(0, self.across, self.together):
            # Columns of places are multiples: where that is a power of two, nothing is carried.
            at: Value = (column | first) if whole else (column + first)[: len(column)]
            left, right = _words(at[lane_width:])
            blocks.append((left, right))
            lanes.append(at[(self.together - 1).bit_length() : lane_width])
        return blocks, lanes

    @staticmethod
    def _rounds(block: tuple[Value, Value], keys: _Words) -> tuple[Value, Value]:
        """Encrypt by a round for each word of the key."""
        left, right = block
        for key in keys:
            both = left.rotate_left(1) & left.rotate_left(8)
            left, right = right ^ both ^ left.rotate_left(2) ^ key, left
        return left, right


def _next_keys(keys: _Words, stage: int) -> _Words:
    """Return the next words of the key, as many as rounds of a stage."""
    words = list(keys)
    for number in range(_ROUNDS):
        mixed = words[-1].rotate_right(3) ^ words[-3]
        constant = int(_CONSTANTS[stage * _ROUNDS + number]) ^ (1 << _WORD) - 4
        words.append(words[-4] ^ mixed ^ mixed.rotate_right(1) ^ constant)
    return tuple(words[len(keys) :])


def _words(value: Value) -> tuple[Value, Value]:
    """Return the low and the high word of a number, with zeros above it."""
    whole = Cat(value, C(0, 2 * _WORD - len(value)))
    return whole[:_WORD], whole[_WORD:]
