"""The bytes of a piece that a mask marks, and where each one is."""

from collections.abc import Callable
from typing import Any, NamedTuple

from amaranth import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

__all__ = ["CHUNK", "ENTRY_BYTES", "NEAR", "Group", "group_of", "near_bytes", "sum_of"]

CHUNK = 32
"""Bytes of a row that share a mask."""
ENTRY_BYTES = 4
"""Bytes of a mask, and of an entry of the table of blocks; blocks have a multiple of so many."""
NEAR = 4
"""Bytes of a piece that are of as many lanes: a table chooses one of so many."""


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


def near_bytes(m: Module, lanes: list[Signal], base: Value, name: str) -> list[Signal]:
    """Return the four lanes from one on, each at its place modulo four."""
    near = [Signal(8, name=f"{name}{place}") for place in range(NEAR)]
    for place, lane in enumerate(near):
        turn = (base[2:] + (base[:2] > place))[: exact_log2(len(lanes)) - 2]
        m.d.comb += lane.eq(Cat(lanes[place::NEAR]).word_select(turn, 8))
    return near


def group_of(
    m: Module,
    width: int,
    near: list[Signal],
    first: Signal,
    block: Any,
    when: tuple[Value, ...],
) -> Group:
    """Find what is marked of the next piece: by the mask that is there, or the one before.

    Parameters
    ----------
    m : gets the logic.
    width : bytes of a piece.
    near, first : :func:`near_bytes` of the first lane, which may be a mask; which one that is.
    block : :class:`~hw.soc.bus.bitmap_unpacker.PackedBlock`.
    when : a piece leaves; a mask is taken, or a row without one begins.
    """
    emits, takes = when
    steps, size = CHUNK // width, exact_log2(width)
    bits = [max(number.bit_length(), 1) for number in range(width + 1)]
    counts = [Signal(bits[number], name=f"count{number}") for number in range(width + 1)]
    shapes = {"marks": width, "piece": len(block.bytes) - size}
    names = (name for name in Group._fields if name != "counts")
    signals: dict[str, Any] = {name: Signal(shapes.get(name, 1), name=name) for name in names}
    group, step = Group(counts=counts, **signals), Signal(range(steps))
    mask = Signal(CHUNK)
    for place in range(ENTRY_BYTES):
        byte = Cat(near).word_select((first[:2] + place)[:2], 8)
        m.d.comb += mask.word_select(place, 8).eq(byte)
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
    with m.If(takes):
        m.d.sync += group.valid.eq(1)
    # What is found behind a chunk is found again by its mask.
    with m.If(takes | (emits & ~group.chunk_ends)):
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
