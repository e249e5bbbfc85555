"""What a co-processor is told of its engine: formats, words in memory, sums."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from golden.engine import EngineSpec
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits
from golden.lut.expander import PLAIN, ExpanderSpec
from golden.npe.npe import NpeSpec

__all__ = ["FormatMode", "Inside", "Pair", "Scales"]

Pair = tuple[int, int]
"""Indices of the formats of A and of B."""
Scales = tuple[np.ndarray, ...]
"""Side bytes of A and of B, or of B; or the table of an expander, 1 x entries bytes."""


@dataclass(frozen=True)
class FormatMode:
    """A pair of formats: the layout of words in memory, and the largest K.

    A word holds the `codes` codes of a row of A, or of a column of B, that the engine takes in one
    step along K, packed in `a_bits` or `b_bits` of memory. A row of A is a row of words; `codes`
    rows of B make one row of words. With `b_deep` above 1, a word of B holds as many steps along K,
    a word of A one.
    """

    codes: int
    a_bits: int
    b_bits: int
    k_max: int
    exponent: int = 0
    b_deep: int = 1

    @property
    def kind(self) -> tuple[int, int, int]:
        """The part that the hardware's addressing depends on."""
        return self.codes, self.a_bits, self.b_bits


class Inside(ABC):
    """An engine, from the co-processor's side.

    ``spec`` is that of the engine inside, whose results are sums. ``m``, ``n`` are the sides of a
    tile, ``k`` the words of A along K of a beat; ``a_width``, ``b_width`` bits of what the engine
    takes on its ports in a step along K; ``sum_width``, ``signed`` those of a sum.
    With ``flags``, a sum has a NaN bit. If ``result`` is a format, sums, in units of at least
    2^`least_exponent`, can be rounded to it; else they can be requantised. If ``block`` is not 0,
    every `block` codes along K have `a_sides` bytes per row of A, a scale, and `b_sides` per column
    of B: its scale and zero point. With scales, sums are fp32, and cannot be accumulated outside
    the engine, so that a block of C is one tile. An `expander` makes codes of B of words.
    """

    spec: EngineSpec | NpeSpec
    m: int
    n: int
    k: int = 1
    a_width: int
    b_width: int
    sum_width: int
    signed: bool = True
    flags: bool = False
    result: ElementFormat | None = None
    rounding: str = "rne"
    saturate: bool = True
    least_exponent: int = 0
    block: int = 0
    a_sides: int = 0
    b_sides: int = 0
    expander: ExpanderSpec = PLAIN

    @property
    def words(self) -> list[tuple[int, bool]]:
        """Bits of words of A and of B as integers, and whether they are signed."""
        return [(self.a_width, False), (self.b_width, False)]

    @property
    def b_port(self) -> int:
        """Bits at the engine's port of a word of B."""
        return self.b_width * self.expander.deep

    @cached_property
    @abstractmethod
    def modes(self) -> Mapping[Pair, FormatMode]:
        """Every pair of formats."""

    @abstractmethod
    def sums(
        self, a: np.ndarray, b: np.ndarray, k: int, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply words as they are in memory, K codes: sums, and NaN flags."""

    @abstractmethod
    def multiply(
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply codes, M x K and K x N: sums, and NaN flags."""

    def encode(
        self, sums: np.ndarray, invalid: np.ndarray, pair: Pair, random: RandomBits | None = None
    ) -> np.ndarray:
        """Round sums to codes of `result`, once: by random bits, if there are some."""
        assert self.result is not None
        exponent = self.least_exponent + self.modes[pair].exponent
        number = replace(Exact.finite(sums, exponent), nan=invalid)
        how = self.rounding if random is None else "stochastic"
        return self.result.encode(number, rounding=how, saturate=self.saturate, random=random)
