"""Matrix products in blocks along K, with a scale per block and row of A or column of B."""

import numpy as np

from golden.formats.exact import Exact
from golden.formats.product import matmul
from golden.formats.quire import QuireSpec
from golden.npe.block_scale import BlockScaleSpec, block_scale
from golden.npe.lane import LaneSpec
from golden.npe.zero_points import wider

__all__ = ["block_width", "check_blocks", "scaled_matmul"]


def block_width(lane: LaneSpec, block: int, zeros: bool = False) -> int:
    """Bits of the sum of a block of codes, in any formats, B's less zero points; at least 4."""
    quires = [
        QuireSpec(
            a_format=lane.elements[a],
            b_format=wider(lane, b) if zeros else lane.elements[b],
            k_max=block,
        )
        for a, b in lane.pairs
    ]
    return max(4, *(quire.width for quire in quires))


def check_blocks(lane: LaneSpec, block: int, zeros: bool = False) -> None:
    """Refuse blocks that are not whole words, or whose sums do not fit."""
    codes = max(lane.codes(*pair) for pair in lane.pairs)
    if block % codes:
        raise ValueError(f"block must be a multiple of the {codes} codes of a word, not {block!r}")
    width = block_width(lane, block, zeros)
    if width > 63:
        raise ValueError(
            f"block must be of sums of at most 63 bits, not {block!r} codes of {lane.formats}"
        )
    if width > lane.accumulator_width:
        raise ValueError(
            f"accumulator_width must be {width}..128 bits for blocks of {block} of {lane.formats}, "
            f"not {lane.accumulator_width!r}"
        )


def scaled_matmul(
    spec: BlockScaleSpec,
    block: int,
    a: Exact,
    b: Exact,
    *,
    scales: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Sum the products of each block exactly, scale the sums and accumulate them.

    Parameters
    ----------
    spec : of :func:`golden.npe.block_scale.block_scale`.
    block : codes per block; the last one may be shorter.
    a, b : numbers, M x K and K x N; NaN counts as zero in a sum.
    scales : their codes, M x blocks and blocks x N.

    Returns
    -------
    c : M x N int64 codes of fp32.
    invalid : M x N bool; the row of A or the column of B has a NaN number or scale.
    """
    a_scales, b_scales = scales
    rows, terms, columns = *a.shape, b.shape[1]
    starts = range(0, terms, block)
    shape = rows, columns, len(starts)
    wanted = (rows, len(starts)), (len(starts), columns)
    if terms == 0 or (np.shape(a_scales), np.shape(b_scales)) != wanted:
        raise ValueError(
            f"a_scales and b_scales must be {wanted[0]} and {wanted[1]}, one for each block of "
            f"{block} codes, not {np.shape(a_scales)} and {np.shape(b_scales)}"
        )
    sums = np.zeros(shape, dtype=np.int64)
    nan = np.zeros(shape, dtype=bool)
    for number, start in enumerate(starts):
        part = slice(start, start + block)
        left, right = a[:, part], b[part]
        finite = (Exact.finite(x.significand, x.exponent) for x in (left, right))
        sums[:, :, number] = matmul(*finite).fixed(spec.lsb)
        nan[:, :, number] = np.logical_or.outer(left.nan.any(axis=1), right.nan.any(axis=0))
    spread = [
        np.broadcast_to(codes, shape)
        for codes in (np.asarray(a_scales)[:, None], np.asarray(b_scales).T[None])
    ]
    last = np.zeros(shape, dtype=bool)
    last[:, :, -1] = True
    codes = block_scale(spec, *(x.reshape(-1) for x in (sums, *spread, nan, last)))
    no_scale = (1 << spec.scale_width) - 1
    invalid = nan | (spread[0] == no_scale) | (spread[1] == no_scale)
    return codes.reshape(rows, columns), invalid.any(axis=2)
