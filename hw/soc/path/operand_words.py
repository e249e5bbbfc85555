"""Words of the engine, of what the operand stores have read."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.expander import expand
from hw.soc.schedule.geometry import pick
from hw.soc.schedule.sides import Side

__all__ = ["Choice", "Words", "choose", "operand_words", "step"]


class Words(data.StructLayout):
    """Words of the engine, row by row; ``last`` ends the sums.

    Where it `counts` them, a beat has so many ``codes`` along K.
    """

    def __init__(self, width: int, counts: int = 0):
        codes = {"codes": range(counts + 1)} if counts else {}
        super().__init__({"data": width, **codes, "last": 1})


class Choice(data.StructLayout):
    """What is chosen of words that have been read: a slice, by a bit for each; and what not."""

    def __init__(self, spec: CoprocessorSpec, side: Side, counts: int):
        super().__init__({
            "chosen": max(side.slices),
            "mask": side.banks * side.steps,
            "inside": side.across,
            "last": 1,
            "tail": 1,
            **({"turn": range(spec.PARTS)} if side.expander.table_bytes else {}),
            **({"codes": range(counts + 1)} if counts else {}),
        })


def choose(m: Module, feed: Any, choice: Any, tile: Any, final: Value) -> None:
    """Decide which slice, which banks and which words of the store are used.

    Parameters
    ----------
    m : of the feed.
    feed : the :class:`hw.soc.path.operand_feed.OperandFeed`.
    choice : registers of a :class:`Choice`.
    tile : what is left of it.
    final : it is its last beat.
    """
    side = feed.side
    down, across = (tile.codes, tile.lines) if side.down else (tile.lines, tile.codes)
    unit = side.deep // side.steps
    if side.expander.table_bytes:
        m.d.sync += choice.turn.eq(tile.turn)
    m.d.sync += [
        choice.chosen.eq(Cat(tile.slice == number for number in range(max(side.slices)))),
        choice.mask.eq(Cat(step * unit < down for step in range(side.banks * side.steps))),
        choice.inside.eq(Cat(number < across for number in range(side.across))),
        choice.last.eq(final & tile.last),
        choice.tail.eq(final & tile.tail & (feed.i_geometry.tail != 0)),
    ]
    if feed.counted:
        m.d.sync += choice.codes.eq(Mux(final, tile.codes, side.k))


def step(m: Module, feed: Any, tile: Any) -> None:
    """Go to the next beat of a tile: a row down, or the next slice of a word.

    Parameters
    ----------
    m, feed, tile : as :func:`choose` takes them.
    """
    side, slices = feed.side, feed.side.slices
    if side.down:
        m.d.sync += tile.address.eq(tile.address + feed.i_stride)
    elif max(slices) == 1:
        m.d.sync += tile.address.eq(tile.address + 1)
    else:
        ends = tile.slice == pick(lambda count: C(count - 1), slices, feed.i_geometry.kind)
        m.d.sync += tile.slice.eq(Mux(ends, 0, tile.slice + 1))
        with m.If(ends):
            m.d.sync += tile.address.eq(tile.address + 1)


def operand_words(m: Module, job: Any, side: Side, read: Value, choice: Any, table: Value) -> Value:
    """Select the slice of each bank's word, masked with zeros, word by word.

    Zeros are made by the resets of registers.

    Parameters
    ----------
    m : where.
    job : :class:`~hw.soc.schedule.geometry.Geometry`.
    side : which words.
    read : words, or slices, of all banks.
    choice : what is chosen of them.
    table : that of the job, of an expander that takes one.
    """
    width, shapes = side.width, side.shapes
    mask: Value = C((1 << width) - 1, width)
    if any(codes > 1 for codes, _ in shapes):
        mask = Mux(choice.tail, (1 << job.tail) - 1, mask)[:width]
    words: list[list[Value]] = []
    for number in range(side.banks):
        row = read.word_select(number, len(read) // side.banks)

        def of(shape: int, row: Value = row, number: int = number) -> Value:
            codes, bits = shapes[shape]
            part = _slice(row, choice.chosen, side.across * bits)
            parts = [part.word_select(word, bits) for word in range(side.across)]
            if side.expander.bits:
                named = [(one, f"bank{number}_weights{at}") for at, one in enumerate(parts)]
                each = width // side.numbers
                return Cat(expand(m, one, side.expander, each, table, name) for one, name in named)
            return Cat(_spread(one, codes, width) for one in parts)

        part = pick(of, [shapes.index(shape) for shape in shapes], job.kind)
        masks = choice.mask.word_select(number, side.steps)
        words.append([
            _masked(m, part.word_select(word, width) & mask, masks, choice.inside[word])
            for word in range(side.across)
        ])
    step = width // side.numbers
    return Cat(
        Cat(word[at : at + step] for word in row) for row in words for at in range(0, width, step)
    )


def _masked(m: Module, word: Value, steps: Value, inside: Value) -> Value:
    """Put zeros in place of the steps of a word that are beyond K, and of a word beyond C."""
    if len(steps) == 1:
        return Mux(steps & inside, word, 0)
    width = len(word) // len(steps)
    numbers, masked = Signal(len(word), name="numbers"), Signal(len(word), name="masked")
    m.d.comb += numbers.eq(word)
    for at, step in enumerate(steps):
        m.d.comb += masked.word_select(at, width).eq(
            Mux(step & inside, numbers.word_select(at, width), 0)
        )
    return masked


def _slice(row: Value, chosen: Value, width: int) -> Value:
    """Select one of the slices of a word, by a bit for each.

    That takes fewer tables of four inputs than multiplexers do.
    """
    count = len(row) // width
    if count == 1:
        return row
    parts = [
        row.word_select(number, width) & chosen[number].replicate(width) for number in range(count)
    ]
    return Value.cast(reduce(or_, parts))


def _spread(word: Value, codes: int, width: int) -> Value:
    """Rearrange the codes of a word in memory to the engine's slots."""
    bits, pitch = len(word) // codes, width // codes
    used = min(bits, pitch)
    return Cat(
        Cat(word.word_select(code, bits)[:used], C(0, pitch - used)) for code in range(codes)
    )
