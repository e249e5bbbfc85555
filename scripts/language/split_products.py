"""Products of networks that are no graphs, with two formats along K."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from carrysave.precision.options import Pair, is_split
from golden.formats.element import ElementFormat
from scripts.language.rounded_products import Rounded

__all__ = ["SplitRounded", "split_pair"]


def split_pair(share: Fraction, wide: str = "int8") -> Pair:
    """Return what stands for a share of K in wide formats, and the rest in int4, for a pair.

    `wide` is a format, or two, of A and of B: "int8 x int4".
    """
    name = f"int4 + {share} {wide}"
    return name, name


class SplitRounded(Rounded):
    """Products as :class:`.rounded_products.Rounded`, or of two parts of K, each rounded by itself.

    The part in wider formats has the columns of activations with the greatest magnitudes in the
    calibration. Each part has its own power of two for each row, whose ratio is the row's factor in
    the co-processor; it is taken as exact, and so is the sum of both parts.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        rows: Mapping[str, np.ndarray],
        formats: Mapping[str, ElementFormat],
    ) -> None:
        super().__init__(weights, rows, formats)
        self._parts: dict[tuple[str, str, Pair], Rounded] = {}

    def product(self, name: str, pair: Pair, x: np.ndarray) -> np.ndarray:
        """Multiply rows by the weights of a layer, in a pair of formats or two; float32."""
        if not is_split(pair):
            return super().product(name, pair, x)
        narrow, _, share, *wide = pair[0].split()
        columns = self._columns(name, Fraction(share))
        rest = np.delete(np.arange(x.shape[1]), columns)
        parts = (
            self._part(name, share, one, rows).product(name, one, x[:, rows])
            for one, rows in (((wide[0], wide[-1]), columns), ((narrow, narrow), rest))
        )
        total: np.ndarray = sum(parts, np.zeros(1, np.float32))
        return total

    def _columns(self, name: str, share: Fraction) -> np.ndarray:
        """Return the columns in wider formats, rising."""
        greatest = np.abs(self._rows[name]).max(axis=0)
        return np.sort(np.argsort(-greatest)[: round(len(greatest) * share)])

    def _part(self, name: str, share: str, one: Pair, rows: np.ndarray) -> Rounded:
        """Return a part of a layer's K, made once."""
        if (name, share, one) not in self._parts:
            weights = {name: self.weights[name][rows]}
            calibration = {name: self._rows[name][:, rows]}
            self._parts[name, share, one] = Rounded(weights, calibration, self._formats)
        return self._parts[name, share, one]
