"""Attention of a head as jobs: in one pass over scores, or by a softmax of whole rows."""

from dataclasses import dataclass

from carrysave.compiler.lowered.heads import ONE_PASS
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.head_masks import Addend, add_codes, chunks
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaled, scaling
from carrysave.compiler.program.one_pass import averaging, dividing, share_parts, unit_of
from carrysave.compiler.program.share_jobs import share_product
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from golden.soc.shares import share_columns

__all__ = ["Head", "attend", "fraction_of"]

_VALUE = 8
"""Bits of a value's code."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """Operands of a head, and where its results go.

    Members
    -------
    queries, keys, values : codes; keys are turned.
    context : results; in one pass the last column is that of the division of the ones.
    scoring : how scores become codes, of the vector unit's width.
    ones : a column of :data:`.one_pass.ONE`; None: it is the last one of values, or the way takes
        none.
    bias : sums that are added to the scores of each key; None: nothing is.
    fraction : bits of results behind the binary point, in units of a value's code.
    operator : that jobs are of; empty: each is of its own.
    """

    queries: Buffer
    keys: Buffer
    values: Buffer
    context: Buffer
    scoring: Requantisation
    ones: Buffer | None = None
    bias: Buffer | None = None
    fraction: int = 0
    operator: str = ""

    @property
    def parts(self) -> list[Buffer]:
        """Values, and the ones beside them."""
        return [self.values, *([] if self.ones is None else [self.ones])]


def fraction_of(unit: VectorUnitSpec, way: str, keys: int) -> int:
    """Return the bits of results behind the binary point: the unit's codes have room for them."""
    room = unit.out_width - _VALUE
    if way == ONE_PASS:
        return room
    # Sums of many whole rows have fewer bits: what scales them does not make more.
    return min(room, _bits(unit) - 1 - _less(unit, keys))


def _bits(unit: VectorUnitSpec) -> int:
    """Return the bits of a multiplier of the unit, without a sign."""
    return unit.reciprocal_width - 1


def _less(unit: VectorUnitSpec, keys: int) -> int:
    """Return how many bits sums of whole rows are shifted: codes of a row sum up to 2^bits."""
    bits = unit.share_width - 1 + (keys - 1).bit_length()
    return max(bits + _VALUE - unit.width, 0)


def attend(
    image: Image,
    node: str,
    head: Head,
    most: int | None = None,
    mask: Addend | None = None,
    way: str = ONE_PASS,
) -> None:
    """Add the jobs of a head to an image: two products, and what the vector unit does.

    In one pass, where products shift sums of shares by octaves, rows may have several blocks; else
    they must be one, whose exponent cancels in the division. Rows are computed some at a time, in
    buffers of these. Keys that none of these rows sees are left out; those that some see get the
    least score in the others.

    Parameters
    ----------
    image : gets the jobs and their buffers.
    node : what the jobs are of.
    head : its operands.
    most : rows at a time; None: all.
    mask : what is added to scores; None: nothing.
    way : one of those of :mod:`carrysave.compiler.lowered.heads`.

    Raises
    ------
    ValueError
        Rows of more than a block, a unit without these operations, or with shorter rows.
    """
    unit, keys = _unit(image, node, way), head.keys.columns
    if way == ONE_PASS and keys > unit.block and not image.target.spec.shares:
        raise ValueError(
            f"{node}: rows of {keys} scores must be one block of exps, not several of {unit.block}:"
            " the co-processor must have shares"
        )
    count = min(most or head.queries.rows, head.queries.rows)
    scores = _room(image, f"{node}scores", count, keys, _size(unit))
    size = head.queries.rows, keys
    behind = _divided if way == ONE_PASS else _scaled_rows
    for here, low, codes in chunks(size, count, mask, unit):
        c = scores.part((0, here[1] - here[0]), (0, codes.shape[1]))
        across = low, low + codes.shape[1]
        bias = None if head.bias is None else head.bias.part(None, across)
        of_keys = head.keys.part(None, across)
        job = product(
            image.target, head.queries.part(here), of_keys, c, bias=bias, how=head.scoring
        )
        _start(image, node, head, "product", job)
        add_codes(image, (node, head.operator or "add"), c, codes)
        behind(image, node, head, c, _Part(rows=here, keys=across, most=count))


