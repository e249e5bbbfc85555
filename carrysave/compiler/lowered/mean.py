"""Means of channels of a quantised network, as products with ones."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from carrysave.compiler.lowered.operands import Compiled, Cut
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.target.target import Target

__all__ = ["MEAN", "MeanProduct"]

MEAN = "GlobalAveragePool"
"""The operator."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanProduct(QuantisedProduct):
    """y = codes of the means of all channels of all samples: each is a row of A times ones.

    The scale is that of a code: that of sums is less by their number, which is known when it runs.
    Rows that are longer than the engine takes are cut, and the host adds their sums.

    Parameters
    ----------
    most : codes in a row of A.
    more : those of :class:`QuantisedProduct`.
    """

    most: int = 0

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        if a.ndim < 3 or not a.size:
            shape = " x ".join(map(str, a.shape))
            raise ValueError(f"A must have axes beyond channels, none of them empty, not {shape}")
        assert self.scale is not None
        count, most = prod(a.shape[2:]), target.mode.k_max
        product = replace(
            self,
            weights=np.ones((count, 1), np.int8),
            scale=self.scale / np.float32(count),
            most=most,
        )
        done = in_hardware and count <= most
        return QuantisedProduct._compile(product, target, a, None, done)

    def cut(self, a: np.ndarray, zero: int, bundle: int) -> Cut:
        """Make a row of each channel, or parts of rows."""
        rows = a.reshape(-1, prod(a.shape[2:]))
        lefts = [rows[:, at : at + self.most] for at in range(0, rows.shape[1], self.most)]
        return Cut(lefts=lefts, shape=(*a.shape[:2], *[1] * (a.ndim - 3)))

    def rights(self, cut: Cut, b: np.ndarray | None, bundle: int) -> list[np.ndarray]:
        """Make ones for each part."""
        return [np.ones((left.shape[1], 1), np.int8) for left in cut.lefts]

    def _finished(self, cut: Cut, results: list[np.ndarray], done: bool, offset: int) -> np.ndarray:
        whole = results if len(results) == 1 else [np.sum(results, axis=0)]
        return super()._finished(cut, whole, done, offset)
