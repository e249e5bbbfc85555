"""Gates of channels of a quantised network, as products with diagonal matrices."""

from dataclasses import dataclass
from math import prod

import numpy as np

from carrysave.driver.batch import Work

from .product_base import Compiled, Cut
from .quantised_product import QuantisedProduct, code_offset
from .target import Target

__all__ = ["GATE", "GateProduct"]

GATE = "Mul"
"""The operator."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GateProduct(QuantisedProduct):
    """y = codes of all elements of each channel of each sample, times one number of the channel.

    A work has as many channels of a sample as the engine has columns: its B is diagonal. A gate
    less its zero point may have a bit more than the engine takes: then a row of A has the codes
    inverted, too, whose numbers in B take that from the others which they have too much.

    Parameters
    ----------
    more : those of :class:`QuantisedProduct`; `b` is the gate, of 1 x .. x 1 for each channel.
    """

    def _check(self, target: Target) -> None:
        super()._check(target)
        assert self.b_type is not None
        code_offset("B", self.b_type, target.mode.b)

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        assert b is not None
        shapes = " and ".join(" x ".join(map(str, one.shape)) for one in (a, b))
        fits = a.ndim == b.ndim > 2 and a.size > 0 and prod(b.shape[2:]) == 1
        fits = fits and all(1 in (one, two) or one == two
                            for one, two in zip(a.shape[:2], b.shape[:2], strict=True))  # fmt: skip
        if not fits:
            raise ValueError(f"A and B must have channels, and B one number in each, not {shapes}")
        outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
        a = np.broadcast_to(a, (*outer, *a.shape[2:]))
        b = np.broadcast_to(b.reshape(b.shape[:2]), outer)
        return self._laid(target, a, b, in_hardware and target.requantises(1))

    def bundle(self, target: Target, k_max: int) -> int:
        """Return the channels of a work."""
        return max(1, min(target.info.stores.tile_n, k_max // 2))

    def cut(self, a: np.ndarray, zero: int, bundle: int) -> Cut:
        """Make a column of each channel."""
        samples = a.reshape(*a.shape[:2], -1)
        lefts = [
            rows[at : at + bundle].T for rows in samples for at in range(0, a.shape[1], bundle)
        ]
        return Cut(lefts=lefts, shape=a.shape, useful=a.size)

    def rights(self, cut: Cut, b: np.ndarray | None, bundle: int) -> list[np.ndarray]:
        """Make a diagonal matrix for each A."""
        assert b is not None
        return [np.diag(row[at : at + bundle]) for row in b for at in range(0, len(row), bundle)]

    def _works(self, target: Target, cut: Cut, rights: list[np.ndarray]) -> list[Work]:
        """Make works; products with more than the engine takes become two."""
        offset = code_offset("A", self.a_type, target.mode.a)
        low, high = target.mode.b.low, target.mode.b.high
        works = []
        for left, right in zip(cut.lefts, rights, strict=True):
            gate = right.diagonal()
            more = np.maximum(gate - high, 0) + np.minimum(gate - low, 0)
            a, b = left.astype(np.int64) - offset, right
            if more.any():
                # a (g - h) + (-1 - a) (-h) = a g + h.
                a, b = (
                    np.concatenate([a, ~a], axis=1),
                    np.concatenate([np.diag(gate - more), np.diag(-more)]),
                )
            bias = -(self.a_zero - offset) * gate - more
            works.append(Work(a=a, b=b, bias=bias, mode=target.mode))
        return works

    def _finished(self, cut: Cut, results: list[np.ndarray], done: bool, offset: int) -> np.ndarray:
        channels = np.concatenate([one.T for one in results])
        plain = Cut(lefts=cut.lefts, shape=(len(channels),))
        y = super()._finished(plain, [channels], done, offset)
        return y.reshape(cut.shape)
