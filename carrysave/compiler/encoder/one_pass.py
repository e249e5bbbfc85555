"""Attention in one pass over scores, as jobs: shares by blocks, their sums, and one division."""

import hashlib
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.encoder.codes import scaled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaling
from carrysave.compiler.program.share_jobs import share_product
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.soc.shares import first_exponent, share_columns, share_fraction

__all__ = ["ONE", "Head", "Mask", "averaging", "dividing", "one_pass", "share_parts", "unit_of"]

ONE = 64
"""Code of the column of ones, by whose sum a row is divided: outputs are in units of 1 / ONE."""
_VALUE = 7
"""Bits of the magnitude of a value's code."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """Operands of a head, and where its results go.

    Members
    -------
    queries, keys, values : codes; keys are turned, and the last column of values is of :data:`ONE`.
    context : results, the last column of which is that of the division of the ones.
    scoring : how scores become codes, of the vector unit's width.
    """

    queries: Buffer
    keys: Buffer
    values: Buffer
    context: Buffer
    scoring: Requantisation


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Which keys a query sees: none behind its own place, and of those before it the last ones.

    Queries are the last places that have keys.

    Members
    -------
    window : how many keys a query sees, its own among them; None: all.
    sinks : the first keys, which all queries see besides; what is between is computed, and hidden.
    group : queries of one place, which follow each other: heads that share keys and values.
    """

    window: int | None = None
    sinks: int = 0
    group: int = 1

    def seen(self, queries: range, rows: int, keys: int) -> np.ndarray:
        """Return which keys some of the rows of queries see: booleans, queries x keys."""
        places = np.array(queries)[:, None] // self.group + keys - rows // self.group
        behind, first = places - np.arange(keys), np.arange(keys) < self.sinks
        return (behind >= 0) & ((behind < (self.window or keys)) | first)


def one_pass(
    image: Image, node: str, head: Head, most: int | None = None, mask: Mask | None = None
) -> None:
    """Add the jobs of a head to an image: two products, and one pass over rows behind each.

    Where products shift sums of shares by octaves, rows may have several blocks; else they must be
    one, whose exponent cancels in the division. Rows are computed some at a time, in buffers of
    these. Keys that none of these rows sees are left out; those that some see get the least score
    in the others.

    Parameters
    ----------
    image : gets the jobs and their buffers.
    node : what the jobs are of.
    head : its operands.
    most : rows at a time; None: all.
    mask : which keys a query sees; None: all.

    Raises
    ------
    ValueError
        Rows of more than a block, a unit without these operations, or with shorter rows.
    """
    target, keys, unit = image.target, head.keys.columns, unit_of(image.target, node)
    if keys > unit.block and not target.spec.shares:
        raise ValueError(
            f"{node}: rows of {keys} scores must be one block of exps, not several of {unit.block}:"
            " the co-processor must have shares"
        )
    size = 16 if unit.width > 8 else 8
    count = min(most or head.queries.rows, head.queries.rows)
    scores = image.reserve(f"{node}scores", count, keys, size)
    shares = image.reserve(f"{node}shares", count, share_columns(unit, "exps", keys), 8)
    sums = image.reserve(f"{node}sums", count, head.values.columns, size)
    for first in range(0, head.queries.rows, count):
        here = first, min(first + count, head.queries.rows)
        seen = np.ones((here[1] - first, keys), bool)
        if mask is not None:
            seen = mask.seen(range(*here), head.queries.rows, keys)
        columns = np.flatnonzero(seen.any(axis=0))
        low, high = int(columns[0]), int(columns[-1]) + 1
        some, wide = (0, here[1] - first), high - low
        c = scores.part(some, (0, wide))
        of_keys = head.keys.part(None, (low, high))
        job = product(target, head.queries.part(here), of_keys, c, how=head.scoring)
        image.start(node, "product", job)
        _hide(image, node, c, seen[:, low:high])
        share = shares.part(some, (0, share_columns(unit, "exps", wide)))
        image.start(node, "exps", rows(target, "exps", c, share))
        codes, octaves = share_parts(share, wide, target)
        averaged, how = sums.part(some), averaging(target, wide)
        values = head.values.part((low, high))
        job = share_product(target, codes, octaves, values, averaged, how)
        image.start(node, "product", job)
        job = rows(target, "divide", averaged, head.context.part(here), how=dividing(unit))
        image.start(node, "divide", job)


def _hide(image: Image, node: str, scores: Buffer, seen: np.ndarray) -> None:
    """Give the least score to what is not seen, in the columns that have any such."""
    unit = unit_of(image.target, node)
    hidden = np.flatnonzero(~seen.all(axis=0))
    if len(hidden) and not (unit.builds(["add"]) and unit.out_width >= unit.width):
        raise ValueError(
            f"{node}: a mask takes add, and codes as wide as scores, of the vector unit"
        )
    # Behind the window, and behind the queries' own places; in rows that the unit has room for.
    cuts = np.flatnonzero(np.diff(hidden) > 1) + 1
    most = unit.most("add")
    runs = [
        run[at : at + most] for run in np.split(hidden, cuts) for at in range(0, len(run), most)
    ]
    for run in runs:
        part = int(run[0]), int(run[-1]) + 1
        least = np.where(seen[:, slice(*part)], 0, -(1 << unit.width - 1))
        digest = hashlib.sha256(least.tobytes()).hexdigest()[:16]
        name = f"mask.{least.shape[0]}x{least.shape[1]}.{digest}"
        given = image.buffers.get(name) or image.place(name, least, scores.bits)
        c, how = scores.part(None, part), scaling(1.0, unit.width)
        image.start(node, "add", rows(image.target, "add", c, c, b=given, how=how))


def unit_of(target: Target, node: str) -> VectorUnitSpec:
    """Return the vector unit of a co-processor; ValueError if that has no exps and divide."""
    unit = target.spec.vector
    if unit is None or not unit.builds(["exps"]):
        raise ValueError(f"{node}: the co-processor must have exps and divide")
    return unit


def share_parts(shares: Buffer, keys: int, target: Target) -> tuple[Buffer, Buffer | None]:
    """Return codes of rows of so many shares, and their octaves, where products take these."""
    unit, codes = target.spec.vector, shares.part(None, (0, keys))
    if not target.spec.shares or unit is None:
        return codes, None
    first = first_exponent(unit, keys)
    return codes, shares.part(None, (first, first + unit.blocks(keys)))


def averaging(target: Target, keys: int, factor: float = 1.0) -> Requantisation:
    """Return how sums of shares times values become codes of the vector unit's width.

    With octaves, the greatest sum is the same for rows of any length.

    Parameters
    ----------
    keys : codes of a row.
    factor : sums are multiplied by it; what is too large then is so as a result, too.
    """
    unit = target.spec.vector
    assert unit is not None
    high = (1 << unit.width - 1) - 1
    most = ((1 << unit.share_width) - 1) * keys << _VALUE
    if target.spec.shares:
        most = 1 << share_fraction(target.spec) + unit.share_width + 1 + _VALUE
    return scaled(min(high / most, 1.0) * factor, high)


def dividing(unit: VectorUnitSpec, bits: int | None = None) -> Requantisation:
    """Return how rows are divided by the sum of shares times :data:`ONE`, to codes of some bits."""
    limit = (1 << (bits or unit.out_width) - 1) - 1
    return Requantisation(
        multiplier=1, shift=ONE.bit_length() - 1, zero_point=0, low=-limit - 1, high=limit
    )
