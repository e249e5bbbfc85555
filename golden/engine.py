"""The contract of every matrix engine: C = A x B, tile by tile, exactly."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from golden.check import Integer, parameter
from golden.formats.bipolar import odd
from golden.formats.integer import IntFormat, int_format
from golden.operands import OperandsSpec

__all__ = ["EngineSpec", "SumsSpec", "TileSpec", "matmul"]


@dataclass(frozen=True, kw_only=True)
class TileSpec:
    """The shape of a tile of C."""

    m: int = parameter(Integer("rows of C per tile", 8, 1, 256, "rows"))
    n: int = parameter(Integer("columns of C per tile", 8, 1, 256, "columns"))

    @property
    def bipolar(self) -> bool:
        """Codes u of A and B, of w bits, stand for the odd numbers 2 u - (2^w - 1).

        Then 0 is no neutral code, and beats say how many codes of K they have.
        """
        return False


@dataclass(frozen=True, kw_only=True)
class SumsSpec(OperandsSpec):
    """Sums of up to `k_max` products of integers, none of which overflows."""

    k_max: int = parameter(Integer("largest K without overflow", 65536, 1, 1 << 24))

    @property
    def products(self) -> int:
        """Largest number of products in a sum, without those that are always 0."""
        return self.k_max

    @property
    def c_format(self) -> IntFormat:
        """Format of C: the narrowest that holds every sum of :attr:`products`."""
        corners = [
            self.products * a * b
            for a in (self.a_format.low, self.a_format.high)
            for b in (self.b_format.low, self.b_format.high)
        ]
        width = max(
            (value if value >= 0 else -value - 1).bit_length() + self.signed for value in corners
        )
        return int_format(width, self.signed)

    @property
    def accumulator_width(self) -> int:
        """Bits of a sum."""
        return self.c_format.width


@dataclass(frozen=True, kw_only=True)
class EngineSpec(TileSpec, SumsSpec):
    """One tile of C has m rows and n columns; a beat brings k of the K codes, K <= k_max."""

    INPUTS: ClassVar[int] = (1 << 16) - 64
    """Maximum bits of a beat of A and one of B: Amaranth numbers input bits in 16 bits."""

    def __post_init__(self) -> None:
        """Check all fields, and the width of operand beats."""
        super().__post_init__()
        bits = self.m * self.a_codes * self.a_code_width + self.n * self.b_codes * self.b_code_width
        if bits > self.INPUTS:
            what = "k * (m * a_width + n * b_width)" if self.plain else "beats of A and B together"
            raise ValueError(f"{what} must be 1..{self.INPUTS} bits, not {bits}")

    @property
    def k(self) -> int:
        """Codes of K per beat."""
        return 1

    @property
    def a_codes(self) -> int:
        """Codes per row of A in a beat; k, unless they arrive converted, as tables."""
        return self.k

    @property
    def b_codes(self) -> int:
        """Codes per column of B in a beat; k, unless some of them are left out."""
        return self.k

    @property
    def b_code_width(self) -> int:
        """Bits of a code of B in a beat; all, unless there are several passes."""
        return self.b_width

    @property
    def passes(self) -> int:
        """Passes over the beats of a tile; K ends in each, the tile in the last."""
        return 1

    @property
    def plain(self) -> bool:
        """Takes ordinary codes (or recoded ones), in one pass."""
        return True

    def b_numbers(self, codes: np.ndarray) -> np.ndarray:
        """Return the numbers that codes of B stand for: themselves, unless an engine reads them."""
        return codes

    @property
    def stored(self) -> bool:
        """Takes what is in memory: a co-processor can hold it."""
        return self.plain

    @property
    def planes(self) -> int:
        """Cycles for which a beat of A and B is held; it is accepted in the last."""
        return 1


def matmul(spec: EngineSpec, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply codes exactly.

    Parameters
    ----------
    spec : formats and k_max.
    a, b : codes, M x K and K x N, K <= spec.k_max.

    Returns
    -------
    int64 codes of C, M x N.
    """
    a, b = spec.a_format.within("a", a), spec.b_format.within("b", b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a and b must be M x K and K x N, not {a.shape} and {b.shape}")
    if a.shape[1] > spec.k_max:
        raise ValueError(f"K must be 0..{spec.k_max}, not {a.shape[1]}")
    if spec.bipolar:
        a, b = (odd(x.astype(np.int64), w) for x, w in ((a, spec.a_width), (b, spec.b_width)))
        return _product_of_floats(a, b, np.float64)
    # Floats multiply through BLAS, many times faster than integers, and exactly where neither a
    # product nor a sum of some, in any order, has more bits than they hold.
    depth = _exact_depth(spec, 24)
    if depth >= _DEEP or depth >= a.shape[1]:
        sums = _product_of_floats(a[:, :depth], b[:depth], np.float32)
        for at in range(depth, a.shape[1], depth):
            sums += _product_of_floats(a[:, at : at + depth], b[at : at + depth], np.float32)
        return sums
    if spec.accumulator_width <= 53:
        return _product_of_floats(a, b, np.float64)
    return a.astype(np.int64) @ b.astype(np.int64)


def _product_of_floats(a: np.ndarray, b: np.ndarray, kind: type[np.floating]) -> np.ndarray:
    return (a.astype(kind) @ b.astype(kind)).astype(np.int64)


_DEEP = 256
"""Products of a sum of float32 for which it is worth while to add several."""


def _exact_depth(spec: SumsSpec, bits: int) -> int:
    """Return how many products have a sum of so many bits at most, besides its sign."""
    ends = (max(-one.low, one.high) for one in (spec.a_format, spec.b_format))
    return (1 << bits) // prod(ends)
