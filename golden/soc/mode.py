"""What a co-processor asks of the engine inside: formats, words in memory, sums."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from golden.engine import EngineSpec, matmul
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.npe.npe import NpeSpec, npe

__all__ = ["Inside", "FormatMode", "Pair", "container", "inside", "wrap"]

Pair = tuple[int, int]
"""Numbers of the formats of A and of B."""

_MOST = (1 << 24) - 1
"""Codes along K."""

_BITS = (2, 4, 8, 16, 32, 64, 128)


def container(width: int) -> int:
    """Bits in memory of a number of so many bits: the next power of two."""
    return next(bits for bits in _BITS if bits >= width)


def wrap(values: np.ndarray, width: int, signed: bool) -> np.ndarray:
    """Reduce integers modulo 2^width; int64, or Python integers where they need more bits."""
    rest = values.astype(object) & (1 << width) - 1
    if signed:
        rest = rest - ((rest >> width - 1) << width)
    return rest if width > 63 else rest.astype(np.int64)


@dataclass(frozen=True)
class FormatMode:
    """A pair of formats: how words of their codes lie in memory, and how many may be summed.

    A word is what the engine takes of a row of A, or of a column of B, in one step along K:
    `codes` codes, of which those of A are packed in `a_bits` of memory and those of B in `b_bits`.
    A row of A is a row of words, and so is its memory; of B, `codes` rows are one row of words.
    """

    codes: int
    a_bits: int
    b_bits: int
    k_max: int
    exponent: int = 0

    @property
    def kind(self) -> tuple[int, int, int]:
        """What of it the hardware's addresses depend on."""
        return self.codes, self.a_bits, self.b_bits


class Inside(ABC):
    """An engine as the co-processor sees it.

    ``spec`` is the engine's, as it is built there: its results are sums. ``m``, ``n`` are the sides
    of a tile, ``k`` the words along K of a beat; ``a_width``, ``b_width`` bits of a word on the
    engine's ports; ``sum_width``, ``signed`` those of a sum.
    With ``flags``, a sum comes with a bit that says that it is no number. If ``result`` is a
    format, sums, of units of at least 2^`least_exponent`, can be rounded to it; else they can be
    requantised. If ``block`` is not 0, so many codes along K have a scale of 8 bits, one for each
    row of A and one for each column of B; sums are fp32 then, and cannot be added up outside.
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

    @property
    def words(self) -> list[tuple[int, bool]]:
        """Bits of words of A and of B as integers, and whether they are signed."""
        return [(self.a_width, False), (self.b_width, False)]

    @cached_property
    @abstractmethod
    def modes(self) -> Mapping[Pair, FormatMode]:
        """Every pair of formats."""

    @abstractmethod
    def sums(
        self,
        a: np.ndarray,
        b: np.ndarray,
        k: int,
        pair: Pair,
        scales: tuple[np.ndarray, ...] = (),
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply words as they are in memory, of K codes: sums, and which are no numbers."""

    @abstractmethod
    def multiply(
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: tuple[np.ndarray, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply codes, M x K and K x N: sums, and which are no numbers."""

    def encode(self, sums: np.ndarray, invalid: np.ndarray, pair: Pair) -> np.ndarray:
        """Round sums to codes of `result`, once."""
        assert self.result is not None
        exponent = self.least_exponent + self.modes[pair].exponent
        number = replace(Exact.finite(sums, exponent), nan=invalid)
        return self.result.encode(number, rounding=self.rounding, saturate=self.saturate)


class _Integers(Inside):
    """Engine of integers: a word is a code."""

    spec: EngineSpec

    def __init__(self, spec: EngineSpec):
        self.spec = spec
        self.m, self.n, self.k = spec.m, spec.n, spec.k
        self.a_width, self.b_width = spec.a_code_width, spec.b_width
        self.sum_width, self.signed = spec.c_format.width, spec.c_format.signed

    @property
    def words(self) -> list[tuple[int, bool]]:
        """Codes."""
        return [(fmt.width, fmt.signed) for fmt in (self.spec.a_format, self.spec.b_format)]

    @cached_property
    def modes(self) -> Mapping[Pair, FormatMode]:
        """The one pair."""
        bits = container(self.a_width), container(self.b_width)
        return {(0, 0): FormatMode(1, *bits, self.spec.k_max)}

    def sums(
        self,
        a: np.ndarray,
        b: np.ndarray,
        k: int,
        pair: Pair,
        scales: tuple[np.ndarray, ...] = (),
    ) -> tuple[np.ndarray, np.ndarray]:
        """Words are codes."""
        return self.multiply(self.spec.a_format.wrap(a), self.spec.b_format.wrap(b), pair)

    def multiply(
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: tuple[np.ndarray, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply exactly."""
        found = matmul(self.spec, a, b)
        return found, np.zeros(found.shape, bool)


class _Lanes(Inside):
    """Array of lanes: words of codes in formats that each job chooses."""

    spec: NpeSpec
    flags = True

    def __init__(self, spec: NpeSpec):
        scaled = spec.scale != "none"
        self.spec = spec if scaled else replace(spec, result="fixed")
        self.lane = spec.element
        self.m, self.n = spec.m, spec.n
        self.a_width = self.b_width = self.lane.WORD
        self.sum_width = self.spec.result_width
        self.rounding, self.saturate = spec.rounding, spec.saturate
        self.least_exponent = spec.least_lsb
        if not scaled:
            self.result = spec.result_format
            return
        self.block = spec.block
        if spec.block.bit_count() != 1:
            raise ValueError(f"block must be a power of two, not {spec.block}")

    @cached_property
    def modes(self) -> Mapping[Pair, FormatMode]:
        """Each format with each."""
        lane, found = self.lane, {}
        for pair in lane.pairs:
            codes = lane.codes(*pair)
            a_bits, b_bits = (codes * lane.container(side) for side in pair)
            found[pair] = FormatMode(
                codes=codes,
                a_bits=a_bits,
                b_bits=b_bits,
                k_max=min((self.spec.k_max_words(*pair) or _MOST) * codes, _MOST),
                exponent=lane.lsb(*pair) - self.least_exponent,
            )
        return found

    def sums(
        self,
        a: np.ndarray,
        b: np.ndarray,
        k: int,
        pair: Pair,
        scales: tuple[np.ndarray, ...] = (),
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take words apart."""
        codes = self.modes[pair].codes
        operands = []
        for words, number in zip((a, b.T), pair, strict=True):
            fmt, bits = self.lane.elements[number], self.lane.container(number)
            parts = (words[..., None] >> bits * np.arange(codes)) & (1 << fmt.width) - 1
            operands.append(fmt.wrap(parts.reshape(len(words), -1)[:, :k]))
        return self.multiply(operands[0], operands[1].T, pair, scales)

    def multiply(
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: tuple[np.ndarray, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply exactly."""
        found, invalid, _ = npe(self.spec, a, b, *pair, *scales)
        return found, invalid


def inside(engine: EngineSpec | NpeSpec) -> Inside:
    """See an engine as the co-processor does; ValueError for one that it cannot hold."""
    if isinstance(engine, NpeSpec):
        return _Lanes(engine)
    if not engine.plain:
        raise ValueError("engine must take codes as they are, not as keys, tables or other numbers")
    return _Integers(engine)
