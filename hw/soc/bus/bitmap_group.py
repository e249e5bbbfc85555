"""The bytes of a piece that a mask marks, and where each one is."""

from collections.abc import Callable
from typing import Any, NamedTuple

from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

__all__ = ["CHUNK", "ENTRY_BYTES", "Group", "group_of", "sum_of"]

CHUNK = 32
"""Bytes of a row that share a mask."""
ENTRY_BYTES = 4
"""Bytes of a mask, and of an entry of the table of blocks; all else has a multiple of so many."""


class Group(NamedTuple):
    """A piece's bytes that come next.

    Members
    -------
    valid, marks : they are known; which are not zero.
    counts : how many are not zero before each, and in all.
    piece : the next one of the row whose bytes are found.
    row_ends, chunk_ends : they are the row's last ones; a mask, or another row, follows.
    """

    valid: Signal
    marks: Signal
    counts: list[Signal]
    piece: Signal
    row_ends: Signal
    chunk_ends: Signal


def group_of(
    m: Module, lanes: list[Signal], first: Signal, block: Any, when: tuple[Value, ...]
) -> Group:
    """Find what is marked of the next piece: by the mask that is there, or the one before.

    Parameters
    ----------
    m : gets the logic.
    lanes, first : bytes of masks and others; the lane of the first one.
    block : :class:`~hw.soc.bus.bitmap_unpacker.PackedBlock`.
    when : a piece leaves; a mask is taken, or a row without one begins.
    """
    (emits, takes), width = when, len(lanes)
    steps, size = CHUNK // width, exact_log2(width)
    bits = [max(number.bit_length(), 1) for number in range(width + 1)]
    counts = [Signal(bits[number], name=f"count{number}") for number in range(width + 1)]
    shapes = {"marks": width, "piece": len(block.bytes) - size}
    names = (name for name in Group._fields if name != "counts")
    signals: dict[str, Any] = {name: Signal(shapes.get(name, 1), name=name) for name in names}
    group, step = Group(counts=counts, **signals), Signal(range(steps))
    # The mask is in the lanes from the next multiple of four on.
    words = [Cat(lanes[at : at + ENTRY_BYTES]) for at in range(0, width, ENTRY_BYTES)]
    mask = Signal(CHUNK)
    word: Value = words[0]
    if len(words) > 1:
        at = (first[2:] + (first[:2] != 0))[: size - 2]
        word = Cat(words).word_select(at, CHUNK)
    m.d.comb += mask.eq(word)
    more, marks = Signal(CHUNK - width), Signal(width)
    here, over = Mux(takes, mask[:width], more[:width]), Signal()
    m.d.comb += [
        # Counters that go up from 0 need neither what loads them nor a table in front of a carry.
        over.eq(group.piece != block.bytes[size:]),
        marks.eq((here | block.raw.replicate(width)) & ~block.zero.replicate(width)),
    ]
    marked = [mark & (over | (block.bytes[:size] >= number)) for number, mark in enumerate(marks)]
    with m.If(emits | takes):
        following = Mux(takes, 0, step + 1)[: len(step)] if steps > 1 else C(0, 1)
        m.d.sync += [
            step.eq(following),
            more.eq(Mux(takes, mask[width:], more >> width)),
            group.marks.eq(Cat(marked)),
            group.row_ends.eq(~over),
            group.chunk_ends.eq(~over | ((following == steps - 1) & ~block.raw & ~block.zero)),
            *(count.eq(ones) for count, ones in zip(counts, _ones(m, marked), strict=True)),
        ]
    # Lanes that are as many as a mask's may have one only from their first one on.
    whole: Value = C(1, 1)
    if width == ENTRY_BYTES:
        whole = block.raw | block.zero | (first[:2] == 0)
    with m.If(takes):
        m.d.sync += group.valid.eq(whole)
    # What is found behind a chunk is found again by its mask.
    with m.If((takes & whole) | (emits & ~group.chunk_ends)):
        m.d.sync += group.piece.eq(group.piece + 1)
    with m.If(emits & group.chunk_ends):
        m.d.sync += group.valid.eq(0)
    with m.If(emits & group.row_ends):
        m.d.sync += group.piece.eq(0)
    return group


def _ones(m: Module, bits: list[Value]) -> list[Value]:
    """Return how many bits are set before each, and in all: by halves, of which each is known."""
    if len(bits) <= _TABLE - 2:
        return [_looked_up(Cat(bits[:count]), int.bit_count) for count in range(len(bits) + 1)]
    half = len(bits) // 2
    low = _ones(m, bits[:half])
    below = Signal(low[-1].shape(), name=f"ones{half}")
    m.d.comb += below.eq(low[-1])
    high = []
    for count in range(1, len(bits) - half + 1):
        ones = _ones(m, bits[half : half + count])[-1]
        high.append(sum_of(below, ones))
    return [*low, *high]


def sum_of(one: Value, other: Value) -> Value:
    """Return a sum of few bits by a table, which is less than a carry chain."""
    width = len(one)
    if width + len(other) > _TABLE:
        return one + other
    mask = (1 << width) - 1
    return _looked_up(Cat(one, other), lambda both: (both & mask) + (both >> width))


def _looked_up(index: Value, number: Callable[[int], int]) -> Value:
    """Look a function of few bits up."""
    values = [number(at) for at in range(1 << len(index))]
    width = max(max(values).bit_length(), 1)
    return Value.cast(Array(C(value, width) for value in values)[index])


_TABLE = 6
"""Bits of the index of a table: the inputs of a LUT."""
