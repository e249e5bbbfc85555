"""Sizes of a job's blocks: how many bits they take, and whether a build can count them."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from golden.soc.spec import CoprocessorSpec
from hw.arith.constant_division import divide_by_constant
from hw.arith.product import product_in_logic
from hw.soc.schedule.geometry import block_widths, pick

__all__ = ["BlockSizes", "above", "block_bits", "fold", "unfit", "words_of", "WindowCodes"]


class BlockSizes(NamedTuple):
    """Sizes of a block in tiles and beats, and whether the job has given them."""

    m: Signal
    n: Signal
    k: Signal
    given: Signal


class WindowCodes(NamedTuple):
    """Codes in a row of a block of windows, which are whole taps; whether they are too many.

    Members
    -------
    line, dense : codes of a kernel row; pixels are apart by their codes.
    codes, beats : how many, and in how many beats of the engine.
    beyond : there are more than are counted.
    """

    line: Signal
    dense: Signal
    codes: Signal
    beats: Value
    beyond: Signal

    @classmethod
    def make(cls, m: Module, spec: CoprocessorSpec) -> "WindowCodes":
        """Make the signals; beats follow in the same cycle."""
        codes = Signal(block_widths(spec)["codes"], name="window_codes")
        most, k = (1 << len(codes)) - 1, spec.inside.k
        beats, rest = divide_by_constant(m, codes, k, most, "operator") if k > 1 else (codes, C(0))
        line = Signal(spec.length_width, name="window_line")
        return cls(
            line, Signal(name="dense"), codes, beats + (rest != 0), Signal(name="codes_beyond")
        )


def block_bits(spec: CoprocessorSpec) -> dict[str, int]:
    """Return the bits of a block's sizes in tiles and beats; larger ones are refused."""
    return {
        "m": bits_for(spec.a_words),
        "n": bits_for(max(spec.b_words * spec.b_slices(kind) for kind in spec.kinds)),
        "k": bits_for(max(spec.a_words * spec.a_slices(kind) for kind in spec.kinds)),
    }


def words_of(spec: CoprocessorSpec, side: str, count: Value, kind: Value) -> Value:
    """Return the words of a count of slices in a store."""
    of = spec.a_slices if side == "a" else spec.b_slices
    slices = [of(kind) for kind in spec.kinds]
    return pick(lambda size: (count + size - 1) // size, slices, kind)


def unfit(
    spec: CoprocessorSpec, job: Any, kind: Value, blocks: BlockSizes, codes: WindowCodes | None
) -> Value:
    """Return whether blocks are too large to be counted, or start inside a byte.

    Parameters
    ----------
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    kind : of the pair of formats.
    blocks : the sizes.
    codes : of blocks of windows, where jobs have them.
    """
    inside, most_k = spec.inside, [spec.a_words * spec.a_slices(kind) for kind in spec.kinds]
    most_n = [spec.b_words * spec.b_slices(kind) for kind in spec.kinds]
    sides = [
        (blocks.n, job.block_n, [inside.n * kind.b_bits for kind in spec.kinds], most_n),
        (blocks.k, job.block_k, [inside.k * kind.a_bits for kind in spec.kinds], most_k),
    ]
    wrong = above(job.block_m, block_bits(spec)["m"], C(spec.a_words))
    for count, whole, widths, most in sides:

        def inside_byte(width: int, count: Value = count) -> Value:
            return product_in_logic(count, width)[:3] != 0

        beyond = above(whole, len(count), pick(C, most, kind))
        if codes is not None and count is blocks.k:
            beyond = Mux(job.mode.window, codes.beyond, beyond)
        wrong |= beyond
        wrong |= pick(inside_byte, widths, kind)
    if spec.shares and spec.vector is not None:
        wrong |= job.ldsa.any() & (blocks.k != spec.vector.block // inside.k)
    if inside.block:
        each = [inside.block // mode.codes for mode in spec.kinds]
        if inside.a_sides:
            wrong |= (job.block_m != 1) | (job.block_n != 1)
        wrong |= pick(lambda size: blocks.k[: size.bit_length() - 1] != 0, each, kind)
    return wrong


def fold(value: Value, width: int) -> Value:
    """Replace the bits from that place up by their OR: too large values stay too large."""
    return Cat(value[:width], value[width:].any())


def above(value: Value, width: int, most: Value) -> Value:
    """Return whether `value` exceeds the `width`-bit `most`."""
    return value[width:].any() | (value[:width] > most)
