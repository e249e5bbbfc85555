"""Zero points of blocks along K, one for each column of B, subtracted from its codes."""

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.quire import QuireSpec
from golden.npe.lane import LaneSpec

__all__ = ["check_lane", "differences", "most_words", "wider", "zeros_apart"]


def wider(lane: LaneSpec, index: int) -> IntFormat:
    """Return the format of a code of B less its zero point: a bit more than either has."""
    return IntFormat(width=lane.elements[index].width + 1)


def check_lane(lane: LaneSpec, block: int) -> None:
    """Refuse lanes whose magnitudes have no room for a difference, and blocks that are no words."""
    integers = all(isinstance(fmt, IntFormat) for fmt in lane.elements)
    if lane.word_width != 8 or not integers:
        raise ValueError(
            f"formats must be of int8, int4 with zeros, in lane sl8, not {lane.formats} in words of"
            f" {lane.word_width} bits"
        )
    codes = max(lane.codes(*pair) for pair in lane.pairs)
    if block % codes:
        raise ValueError(f"block must be a multiple of the {codes} codes of a word, not {block!r}")
    for a, b in lane.pairs:
        least = _sums(lane, a, b, lane.codes(a, b)).width
        if lane.accumulator_width < least:
            raise ValueError(
                f"accumulator_width must be {least}..128 bits for {lane.formats} with zeros, not"
                f" {lane.accumulator_width!r}"
            )


def most_words(lane: LaneSpec, a: int, b: int) -> int:
    """Return the words per sum that cannot overflow, 1 or more, for a pair of formats."""
    limit = min(_sums(lane, a, b).k_max_of(lane.accumulator_width), lane.LIMIT)
    return limit // lane.codes(a, b)


def _sums(lane: LaneSpec, a: int, b: int, k_max: int = 1) -> QuireSpec:
    """Return the sums of some products."""
    return QuireSpec(a_format=lane.elements[a], b_format=wider(lane, b), k_max=k_max)


def differences(fmt: IntFormat, b: np.ndarray, zeros: np.ndarray, block: int) -> np.ndarray:
    """Subtract the zero point of its column and block from each code.

    The sum of a (b - z) over a block is that of a b less z times that of a: what an affine weight
    scale * (code - zero point) of GPTQ and AWQ comes to, exactly.

    Parameters
    ----------
    fmt : of codes and of zero points.
    b : codes, K x N.
    zeros : zero points, blocks x N.
    block : rows of B that have one; the last block may be shorter.
    """
    wanted = -(-len(b) // block), b.shape[1]
    if zeros.shape != wanted:
        raise ValueError(
            f"b_zeros must be {wanted}, one for each block of {block} codes, not {zeros.shape}"
        )
    spread = np.repeat(fmt.check("b_zeros", zeros), block, axis=0)[: len(b)]
    return b - spread


def zeros_apart(
    fmt: ElementFormat, sides: tuple[np.ndarray, ...]
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray]:
    """Return scales of A, and scales and zero points of B, of what jobs have for each block.

    Parameters
    ----------
    fmt : of B's codes; of a zero point's byte as many bits count.
    sides : scales of A, and records of B of 16 bits, a scale and a zero point behind it; or bytes
        of zero points alone.
    """
    *of_a, of_b = sides
    zeros = fmt.wrap((of_b >> 8 * len(of_a)) & (1 << fmt.width) - 1)
    return (of_a[0], of_b & 0xFF, zeros) if of_a else (None, None, zeros)
