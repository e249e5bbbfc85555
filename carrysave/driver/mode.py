"""Operand formats of a product, for multi-format engines."""

from dataclasses import dataclass, replace

import numpy as np

from .blocking import Stores
from .number import BYTE, Number
from .trits import TRITS, pack_trits

__all__ = ["Mode"]


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A pair of formats. Along K, the engine takes words of codes.

    Parameters
    ----------
    a, b : codes of A and B, in their containers in memory.
    k_max : maximum codes along K.
    a_format, b_format : the engine's indices of the formats.
    codes : codes per word.
    exponent : log2 of the weight of a sum's last bit.
    block : codes along K per scale, whole words; 0: no scales.
    scales : number format of scales.
    trits : codes of B are -1, 0 and 1, in memory five along K to a byte.
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
    trits: bool = False

    def blocks(self, k: int) -> int:
        """Return the number of blocks in K codes; the last one may be shorter."""
        return -(-k // self.block) if self.block else 0

    @property
    def b_deep(self) -> int:
        """Steps along K in a word of B."""
        return TRITS if self.trits else 1

    @property
    def b_stored(self) -> Number:
        """Numbers of B in memory: the codes, or bytes of trits."""
        return BYTE if self.trits else self.b

    def words(self, b: np.ndarray) -> np.ndarray:
        """Rearrange B, K x N, so that the codes of a word are adjacent: words along K x (N codes).

        Or pack five rows of trits into one of bytes. A needs no rearrangement. K is zero-padded.

        Raises
        ------
        TypeError, ValueError
            A weight is not -1, 0 or 1, if they are packed.
        """
        if self.trits:
            return pack_trits(self.b.check("b", b))
        padded = np.pad(b, ((0, -len(b) % self.codes), (0, 0)))
        columns = b.shape[1]
        words = padded.reshape(-1, self.codes, columns).transpose(0, 2, 1)
        return words.reshape(-1, columns * self.codes)

    def stores(self, stores: Stores) -> Stores:
        """Return the block limits for words of these formats; `stores` are those of the widest."""
        return replace(
            stores,
            a_bits=self.codes * self.a.bits,
            b_bits=self.codes * self.b_stored.bits,
            a_widest=stores.a_bits,
            b_widest=stores.b_bits,
            block=self.block // self.codes,
        )
