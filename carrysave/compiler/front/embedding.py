"""An embedding whose rows are made as tokens take them, so that no table of floats is held."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from golden.lut.grouped import FastWeights

__all__ = ["Embedding"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding:
    """Rows of words, as an array of float32, words x width, has them.

    Members
    -------
    shape : words, width.
    rows : numbers of words to their rows, float32.
    scale : by which rows are multiplied, in float32.
    head : the matrix to the words, if rows are its columns; else None.
    """

    shape: tuple[int, int]
    rows: Callable[[np.ndarray], np.ndarray]
    scale: float = 1.0
    head: FastWeights | None = None

    def __getitem__(self, words: np.ndarray) -> np.ndarray:
        """Return the rows of some words."""
        rows = self.rows(np.asarray(words))
        return rows if self.scale == 1 else rows * np.float32(self.scale)

    def __array__(self, dtype: type | None = None, copy: bool | None = None) -> np.ndarray:
        """Return all rows."""
        return self[np.arange(self.shape[0])].astype(dtype or np.float32, copy=False)
