"""Zero points of blocks along K, which bring weights into the range of an engine's codes."""

import numpy as np

from carrysave.driver import Number

__all__ = ["zero_points"]


def zero_points(right: np.ndarray, number: Number, block: int) -> np.ndarray | None:
    """Return zero points with which weights plus these are numbers of a range, nearest to 0.

    Parameters
    ----------
    right : integers, K x N.
    number : of codes, and of zero points.
    block : rows that share one.

    Returns
    -------
    Blocks x N; None: the weights of a block are too far apart.
    """
    starts = np.arange(0, len(right), block)
    low, high = (
        end.reduceat(right, starts, axis=0).astype(np.int64) for end in (np.minimum, np.maximum)
    )
    least = np.maximum(number.low, number.low - low)
    most = np.minimum(number.high, number.high - high)
    return None if (least > most).any() else np.clip(0, least, most)
