"""Jobs of a head of attention of a network: what its codes take, whatever their zero points."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.lowered.heads import ONE_PASS, Heads, HeadSizes
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.head_masks import Added
from carrysave.compiler.program.heads import Head, attend
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, scaled
from carrysave.compiler.program.one_pass import ONE
from carrysave.compiler.target.target import Target
from golden.npe.vector import VectorUnitSpec

__all__ = ["HeadRooms", "add_head", "context_of", "rooms_of"]

_ROWS = 32
"""Rows at a time, at least, where a mask hides all keys of some from others."""
_ROOM, _MOVED = 4, 6
"""Bytes of a score and a share, with its part of an exponent; those that jobs read and write of
them in memory."""
_FAR = 0.5
"""Share of the range of scores that zero points of keys may take."""


@dataclass(frozen=True, kw_only=True)
class HeadRooms:
    """Where operands of a head are, and its results: see :class:`.heads.Head`."""

    queries: Buffer
    keys: Buffer
    values: Buffer
    context: Buffer


def rooms_of(image: Image, heads: Heads, sizes: HeadSizes) -> HeadRooms:
    """Make room for a head."""
    name = heads.name
    return HeadRooms(
        queries=_aligned(image, f"{name}.queries", sizes.rows, sizes.width, 8),
        keys=_aligned(image, f"{name}.keys", sizes.width, sizes.keys, 8),
        values=_aligned(image, f"{name}.values", sizes.keys, sizes.value_width, 8),
        context=context_of(image, heads, sizes),
    )


def context_of(image: Image, heads: Heads, sizes: HeadSizes, *, lasting: bool = True) -> Buffer:
    """Make room for results of a head; see :meth:`.image.Image.reserve`."""
    wide = sizes.value_width + (heads.way == ONE_PASS)
    bits = 16 if _unit(image.target).out_width > 8 else 8
    stride, name = image.stride(bits, wide), f"{heads.name}.context"
    return image.reserve(name, sizes.rows, wide, bits, stride=stride, lasting=lasting)


def add_head(image: Image, heads: Heads, at: HeadRooms, mask: np.ndarray | None) -> None:
    """Add the jobs of a head to an image.

    Parameters
    ----------
    image : gets the jobs, and buffers between them, which all heads of a node have.
    heads : how they are computed.
    at : operands and results.
    mask : what is added to scores, rows x keys; None: nothing.

    Raises
    ------
    ValueError
        What the co-processor cannot have.
    """
    target, unit = image.target, _unit(image.target)
    _check(heads, target, unit)
    name, keys = heads.name, at.keys.columns
    bias = None
    if heads.more:
        # What the zero point of queries adds to each key's scores; that of keys adds the same to
        # all of a row, which shares do not depend on.
        row = image.known(f"{name}.more", np.full((1, at.queries.columns), heads.more), 8)
        size = 1, keys, target.info.sums.bits
        bias = image.buffers.get(f"bias.{keys}") or image.reserve(f"bias.{keys}", *size)
        image.start(name, heads.operator, product(target, row, at.keys, bias))
    ones = None
    if heads.way == ONE_PASS:
        ones = image.buffers.get(f"ones.{keys}")
        ones = ones or image.place(f"ones.{keys}", np.full((keys, 1), ONE), 8)
    head = Head(
        queries=at.queries,
        keys=at.keys,
        values=at.values,
        context=at.context,
        scoring=scaled(heads.scale * 2.0**unit.scale_width, (1 << unit.width - 1) - 1),
        ones=ones,
        bias=bias,
        fraction=heads.fraction,
        operator=heads.operator,
    )
    added = None if mask is None else Added(numbers=mask, scale_width=unit.scale_width)
    attend(image, name, head, _rows_at_a_time(target, at, mask), added, heads.way)


def _check(heads: Heads, target: Target, unit: VectorUnitSpec) -> None:
    """Refuse what jobs of a head do not compute."""
    if heads.cap:
        raise ValueError(f"softcap must be 0, not {heads.cap:g}")
    if not (unit.signed and target.spec.sizes):
        raise ValueError("the vector unit must be signed, and code_bytes 2")
    low, high = target.mode.a.low, target.mode.a.high
    if not low <= heads.more <= high:
        raise ValueError(f"zero points of queries must be {low}..{high} from the middle of codes")
    limit = _FAR * 2.0 ** (unit.width - 1 - unit.scale_width)
    if heads.far > limit:
        raise ValueError(
            f"zero points of keys must bring scores by {limit:g} at most from what they are, not"
            f" {heads.far:.4g}: codes of keys around 0 would"
        )


def _unit(target: Target) -> VectorUnitSpec:
    """Return the vector unit; ValueError: there is none."""
    if target.spec.vector is None:
        raise ValueError("the co-processor must have a vector unit")
    return target.spec.vector


def _rows_at_a_time(target: Target, at: HeadRooms, mask: np.ndarray | None) -> int | None:
    """Return the rows of a head that are computed together; None: all.

    On chip, where there is room for scores, shares and sums of some, if these are enough that keys
    and values, which each part reads again, are fewer bytes than scores and shares would be.
    """
    tile, rows, keys = target.info.stores.tile_m, at.queries.rows, at.keys.columns
    wide = at.queries.columns + at.values.columns
    most = target.spec.scratch // (_ROOM * keys + 2 * wide) // tile * tile
    most = most if _MOVED * most > wide else rows
    if mask is not None:
        some, seen = -(-_ROWS // tile) * tile, mask > -np.inf
        apart = (not seen[at : at + some].any(axis=0).all() for at in range(0, len(mask), some))
        most = min(most, some) if any(apart) else most
    return most if most < rows else None


def _aligned(image: Image, name: str, rows: int, columns: int, bits: int) -> Buffer:
    """Make room for rows of whole beats."""
    return image.reserve(name, rows, columns, bits, stride=image.stride(bits, columns))
