"""The co-processor's view of its engine: formats, words in memory, sums."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from golden.engine import EngineSpec, matmul
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.lut.expander import PLAIN, ExpanderSpec
from golden.npe.npe import NpeSpec, npe
from golden.npe.zero_points import zeros_apart
from golden.soc.containers import container, wrap
from golden.soc.expander import BOOKS, expand_words, expander_of

__all__ = ["BOOKS", "Inside", "FormatMode", "Pair", "container", "inside", "wrap"]

Pair = tuple[int, int]
"""Indices of the formats of A and of B."""
Scales = tuple[np.ndarray, ...]
"""Side bytes of A and of B, or of B; or the table of an expander, 1 x entries bytes."""

_MOST = (1 << 24) - 1
"""Codes along K."""


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

    def encode(self, sums: np.ndarray, invalid: np.ndarray, pair: Pair) -> np.ndarray:
        """Round sums to codes of `result`, once."""
        assert self.result is not None
        exponent = self.least_exponent + self.modes[pair].exponent
        number = replace(Exact.finite(sums, exponent), nan=invalid)
        return self.result.encode(number, rounding=self.rounding, saturate=self.saturate)


class _Integers(Inside):
    """Integer engine: a word is a code."""

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
        self, a: np.ndarray, b: np.ndarray, k: int, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Words are codes."""
        return self.multiply(self.spec.a_format.wrap(a), self.spec.b_format.wrap(b), pair)

    def multiply(
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply exactly."""
        sums = matmul(self.spec, a, self.spec.b_numbers(b))
        return sums, np.zeros(sums.shape, bool)


class _Expanded(_Integers):
    """Integer engine whose weights are in memory as codes that are expanded."""

    def __init__(self, spec: EngineSpec, expander: ExpanderSpec):
        super().__init__(spec)
        self.expander = expander

    @cached_property
    def modes(self) -> Mapping[Pair, FormatMode]:
        """The one pair."""
        bits, deep = self.expander.bits, self.expander.deep
        return {(0, 0): FormatMode(1, container(self.a_width), bits, self.spec.k_max, b_deep=deep)}

    def sums(
        self, a: np.ndarray, b: np.ndarray, k: int, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Expand words of B; rows beyond K are cut off behind the table."""
        table = self.expander.table or scales[0][0]
        numbers = expand_words(b, self.expander, self.spec.b_format.wrap(np.array(table)))
        return self.multiply(self.spec.a_format.wrap(a), numbers[:k], pair)


class _Lanes(Inside):
    """Array of lanes: words of codes in formats set per job."""

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
        if not (scaled or spec.zeros):
            return
        self.block = spec.block
        self.a_sides, self.b_sides = int(scaled), scaled + spec.zeros
        if spec.block.bit_count() != 1:
            raise ValueError(f"block must be a power of two, not {spec.block}")

    @cached_property
    def modes(self) -> Mapping[Pair, FormatMode]:
        """Every pair of formats."""
        lane, modes = self.lane, {}
        for pair in lane.pairs:
            codes = lane.codes(*pair)
            a_bits, b_bits = (codes * lane.container(side) for side in pair)
            modes[pair] = FormatMode(
                codes=codes,
                a_bits=a_bits,
                b_bits=b_bits,
                k_max=min((self.spec.k_max_words(*pair) or _MOST) * codes, _MOST),
                exponent=lane.lsb(*pair) - self.least_exponent,
            )
        return modes

    def sums(
        self, a: np.ndarray, b: np.ndarray, k: int, pair: Pair, scales: Scales = ()
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
        self, a: np.ndarray, b: np.ndarray, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Multiply exactly."""
        of_b = self.lane.elements[pair[1]]
        sides = zeros_apart(of_b, scales) if self.spec.zeros else scales
        values, invalid, _ = npe(self.spec, a, b, *pair, *sides)
        return values, invalid


def inside(engine: EngineSpec | NpeSpec, *, trits: bool = False, codebook: str = "none") -> Inside:
    """Wrap an engine for the co-processor; ValueError if it cannot hold it.

    Parameters
    ----------
    engine : its spec.
    trits, codebook : how weights are in memory, see :mod:`golden.lut.expander`.
    """
    if isinstance(engine, EngineSpec) and not engine.plain:
        raise ValueError("engine must take codes as they are, not as keys, tables or other numbers")
    expander = expander_of(engine, trits=trits, codebook=codebook)
    if isinstance(engine, NpeSpec):
        return _Lanes(engine)
    return _Integers(engine) if expander == PLAIN else _Expanded(engine, expander)
