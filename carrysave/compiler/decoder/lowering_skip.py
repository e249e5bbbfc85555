"""What a feed-forward leaves out, in a decoder's program: zeros, and lists of what is none."""

from carrysave.compiler.decoder.matrix import F32, F64, I32
from carrysave.compiler.front.decoder import FEED, Layer
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Operation
from golden.soc.lists import INDEX, list_columns

__all__ = ["has_lists", "listed", "thresholded"]


def thresholded(to: Builder, node: str, x: Buffer, layer: Layer, name: str) -> Buffer:
    """Return a row with zeros for what a layer skips, `inputs` or `hidden`, as golden's units do.

    A square less that of the magnitude has the sign of their difference, whatever it is rounded
    to; what is above 0, divided by itself, is 1, and 0 stays 0.
    """
    if layer.skip is None:
        return x
    least = getattr(layer.skip, name)
    with to.naming(node, "Where"):
        above, made = to.array(F64, x.columns), to.array(F32, x.columns)
        to.floats(Operation.MULTIPLY, above, x, x)
        to.floats(Operation.SUBTRACT, above, above, to.constant(least * least, F64))
        to.floats(Operation.MAXIMUM, above, above, to.constant(0, F64))
        to.floats(Operation.DIVIDE, above, above, above)
        return to.floats(Operation.MULTIPLY, made, x, above)


def has_lists(to: Builder, layer: Layer) -> bool:
    """Return whether products of a feed-forward may read those rows of B alone that are listed."""
    return layer.skip is not None and to.image.target.spec.lists > 0


def listed(to: Builder, node: str, codes: Buffer, layer: Layer, group: int) -> Buffer | None:
    """List what is not zero in each group of a row that a layer skips some of.

    None where there is no such row, or the co-processor has no such lists.
    """
    feeds = node.rpartition(".")[2] in FEED and has_lists(to, layer)
    if not feeds or to.image.target.spec.lists < group:
        return None
    groups = codes.split(group)
    with to.naming(node, "NonZero"):
        lists = to.array(I32, list_columns(group), groups.rows)
        to.rows(INDEX, groups, lists)
    return lists
