"""What the bench of floating-point units is told of each: fields, golden, operands to send."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from golden.formats.minifloat import MinifloatFormat
from golden.npe.aligned_dot import AlignedDotSpec, aligned_dot
from golden.npe.block_scale import BlockScaleSpec, block_scale
from golden.npe.float_mac import FloatMacSpec, float_mac
from verif.streams import pack

__all__ = ["KINDS", "Blocks", "Columns", "Pairs", "unit"]

Columns = tuple[np.ndarray, ...]

KINDS = ("codes", "near", "cancel", "extremes", "specials")
"""Operands: any numbers; of like size; whose sums are almost zero; from the corners of the format;
with what is no number among them."""


def corners(fmt: MinifloatFormat) -> np.ndarray:
    """Return zeros, subnormals, their neighbours, one and its neighbours, and the greatest."""
    one = int(fmt.encode(np.array([1.0]))[0])
    least = 1 << fmt.mantissa_bits
    magnitudes = {0, 1, 2, least - 1, least, least + 1, one, one + 1, one - 1, fmt.max_code,
                  fmt.max_code - 1}  # fmt: skip
    kept = sorted(code for code in magnitudes if 0 <= code <= fmt.max_code)
    return np.array(
        kept + [code | fmt.sign_code for code in kept if code or fmt.specials != "fnuz"]
    )


def numbers(rng: np.random.Generator, fmt: MinifloatFormat, shape: Any, kind: str) -> np.ndarray:
    """Draw codes."""
    anything = rng.integers(0, 1 << fmt.width, shape)
    if kind == "specials":
        return np.where(rng.random(shape) < 0.3, rng.choice(corners(fmt), shape), anything)
    if kind in ("near", "cancel"):
        return fmt.encode(rng.normal(size=shape) * 2.0 ** rng.integers(-2, 3, shape))
    if kind == "extremes":
        return rng.choice(corners(fmt), shape)
    finite = np.isfinite(fmt.to_float(anything))
    return np.where(finite, anything, anything & (fmt.sign_code | 1))


@dataclass(frozen=True)
class Pairs:
    """Units that take pairs of codes: `group` of them a beat."""

    spec: FloatMacSpec | AlignedDotSpec
    fields = ("a", "b", "last")

    @property
    def group(self) -> int:
        """Pairs a beat."""
        return self.spec.group if isinstance(self.spec, AlignedDotSpec) else 1

    def draw(self, rng: np.random.Generator, lengths: np.ndarray, kind: str) -> Columns:
        """Draw operands for runs of beats."""
        shape = int(lengths.sum()), self.group
        a, b = (numbers(rng, fmt, shape, kind) for fmt in self.spec.operands)
        if kind in ("cancel", "extremes"):
            # In some beats, the second half of the pairs takes away what the first half has added.
            half = self.group // 2
            some = rng.random(len(a)) < 0.3
            a[some, half : 2 * half] = a[some, :half] ^ self.spec.operands[0].sign_code
            b[some, half : 2 * half] = b[some, :half]
        if kind == "cancel":
            # And the second half of a run, but for an ulp.
            starts = np.cumsum(lengths) - lengths
            for start, length in zip(starts, lengths, strict=True):
                half = length // 2
                first, second = slice(start, start + half), slice(start + half, start + 2 * half)
                a[second] = a[first] ^ self.spec.operands[0].sign_code
                b[second] = b[first] ^ (rng.random(b[first].shape) < 0.1)
        return a, b

    def beats(self, columns: Columns, last: np.ndarray) -> list[tuple[int, ...]]:
        """Make bit patterns."""
        widths = (fmt.width for fmt in self.spec.operands)
        packed = [pack(codes, width) for codes, width in zip(columns, widths, strict=True)]
        return list(zip(*packed, last.astype(int).tolist(), strict=True))

    def golden(self, columns: Columns, last: np.ndarray) -> np.ndarray:
        """Compute results."""
        a, b = columns
        if isinstance(self.spec, AlignedDotSpec):
            return aligned_dot(self.spec, a, b, last)
        return float_mac(self.spec, a[:, 0], b[:, 0], last)

    def infinities(self) -> tuple[Columns, np.ndarray] | None:
        """Return runs of a power of two and an infinity whose bits look like its negative."""
        fmt, other = self.spec.operands
        if fmt.infinity_code is None or self.group > 1:
            return None
        one, half = other.encode(np.array([1.0, 0.5])).tolist()
        top = fmt.infinity_code - (1 << fmt.mantissa_bits)
        signs = np.array([[x, y] for x in (0, fmt.sign_code) for y in (0, fmt.sign_code)])
        a = (signs + np.array([top, fmt.infinity_code])).reshape(-1, 1)
        b = np.tile([one, half], 4).reshape(-1, 1)
        return (a, b), np.tile([False, True], 4)

    def everything(self) -> Columns | None:
        """Return all pairs of codes, where a beat has one and there are at most 2^16."""
        a, b = self.spec.operands
        if self.group > 1 or a.width + b.width > 16:
            return None
        grids = np.meshgrid(np.arange(1 << a.width), np.arange(1 << b.width))
        return grids[0].reshape(-1, 1), grids[1].reshape(-1, 1)


@dataclass(frozen=True)
class Blocks:
    """The unit that scales sums of blocks."""

    spec: BlockScaleSpec
    fields = ("sum", "a_scale", "b_scale", "invalid", "last")

    def draw(self, rng: np.random.Generator, lengths: np.ndarray, kind: str) -> Columns:
        """Draw sums and scales for runs of blocks."""
        count = int(lengths.sum())
        top = self.spec.sum_width - 1
        sums = rng.integers(-(1 << top), 1 << top, count) >> rng.integers(0, top + 1, count)
        nan = 255 if self.spec.scale == "e8m0" else 127
        a, b = rng.integers(0, nan, (2, count))
        if kind in ("near", "cancel"):
            centre = np.repeat(rng.integers(8, nan - 8, lengths.size), lengths)
            a = centre + rng.integers(-8, 8, count)
            b = np.full(count, nan // 2)
        if kind == "cancel":
            sums[1::2] = -sums[: count - 1 : 2] + rng.integers(-1, 2, count // 2)
            sums = np.clip(sums, -(1 << top), (1 << top) - 1)
            a[1::2] = a[: count - 1 : 2]
        if kind == "extremes":
            edges = [0, 1, -1, (1 << top) - 1, -(1 << top), (1 << (top - 1)) + 1]
            sums = rng.choice(edges, count)
            a, b = (rng.choice([0, 1, nan - 1, nan // 2], count) for _ in range(2))
        invalid = np.zeros(count, dtype=bool)
        if kind == "specials":
            a, b = (np.where(rng.random(count) < 0.05, nan, scale) for scale in (a, b))
            invalid = rng.random(count) < 0.05
        return sums, a, b, invalid

    def beats(self, columns: Columns, last: np.ndarray) -> list[tuple[int, ...]]:
        """Make bit patterns."""
        sums, a, b, invalid = columns
        patterns = (sums & ((1 << self.spec.sum_width) - 1)).tolist()
        sides = [column.astype(int).tolist() for column in (a, b, invalid, last)]
        return list(zip(patterns, *sides, strict=True))

    def golden(self, columns: Columns, last: np.ndarray) -> np.ndarray:
        """Compute results."""
        sums, a, b, invalid = columns
        return block_scale(self.spec, sums, a, b, invalid, last)

    def infinities(self) -> None:
        """Return nothing: integers are no infinities."""

    def everything(self) -> Columns | None:
        """Return all pairs of scales, with one sum."""
        count = 1 << self.spec.scale_width
        grids = np.meshgrid(np.arange(count), np.arange(count))
        a, b = (grid.reshape(-1) for grid in grids)
        return np.where(a & 1, 5, -7), a, b, np.zeros(a.size, dtype=bool)


def unit(spec: Any) -> Pairs | Blocks:
    """Find what goes with a spec."""
    return Blocks(spec) if isinstance(spec, BlockScaleSpec) else Pairs(spec)
