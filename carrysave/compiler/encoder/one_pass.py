"""Attention in one pass over scores, as jobs: shares by blocks, their sums, and one division."""

from dataclasses import dataclass

from carrysave.compiler.encoder.codes import scaled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.soc.shares import first_exponent, share_columns, share_fraction

__all__ = ["ONE", "Head", "averaging", "dividing", "one_pass", "share_parts", "unit_of"]

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


def one_pass(image: Image, node: str, head: Head, most: int | None = None) -> None:
    """Add the jobs of a head to an image: two products, and one pass over rows behind each.

    Where products shift sums of shares by octaves, rows may have several blocks; else they must be
    one, whose exponent cancels in the division. Rows are computed some at a time, in buffers of
    these.

    Parameters
    ----------
    image : gets the jobs and their buffers.
    node : what the jobs are of.
    head : its operands.
    most : rows at a time; None: all.

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
        some = 0, here[1] - first
        c = scores.part(some)
        job = product(target, head.queries.part(here), head.keys, c, how=head.scoring)
        image.start(node, "product", job)
        image.start(node, "exps", rows(target, "exps", c, shares.part(some)))
        codes, octaves = share_parts(shares.part(some), keys, target)
        averaged, how = sums.part(some), averaging(target, keys)
        job = product(target, codes, head.values, averaged, how=how, octaves=octaves)
        image.start(node, "product", job)
        job = rows(target, "divide", averaged, head.context.part(here), how=dividing(unit))
        image.start(node, "divide", job)


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
