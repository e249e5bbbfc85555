"""Formats of operands: those of a product, where an engine has several."""

from dataclasses import dataclass, replace

import numpy as np

from .blocking import Stores
from .number import BYTE, Number

__all__ = ["Mode"]


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A pair of formats. Along K, the engine takes words of codes.

    Parameters
    ----------
    a, b : codes of A and B, in the containers in which they lie in memory.
    k_max : codes along K, at most.
    a_format, b_format : the engine's own numbers of the formats.
    codes : of a word.
    exponent : of 2: what the last bit of a sum stands for.
    block : codes along K that have a scale, whole words; 0: there are no scales.
    scales : codes of scales.
    """

    a: Number
    b: Number
    k_max: int
    a_format: int = 0
    b_format: int = 0
    codes: int = 1
    exponent: int = 0
    block: int = 0
    scales: Number = BYTE

    def blocks(self, k: int) -> int:
        """Count the blocks of K codes, the last of which may be shorter."""
        return -(-k // self.block) if self.block else 0

    def words(self, b: np.ndarray) -> np.ndarray:
        """Let codes of a word of B, K x N, stand side by side: words along K x (N codes).

        A's do so anyway. Behind the last code along K are zeros.
        """
        padded = np.pad(b, ((0, -len(b) % self.codes), (0, 0)))
        columns = b.shape[1]
        words = padded.reshape(-1, self.codes, columns).transpose(0, 2, 1)
        return words.reshape(-1, columns * self.codes)

    def stores(self, stores: Stores) -> Stores:
        """Say what decides about blocks, for words of these formats; `stores` have the widest."""
        return replace(
            stores, a_bits=self.codes * self.a.bits, b_bits=self.codes * self.b.bits,
            a_widest=stores.a_bits, b_widest=stores.b_bits, block=self.block // self.codes,
        )  # fmt: skip
