"""How well a language model foresees a text."""

import numpy as np

from golden.elementary import exp, log

__all__ = ["losses"]


def losses(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the bits that each token takes, by the logits before it.

    Parameters
    ----------
    logits : tokens x words.
    tokens : the words that came.
    """
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    given = logits[np.arange(len(tokens)), tokens]
    return np.asarray((log(exp(logits).sum(axis=1)) - given) / log(2))
