"""What the bench of floating-point units is told of each: fields, golden, operands to send."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.sim.cocotb.streams import pack
from golden.formats.minifloat import MinifloatFormat
from golden.npe.aligned_dot import AlignedDotSpec, aligned_dot
from golden.npe.block_scale import BlockScaleSpec, block_scale
from golden.npe.float_lut import FloatLutSpec, float_lut
from golden.npe.float_mac import FloatMacSpec, float_mac
from golden.npe.group_scale import Groups, GroupScaleSpec, group_scale
from verif.npe.benches.float_codes import numbers, with_infinities

__all__ = ["Blocks", "Columns", "GroupSums", "Lookups", "Pairs", "unit"]

Columns = tuple[np.ndarray, ...]


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
        nan = (1 << self.spec.scale_width) - 1
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


@dataclass(frozen=True)
class GroupSums:
    """The unit that scales sums of groups."""

    spec: GroupScaleSpec

    @property
    def widths(self) -> dict[str, int]:
        """Fields of a beat but the last."""
        spec = self.spec
        zeros = {"zero": spec.zero_width, "activations": spec.activation_width}
        return {
            "sum": spec.sum_width,
            **(zeros if spec.zeros != "none" else {}),
            "scale": spec.scale_width,
            **({"power": 8} if spec.aligned else {}),
            **({"column": 32} if spec.exact else {}),
            "invalid": 1,
        }

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of fields."""
        return (*self.widths, "last")

    def draw(self, rng: np.random.Generator, lengths: np.ndarray, kind: str) -> Columns:
        """Draw sums, zero points and scales for runs of groups."""
        spec, count = self.spec, int(lengths.sum())
        found = {}
        for name in ("sum", "zero", "activations"):
            top = self.widths.get(name, 1) - 1
            edges = [0, 1, -1, (1 << top) - 1, -(1 << top)]
            drawn = rng.integers(-(1 << top), 1 << top, count) >> rng.integers(0, top + 1, count)
            found[name] = rng.choice(edges, count) if kind == "extremes" else drawn
        found["scale"] = self._scales(rng, count, kind, spec.scale)
        found["power"] = self._scales(rng, count, kind, "e8m0")
        found["column"] = self._floats(rng, spec.total, count, kind)
        if kind == "cancel":
            found["scale"][1::2] = found["scale"][: count - 1 : 2]
            pairs = -found["sum"][: count - 1 : 2] + rng.integers(-1, 2, count // 2)
            high = (1 << spec.sum_width - 1) - 1
            found["sum"][1::2] = np.clip(pairs, -high, high)
        if spec.zeros == "odd":
            # Twice what is meant, and the zero points, make an even number.
            found["sum"] ^= (found["sum"] ^ found["zero"] * found["activations"]) & 1
        found["invalid"] = (rng.random(count) < 0.05) & (kind == "specials")
        return tuple(found[name] for name in self.widths)

    def _floats(
        self, rng: np.random.Generator, fmt: MinifloatFormat, count: int, kind: str
    ) -> np.ndarray:
        """Draw floats."""
        codes = numbers(rng, fmt, count, kind)
        return with_infinities(rng, fmt, codes) if kind == "specials" else codes

    def _scales(self, rng: np.random.Generator, count: int, kind: str, scale: str) -> np.ndarray:
        """Draw scales of a format."""
        if self.spec.number is not None and scale == self.spec.scale:
            return self._floats(rng, self.spec.number, count, kind)
        if scale == "int8":
            return (
                rng.choice([0, 1, 127, 128, 255], count)
                if kind == "extremes"
                else (rng.integers(0, 256, count))
            )
        if kind == "extremes":
            return rng.choice([0, 1, 127, 254], count)
        if kind in ("near", "cancel"):
            return 127 + rng.integers(-8, 9, count)
        return rng.integers(0, 255, count) + (kind == "specials") * (rng.random(count) < 0.1)

    def beats(self, columns: Columns, last: np.ndarray) -> list[tuple[int, ...]]:
        """Make bit patterns."""
        widths = self.widths.values()
        sides = [x.astype(int) & (1 << w) - 1 for x, w in zip(columns, widths, strict=True)]
        return list(zip(*(side.tolist() for side in (*sides, last.astype(int))), strict=True))

    def golden(self, columns: Columns, last: np.ndarray) -> np.ndarray:
        """Compute results."""
        names = {
            "sum": "sums",
            "zero": "zeros",
            "activations": "activations",
            "scale": "scales",
            "power": "powers",
            "column": "columns",
            "invalid": "invalid",
        }
        members = {names[name]: x for name, x in zip(self.widths, columns, strict=True)}
        return group_scale(self.spec, Groups(**members, last=last))

    def infinities(self) -> None:
        """Return nothing: infinite scales are among the specials."""

    def everything(self) -> None:
        """Return nothing: there are more than 2^16."""


@dataclass(frozen=True)
class Lookups:
    """The unit that looks up in tables of floats."""

    spec: FloatLutSpec
    fields = ("a", "keys", "plane", "last")

    def draw(self, rng: np.random.Generator, lengths: np.ndarray, kind: str) -> Columns:
        """Draw groups of activations, keys and planes for runs of beats."""
        spec, count = self.spec, int(lengths.sum())
        a = numbers(rng, spec.activation, (count, spec.group), kind)
        if kind == "specials":
            a = np.where(rng.random((count, 1)) < 0.3, with_infinities(rng, spec.activation, a), a)
        keys = rng.integers(0, 1 << spec.group, (count, spec.columns))
        planes = rng.integers(0, spec.planes, count)
        if kind in ("cancel", "extremes"):
            # Some beats take away what the one before has added, but for an ulp of an activation.
            some = 1 + np.flatnonzero(rng.random(count - 1) < 0.4)
            a[some], planes[some] = a[some - 1], planes[some - 1]
            keys[some] = keys[some - 1] ^ 1 << spec.group - 1
            a[some, 0] ^= rng.integers(0, 2, some.size)
        return a, keys, planes

    def beats(self, columns: Columns, last: np.ndarray) -> list[tuple[int, ...]]:
        """Make bit patterns."""
        a, keys, planes = columns
        packed = pack(a, self.spec.activation.width), pack(keys, self.spec.group)
        return list(zip(*packed, planes.tolist(), last.astype(int).tolist(), strict=True))

    def golden(self, columns: Columns, last: np.ndarray) -> np.ndarray:
        """Compute results, those of all columns in one integer each."""
        a, keys, planes = columns
        found = float_lut(self.spec, a, keys, planes, last)
        return np.array(pack(found, self.spec.total.width), dtype=object)

    def infinities(self) -> None:
        """Return nothing: they are among the specials."""

    def everything(self) -> None:
        """Return nothing: there are more than 2^16."""


def unit(spec: Any) -> Pairs | Blocks | GroupSums | Lookups:
    """Find what goes with a spec."""
    if isinstance(spec, FloatLutSpec):
        return Lookups(spec)
    if isinstance(spec, GroupScaleSpec):
        return GroupSums(spec)
    return Blocks(spec) if isinstance(spec, BlockScaleSpec) else Pairs(spec)
