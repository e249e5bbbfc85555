"""Attention of codes whose heads are jobs: both products, and what is between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.lowered.layer import Layer, Product
from carrysave.compiler.lowered.linear_state import Codes
from carrysave.compiler.lowered.operands import Compiled, Operands
from carrysave.compiler.target.target import Target

__all__ = ["HOST", "ONE_PASS", "ROWS", "AttentionLayer", "Choose", "Heads", "HeadSizes"]

ONE_PASS, ROWS, HOST = "one-pass", "rows", "host"
"""Ways of attention: in one pass over scores, by blocks of keys; a softmax of whole rows; scores
alone are a product of the block, the rest is in floats."""


@dataclass(frozen=True, kw_only=True)
class HeadSizes:
    """Sizes of a head.

    Members
    -------
    rows, keys : of queries; of keys and values.
    width, value_width : numbers of a query and a key; of a value.
    """

    rows: int
    keys: int
    width: int
    value_width: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Heads(Operands):
    """Heads of attention, which are jobs: their works are made where these have addresses.

    Parameters
    ----------
    way : :data:`ONE_PASS` or :data:`ROWS`.
    key_heads : whose keys and values as many heads of queries share, that follow each other.
    scale : of the product of a code of queries and one of keys, to a score.
    more : what a code of queries lacks for its zero point: one times the sum of each key's codes is
        added to scores.
    cap : limit of scores; 0: none.
    far : how far zero points of keys may bring scores from what they are, which a softmax does not
        see, but their range does.
    mask : what is added to scores, batch or 1 x heads or 1 x rows x keys; None: nothing.
    fraction : bits of results behind the binary point.
    """

    way: str
    key_heads: int
    scale: float
    more: int
    cap: float
    far: float
    mask: np.ndarray | None
    fraction: int = 0

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Of codes of values, with a fraction."""
        return np.dtype(np.int64)

    @staticmethod
    def sizes(a: np.ndarray, b: np.ndarray) -> HeadSizes:
        """Return those of queries, and of keys with values beside them."""
        (rows, width), (keys, both) = a.shape[2:], b.shape[2:]
        return HeadSizes(rows=rows, keys=keys, width=width, value_width=both - width)

    def mask_of(self, batch: int, head: int) -> np.ndarray | None:
        """Return what is added to the scores of a head, rows x keys."""
        if self.mask is None:
            return None
        parts = zip((batch, head), self.mask.shape, strict=False)
        part: np.ndarray = self.mask[tuple(at if size > 1 else 0 for at, size in parts)]
        return part

    def _check(self, target: Target) -> None:
        target.check_integers()

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        raise ValueError("heads of attention are jobs of run and of programs, not of products")


Choose = Callable[[Heads, HeadSizes], Heads]
"""Returns heads with their way; a ValueError says what they lack for the one that is asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionLayer(Layer):
    """Attention of queries, keys and values of codes.

    Scores are rounded to codes of the vector unit, shares to 7 bits; in one pass with a power of
    two for each block of keys. Results are codes of values with bits behind the binary point.

    Parameters
    ----------
    codes : of queries, keys and values.
    offsets : what is taken from their codes to make numbers of the engine.
    flat : heads lie along the last axis of tensors; else they have an axis.
    heads : the heads.
    counts : of heads of queries, and of keys and values.
    more : those of :class:`.layer.Layer`.

    Notes
    -----
    One pass is that of FuseMax (Nayak et al., 2024), without a running maximum.
    """

    codes: tuple[Codes, Codes, Codes]
    offsets: tuple[int, int, int]
    flat: bool
    counts: tuple[int, int]
    heads: Heads

    @property
    def products(self) -> Sequence[Operands]:
        """The heads."""
        return [self.heads]

    @property
    def inputs(self) -> Sequence[str]:
        """Codes of queries, keys and values."""
        return [one.name for one in self.codes]

    @property
    def why(self) -> str:
        """Why outputs may differ from onnxruntime's."""
        return (
            "scores and shares are rounded to codes; onnxruntime computes floats. Counted in units"
            " in the last place of the largest"
        )

    @property
    def shift(self) -> int:
        """What is added to results for the zero point of values."""
        return self.offsets[2] - self.codes[2].zero << self.heads.fraction

    @property
    def step(self) -> np.float32:
        """Scale of results."""
        return np.float32(self.codes[2].step / (1 << self.heads.fraction))

    def run(self, multiply: Product, *given: Any) -> tuple[np.ndarray, ...]:
        """Return the results, as queries lie."""
        q, k, v = (
            self.by_head(one.astype(np.int64) - offset, count)
            for one, offset, count in zip(given, self.offsets, self.counted, strict=True)
        )
        results = multiply(self.heads, q, np.concatenate([k, v], axis=3))
        y = (results + self.shift).astype(np.float32) * self.step
        return (self.joined(y),)

    @property
    def counted(self) -> tuple[int, int, int]:
        """Heads of queries, keys and values."""
        return self.counts[0], self.counts[1], self.counts[1]

    def by_head(self, array: np.ndarray, heads: int) -> np.ndarray:
        """Return batch x heads x rows x numbers; of addresses of codes, too."""
        if not self.flat:
            return array
        return array.reshape(*array.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    def taken(self, a: np.ndarray, b: np.ndarray) -> "dict[str, tuple[tuple[int, ...], Any]]":
        """Return the shapes and types of codes, by the matrices of :class:`Heads`."""
        width = a.shape[3]
        parts = a, b[..., :width], b[..., width:]
        return {
            one.name: (self.joined(part).shape, one.kind)
            for one, part in zip(self.codes, parts, strict=True)
        }

    def joined(self, array: np.ndarray) -> np.ndarray:
        """Return results as queries lie; or their addresses."""
        if not self.flat:
            return array
        turned = array.transpose(0, 2, 1, 3)
        return turned.reshape(*turned.shape[:2], -1)
