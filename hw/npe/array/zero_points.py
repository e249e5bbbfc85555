"""Zero points of blocks, subtracted from the codes of B at the edge of an array of lanes."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from golden.npe.npe import NpeSpec
from hw.npe.array.ports import SCALE
from hw.npe.lane.widths import BYTE, NIBBLE

__all__ = ["differences"]


def differences(m: Module, spec: NpeSpec, words: data.View, index: Value, first: Value) -> Value:
    """Subtract from the codes of a word of each column of B the zero point of its block.

    A lane's magnitudes have as many bits as a code: that of a difference fits, too, so that only
    its sign is new. Sums of products are then those of A with B less z times those of A, without
    sums of A, and without a multiplier for z.

    Parameters
    ----------
    m : gets the logic, and a register of the zero points.
    spec : columns, formats.
    words : :class:`hw.npe.array.ports.BWords`.
    index : of their format.
    first : they are the first words of a block, whose zero points count, or will be.

    Returns
    -------
    For each column a word of differences modulo 2^bits of a code, and the signs of both codes
    behind it; a word of one code has its sign twice.
    """
    held = Signal(spec.n * SCALE, name="zeros_held", reset_less=True)
    zeros = Signal(len(held), name="zeros")
    m.d.comb += zeros.eq(Mux(first, words.zero, held))
    # Until the first words are accepted, these follow the input: no enable.
    m.d.sync += held.eq(zeros)
    return Cat(
        _difference(spec.element.names, index, *(x.word_select(number, BYTE) for x in both))
        for both in [(words.data, zeros)]
        for number in range(spec.n)
    )


def _difference(names: tuple[str, ...], index: Value, word: Value, zero: Value) -> Value:
    """Subtract a zero point from the code, or from both, of a word."""
    one = word.as_signed() - zero.as_signed()
    short = zero[:NIBBLE].as_signed()
    halves = [half.as_signed() - short for half in (word[:NIBBLE], word[NIBBLE:])]
    single = Cat(one[:BYTE], one[BYTE], one[BYTE])
    double = Cat(*(half[:NIBBLE] for half in halves), *(half[NIBBLE] for half in halves))
    if len(names) == 1:
        return double if names[0] == "int4" else single
    return Mux(index == names.index("int4"), double, single)