@dataclass(frozen=True, kw_only=True)
class _Part:
    """Rows and keys that are computed together, and the most rows that are."""

    rows: tuple[int, int]
    keys: tuple[int, int]
    most: int


def _divided(image: Image, node: str, head: Head, scores: Buffer, part: _Part) -> None:
    """Add what is behind scores in one pass: shares, their sums, and the division."""
    target, unit = image.target, unit_of(image.target, node)
    count, keys = scores.rows, scores.columns
    columns = share_columns(unit, "exps", head.keys.columns)
    room = _room(image, f"{node}shares", part.most, columns, 8)
    share = room.part((0, count), (0, share_columns(unit, "exps", keys)))
    _start(image, node, head, "exps", rows(target, "exps", scores, share))
    codes, octaves = share_parts(share, keys, target)
    wide = sum(one.columns for one in head.parts)
    sums = _room(image, f"{node}sums", part.most, wide, _size(unit)).part((0, count))
    start = 0
    for values in head.parts:
        c = sums.part(None, (start, start + values.columns))
        b, how = values.part(part.keys), averaging(target, keys)
        job = share_product(target, codes, octaves, b, c, how)
        _start(image, node, head, "product", job)
        start += values.columns
    how = dividing(unit, head.context.bits, head.fraction)
    c = head.context.part(part.rows)
    _start(image, node, head, "divide", rows(target, "divide", sums, c, how=how))


def _scaled_rows(image: Image, node: str, head: Head, scores: Buffer, part: _Part) -> None:
    """Add what is behind scores of whole rows: a softmax, sums, and each row's power of two."""
    target, unit = image.target, _unit(image, node)
    count, keys = scores.rows, scores.columns
    room = _room(image, f"{node}shares", part.most, head.keys.columns + 1, 8)
    share = room.part((0, count), (0, keys + 1))
    _start(image, node, head, "softmax", rows(target, "softmax", scores, share))
    wide, high = head.values.columns, (1 << unit.width - 1) - 1
    less = _less(unit, keys)
    sums = _room(image, f"{node}sums", part.most, wide, _size(unit)).part((0, count))
    codes, how = share.part(None, (0, keys)), scaled(2.0**-less, high)
    _start(
        image,
        node,
        head,
        "product",
        product(target, codes, head.values.part(part.keys), sums, how=how),
    )
    to = scaling(2.0 ** (less + head.fraction), head.context.bits, multiplier_bits=_bits(unit))
    powers, c = share.part(None, (keys, keys + 1)), head.context.part(part.rows, (0, wide))
    _start(image, node, head, "scale", rows(target, "scale", sums, c, b=powers, how=to))


def _start(image: Image, node: str, head: Head, operation: str, job: Job) -> None:
    image.start(node, head.operator or operation, job)


def _unit(image: Image, node: str, way: str = "") -> VectorUnitSpec:
    """Return the vector unit, which has what a way takes."""
    if way == ONE_PASS:
        return unit_of(image.target, node)
    unit = image.target.spec.vector
    if unit is None or not (unit.builds(["softmax"]) and unit.builds(["scale"])):
        raise ValueError(f"{node}: the co-processor must have softmax and scale")
    return unit


def _size(unit: VectorUnitSpec) -> int:
    """Return the bits that a score has in memory."""
    return 16 if unit.width > 8 else 8


def _room(image: Image, name: str, count: int, columns: int, bits: int) -> Buffer:
    """Make room for a while, which all chunks and heads of a node have."""
    return image.buffers.get(name) or image.reserve(name, count, columns, bits, lasting=False)
