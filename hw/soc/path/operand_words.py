"""Words of the engine, of what the operand stores have read."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import C, Cat, Module, Mux, Value

from hw.soc.path.trits import unpack_trits
from hw.soc.schedule.geometry import pick
from hw.soc.schedule.sides import Side

__all__ = ["operand_words"]


def operand_words(m: Module, job: Any, side: Side, read: Value, choice: Any) -> Value:
    """Select the slice of each bank's word, masked with zeros, word by word.

    Zeros are made by the resets of registers.

    Parameters
    ----------
    m : where.
    job : :class:`~hw.soc.schedule.geometry.Geometry`.
    side : which words.
    read : words, or slices, of all banks.
    choice : what is chosen of them.
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
            if side.deep > 1:
                bank = f"bank{number}"
                named = ((one, f"{bank}_weights{at}") for at, one in enumerate(parts))
                return Cat(unpack_trits(m, one, name) for one, name in named)
            return Cat(_spread(one, codes, width) for one in parts)

        part = pick(of, [shapes.index(shape) for shape in shapes], job.kind)
        words.append([
            Mux(
                choice.mask[number] & choice.inside[word],
                part.word_select(word, width) & mask,
                0,
            )
            for word in range(side.across)
        ])
    step = width // side.deep
    return Cat(
        Cat(word[at : at + step] for word in row) for row in words for at in range(0, width, step)
    )


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
