"""Attention in one pass over scores, as jobs: shares by blocks, their sums, and one division."""

from dataclasses import dataclass

from carrysave.compiler.encoder.codes import scaled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows
from carrysave.driver import Requantisation

__all__ = ["ONE", "Head", "one_pass"]

ONE = 64
"""Code of the column of ones, by whose sum a row is divided: outputs are in units of 1 / ONE."""


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


def one_pass(image: Image, node: str, head: Head) -> None:
    """Add the jobs of a head to an image: two products, and one pass over rows behind each.

    Rows of scores must be one block: shares of several blocks have several exponents, which no
    product shifts sums by, yet. A row's own exponent cancels in its division.

    Parameters
    ----------
    image : gets the jobs and their buffers.
    node : what the jobs are of.
    head : its operands.

    Raises
    ------
    ValueError
        Rows of more than a block, or a unit without these operations.
    """
    target, unit = image.target, image.target.spec.vector
    (queries, keys), most = (head.queries.rows, head.keys.columns), head.values.columns
    if unit is None or not unit.builds(["exps"]):
        raise ValueError(f"{node}: the co-processor must have exps and divide")
    if keys > unit.block:
        raise ValueError(
            f"{node}: rows of {keys} scores must be one block of exps, not several of {unit.block}"
        )
    scores = image.reserve(f"{node}scores", queries, keys, 16 if unit.width > 8 else 8)
    columns = -(-keys // unit.lanes) * unit.lanes + 1
    shares = image.reserve(f"{node}shares", queries, columns, 8)
    sums = image.reserve(f"{node}sums", queries, most, 16 if unit.width > 8 else 8)
    job = product(target, head.queries, head.keys, scores, how=head.scoring)
    image.start(node, "product", job)
    image.start(node, "exps", rows(target, "exps", scores, shares))
    # Sums of shares times values, of a code's greatest magnitude, in the unit's width.
    high = (1 << unit.width - 1) - 1
    least = high / (((1 << unit.share_width) - 1) * keys * 128)
    share = shares.part(None, (0, keys))
    job = product(target, share, head.values, sums, how=scaled(min(least, 1.0), high))
    image.start(node, "product", job)
    limit = (1 << unit.out_width - 1) - 1
    how = Requantisation(
        multiplier=1, shift=ONE.bit_length() - 1, zero_point=0, low=-limit - 1, high=limit
    )
    image.start(node, "divide", rows(target, "divide", sums, head.context, how=how))
