"""Tables of numbers that weights are rounded to: NF4 of QLoRA, or clusters of the weights."""

from collections.abc import Mapping

import numpy as np

from carrysave.errors import needs
from golden.lut.expander import CODEBOOKS, NF4, ExpanderSpec

__all__ = ["BOOKS", "MOST", "nearest", "table_for"]

MOST = 127
"""Largest number of a table: a weight is one of them times its scale."""
BOOKS: Mapping[str, ExpanderSpec] = {
    "nf4": CODEBOOKS["nf4"],
    **{
        f"{'mirrored' if spec.mirrored else 'kmeans'}:{spec.entries}": spec
        for spec in CODEBOOKS.values()
        if spec.table is None
    },
}
"""Their names, and how a co-processor has their codes in memory."""


def table_for(book: str, units: np.ndarray) -> np.ndarray:
    """Return a table, numbers in order.

    Parameters
    ----------
    book : of :data:`BOOKS`.
    units : weights by their scales, -127 to 127.
    """
    if book == "nf4":
        return np.array(NF4)
    spec = BOOKS[book]
    if not spec.mirrored:
        return _clusters(units, spec.entries)
    # Where a number's complement is its mirror: half below 0.
    table = _clusters(np.abs(units + 0.5) - 0.5, spec.table_bytes).clip(max=MOST)
    return np.sort(spec.numbers(table.tolist(), MOST))


def _clusters(units: np.ndarray, count: int) -> np.ndarray:
    """Return the centres of weights, whole numbers in order.

    Of the counts of whole numbers, so that it takes no longer for more weights.
    """
    needs("sklearn")
    from sklearn.cluster import KMeans

    numbers, weights = np.unique(np.rint(units).astype(np.int64), return_counts=True)
    if len(numbers) <= count:
        return np.pad(numbers, (0, count - len(numbers)), mode="edge")
    means = KMeans(n_clusters=count, n_init=4, random_state=1)
    means.fit(numbers[:, None].astype(np.float64), sample_weight=weights)
    centres = np.rint(means.cluster_centers_[:, 0]).astype(np.int64)
    return centres[np.argsort(centres, kind="stable")]


def nearest(units: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the codes of the nearest entries of a table in order; of two the lower one."""
    middles = (table[1:] + table[:-1]) / 2
    codes: np.ndarray = np.searchsorted(middles, units, side="left")
    return codes
