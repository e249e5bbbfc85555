"""Keys of tables over weights that repeat in activations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from golden.lut.over_weights import OverWeightsSpec, reads, table_keys

__all__ = ["BITS", "counted"]

BITS = 8
"""Of an activation."""


def counted(codes: Sequence[np.ndarray], group: int, tokens: int, cache: int) -> dict[str, Any]:
    """Count keys of activations, and those that need no read (SAIL, arXiv 2509.25853).

    Parameters
    ----------
    codes : of products, tokens x K, int8.
    group : weights per table.
    tokens : rows that share tables.
    cache : entries.

    Returns
    -------
    ``keys``; ``repeated``, the share that is in the cache; ``of signs``, the share that would be if
    only the planes of a sign, those above an activation's size, repeated; ``cycles saved``, where
    a read takes a cycle, a hit none, and each sum of a table's another.
    """
    spec = OverWeightsSpec(group=group, a_width=BITS, b_width=2, reuse=cache)
    keys = read = signs = tables = 0
    for rows in codes:
        for start in range(0, len(rows) - tokens + 1, tokens):
            seen = table_keys(spec, rows[start : start + tokens])
            keys += seen.size
            read += reads(spec, seen)
            tables += len(seen)
            # From the top plane down, as long as a key is the one above.
            same = seen[..., :-1] == seen[..., 1:]
            signs += int(np.logical_and.accumulate(same[..., ::-1], axis=-1).sum())
    making = tables * ((1 << group) - group - 1)
    return {
        "keys": keys,
        "repeated": 1 - read / keys,
        "of signs": signs / keys,
        "cycles saved": 1 - (read + making) / (keys + making),
    }
