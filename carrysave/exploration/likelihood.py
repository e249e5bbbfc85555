"""How likely values are by the Gaussian process of :mod:`carrysave.exploration.surrogate`.

The gradient by a length is a sum over all pairs of points, of a weight times the square of how far
they are apart on that axis: products of matrices, in place of a matrix of pairs for each axis.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.spatial.distance import cdist

__all__ = ["negative"]

Floats = NDArray[np.float64]
_ROOT = float(np.sqrt(5.0))


def negative(theta: Floats, places: Floats, values: Floats, jitter: float) -> tuple[float, Floats]:
    """Return the logarithm of how likely values are, negated, and its gradient by `theta`.

    Parameters
    ----------
    theta : logarithms of: the variance, a length for each axis, the noise; and, if the process has
        a straight line, its variance and its value at 0.
    places : points x axes.
    values : one for each point, of mean 0 and deviation 1.
    jitter : that is added to the diagonal.
    """
    axes = places.shape[1]
    variance, lengths, noise = (
        np.exp(theta[0]),
        np.exp(theta[1 : axes + 1]),
        np.exp(theta[axes + 1]),
    )
    scaled = places / np.asarray(lengths)
    apart = _ROOT * cdist(scaled, scaled)
    falling = variance * np.exp(-apart)
    smooth = (1 + apart + apart * apart / 3) * falling
    whole = smooth + (noise + jitter) * np.eye(len(values))
    if len(theta) > axes + 2:
        slope, offset = np.exp(theta[axes + 2]), np.exp(2 * theta[axes + 3])
        line = slope * (offset + places @ places.T)
        whole += line
    try:
        root = cholesky(whole, lower=True)
    except LinAlgError:
        return float("inf"), np.zeros_like(theta)
    weights = cho_solve((root, True), values)
    likely = -values @ weights / 2 - np.log(np.diag(root)).sum()
    likely -= len(values) / 2 * np.log(2 * np.pi)
    # Half the trace of this, times the derivative of the whole, is the gradient.
    slack = np.outer(weights, weights) - cho_solve((root, True), np.eye(len(values)))
    pull = slack * falling * (1 + apart) * (5 / 3)
    by_length = pull.sum(axis=1) @ (scaled * scaled) - (scaled * (pull @ scaled)).sum(axis=0)
    gradient = [(slack * smooth).sum() / 2, *by_length, noise * np.trace(slack) / 2]
    if len(theta) > axes + 2:
        gradient += [(slack * line).sum() / 2, slope * offset * slack.sum()]
    return -float(likely), -np.asarray(gradient)
