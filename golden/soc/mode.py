"""Engines as a co-processor has them inside."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from golden.engine import EngineSpec, matmul
from golden.lut.expander import PLAIN, ExpanderSpec
from golden.npe.npe import NpeSpec, npe
from golden.npe.zero_points import zeros_apart
from golden.soc.containers import container, wrap
from golden.soc.expander import BOOKS, expand_masked, expand_words, expander_of
from golden.soc.format_mode import FormatMode, Inside, Pair, Scales
from golden.tpe.rows import SparseEngineSpec

__all__ = ["BOOKS", "Inside", "FormatMode", "Pair", "container", "inside", "wrap"]

_MOST = (1 << 24) - 1
"""Codes along K."""


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
        fmt, table = self.spec.b_format, self.expander.table
        if table is None:
            table = self.expander.numbers(scales[0][0].tolist(), (1 << fmt.width - 1) - 1)
        numbers = expand_words(b, self.expander, fmt.wrap(np.array(table)))
        return self.multiply(self.spec.a_format.wrap(a), numbers[:k], pair)


class _Masked(_Expanded):
    """Integer engine whose weights are N of each M along K, in memory and at its port."""

    spec: SparseEngineSpec

    @property
    def b_port(self) -> int:
        """Kept codes, each with its share of a mask."""
        return self.expander.present * self.spec.b_code_width

    def sums(
        self, a: np.ndarray, b: np.ndarray, k: int, pair: Pair, scales: Scales = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Expand words of B; behind K, A is 0."""
        numbers = expand_masked(b, self.expander, self.spec.b_format)
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
        self.a_width = self.b_width = self.lane.word_width
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

    @property
    def words(self) -> list[tuple[int, bool]]:
        """Those of the modes with the most; slots of the engine's words can be wider than codes."""
        modes = self.modes.values()
        return [(max(bits), False) for bits in zip(*(mode.kind[1:] for mode in modes), strict=True)]

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
    if isinstance(engine, EngineSpec) and not engine.stored:
        raise ValueError("engine must take codes as they are, not as keys, tables or other numbers")
    expander = expander_of(engine, trits=trits, codebook=codebook)
    if isinstance(engine, NpeSpec):
        return _Lanes(engine)
    if expander == PLAIN:
        return _Integers(engine)
    return (_Masked if expander.group else _Expanded)(engine, expander)
