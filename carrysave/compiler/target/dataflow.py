"""Which operand of a product stays while its blocks follow each other."""

import numpy as np

from carrysave.errors import check_choice

__all__ = ["ANY", "AUTO", "CHOICES", "DATAFLOWS", "check", "dataflow_of", "with_dataflow"]

DATAFLOWS = ("rows", "columns", "sums")
"""Of blocks with all of K: by rows, A stays; by columns, B stays. With a part of K, sums stay."""
ANY, AUTO = "any", "auto"
CHOICES = (ANY, AUTO, *DATAFLOWS)
"""Any: blocks that are best by a bound; auto: the best of these, and of each dataflow, counted."""


def check(dataflow: str) -> None:
    """Refuse what is none of :data:`CHOICES`; ArgumentError."""
    check_choice("dataflow", dataflow, CHOICES)


def with_dataflow(blocks: np.ndarray, dataflow: str, beats: int) -> np.ndarray:
    """Return the blocks with a dataflow; none: the product cannot have it.

    Parameters
    ----------
    blocks : rows of :func:`golden.soc.blocking.candidates`.
    dataflow : of :data:`DATAFLOWS`.
    beats : of all of K.
    """
    whole = blocks[:, 2] >= beats
    if dataflow == "sums":
        chosen: np.ndarray = blocks[~whole]
    else:
        chosen = blocks[whole & (blocks[:, 3] == (dataflow == "columns"))]
    return chosen


def dataflow_of(by_columns: bool, *, whole: bool) -> str:
    """Return the dataflow of blocks, which have all of K or a part."""
    return ("columns" if by_columns else "rows") if whole else "sums"
