"""Weights that are block-diagonal, as groups: zeros beside the blocks are not multiplied."""

import numpy as np

from carrysave.compiler.graph.im2col import Windows

__all__ = ["in_blocks"]


def in_blocks(weights: np.ndarray, windows: Windows | None) -> np.ndarray:
    """Return weights as groups x K x N, as many groups as there are blocks; or as they are.

    Parameters
    ----------
    weights : K x N, or one group of a convolution.
    windows : of the convolution: codes of a channel, which follow each other along K, are of one
        block.
    """
    whole = weights if weights.ndim == 2 else weights[0]
    if weights.ndim == 3 and (windows is None or type(windows) is not Windows or len(weights) > 1):
        return weights
    rows, columns = whole.shape
    channels = rows // (1 if windows is None else windows.depth)
    count = np.gcd(channels, columns)
    if count == 1 or whole[0, -1] or whole[-1, 0]:
        return weights
    known = whole != 0
    some = np.flatnonzero(known.any(axis=1))
    first = known[some].argmax(axis=1)
    last = columns - 1 - known[some][:, ::-1].argmax(axis=1)
    for groups in range(count, 1, -1):
        if count % groups:
            continue
        deep, wide = rows // groups, columns // groups
        own = some // deep
        if (first // wide == own).all() and (last // wide == own).all():
            places = np.arange(groups)
            return whole.reshape(groups, deep, groups, wide)[places, :, places]
    return weights
