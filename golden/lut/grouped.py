"""Products of many rows with weights in groups: :mod:`golden.lut.scale`, fast."""

from collections.abc import Sequence
from copy import copy

import numpy as np

from golden.lut.weights import GroupedWeights

__all__ = ["MOST_POWER", "FastWeights"]

MOST_POWER = 60
"""Largest magnitude of an exponent of activations: terms are far from fp32's subnormals."""
_TYPES = (np.int8, np.int16, np.int32, np.int64)
_SUMS, _WEIGHTS = 1 << 17, 1 << 16
"""Sums of a group at once, rows x columns, and weights of a group: they stay in a core's cache."""
_BYTE = 8
_ARRAYS = ("_stored", "_scales", "_offsets")
"""Members whose last axis is columns."""


class FastWeights:
    """Weights whose products are made group by group, in float32.

    A group's sum is an integer below 2^24, so float32 has it exactly. Products are those of
    :func:`golden.lut.scale.scale_groups`, bit by bit. Integers of 4 bits or fewer share bytes, and
    scales are of 16 bits, as a file has them: a product makes floats of some of them at a time.

    Parameters
    ----------
    weights : "uniform", "affine" or "ternary", with scales of fp16, in whole groups.

    Members
    -------
    bits, levels, group : of a code; what codes mean; rows of a group.
    shape : groups, rows of a group, columns.
    least, most : of all integers that scales multiply.
    rows : which number of an activation each row multiplies; None: they are in order.
    """

    def __init__(self, weights: GroupedWeights):
        k, columns = weights.codes.shape
        if weights.levels not in ("uniform", "affine", "ternary") or weights.scale_format != "fp16":
            raise ValueError(
                "levels must be uniform, affine or ternary, with scales of fp16, not "
                f"{weights.levels} with {weights.scale_format}"
            )
        if k % weights.group:
            raise ValueError(f"rows must be whole groups of {weights.group}, not {k}")
        self.bits, self.levels, self.group = weights.bits, weights.levels, weights.group
        self.shape = (weights.groups, weights.group, columns)
        zeros = np.full((weights.groups, 1), int(weights.levels == "ternary"))
        if weights.zeros is not None:
            zeros = weights.zeros
        low, high = -int(zeros.max()), (1 << weights.bits) - 1 - int(zeros.min())
        kind = next(one for one in _TYPES if np.iinfo(one).min <= low and high <= np.iinfo(one).max)
        width = (high - low).bit_length()
        each = next((one for one in (4, 2) if width * one <= _BYTE), 1)
        # Integers of a byte lie a part of a group apart, so that each part is rows that follow.
        self._each = each if weights.group % each == 0 and kind is np.int8 else 1
        self._low = low if self._each > 1 else 0
        stored = np.uint8 if self._each > 1 else kind
        self._stored = np.zeros((weights.groups, weights.group // self._each, columns), stored)
        ends = []
        for group, some in enumerate(self._stored):
            rows = slice(group * weights.group, (group + 1) * weights.group)
            integers = weights.codes[rows] - zeros[group]
            ends += [int(integers.min()), int(integers.max())]
            for place, part in enumerate(np.split(integers - self._low, self._each)):
                some |= (part << place * _BYTE // self._each).astype(stored)
        self.least, self.most = min(ends), max(ends)
        self._scales = weights.scales.astype(np.uint16).view(np.float16)
        self.rows = weights.rows
        self._offsets = None
        if weights.offsets is not None:
            self._offsets = weights.offsets.astype(np.uint16).view(np.float16)

    @classmethod
    def joined(cls, parts: Sequence["FastWeights"]) -> "FastWeights":
        """Return a matrix of the columns of others, which are alike in all else."""
        first, *others = parts
        if not others:
            return first
        alike = ("bits", "levels", "group", "_each", "_low")
        assert all(getattr(one, name) == getattr(first, name) for one in others for name in alike)
        assert all(one.rows is None for one in parts)
        made = copy(first)
        made.shape = (*first.shape[:2], sum(one.shape[2] for one in parts))
        made.least, made.most = min(one.least for one in parts), max(one.most for one in parts)
        for name in _ARRAYS:
            if getattr(first, name) is not None:
                every = [getattr(one, name) for one in parts]
                setattr(made, name, np.concatenate(every, axis=-1))
        return made

    def columns(self, order: np.ndarray) -> "FastWeights":
        """Return the same with its columns in another order."""
        made = copy(self)
        for name in _ARRAYS:
            if getattr(self, name) is not None:
                setattr(made, name, np.take(getattr(self, name), order, axis=-1))
        return made

    @property
    def greatest(self) -> int:
        """The greatest magnitude of an integer."""
        return max(-self.least, self.most)

    @property
    def integers(self) -> np.ndarray:
        """Integers that scales multiply, groups x rows of a group x N, of the smallest type."""
        if self._each == 1:
            return self._stored
        return np.stack([self._group(group, slice(None)) for group in range(self.shape[0])])

    @property
    def scales(self) -> np.ndarray:
        """Scales, groups x N, float32."""
        return self._scales.astype(np.float32)

    @property
    def offsets(self) -> np.ndarray | None:
        """What is added to each weight of a group, groups x N, float32; None: nothing."""
        return None if self._offsets is None else self._offsets.astype(np.float32)

    def floats(self, columns: np.ndarray) -> np.ndarray:
        """Return the values of some columns, columns x K, float32: each step is rounded."""
        values = np.stack([self._group(group, columns) for group in range(self.shape[0])])
        made = values.astype(np.float32) * self._scales[:, None, columns].astype(np.float32)
        if self._offsets is not None:
            made += self._offsets[:, None, columns].astype(np.float32)
        return np.ascontiguousarray(made.reshape(-1, len(columns)).T)

    def _group(self, group: int, columns: slice | np.ndarray) -> np.ndarray:
        """Return the integers of a group, rows x columns."""
        stored = self._stored[group, :, columns]
        if isinstance(columns, np.ndarray):
            stored = stored.T
        if self._each == 1:
            return stored
        width = _BYTE // self._each
        made: np.ndarray = np.empty((self.group, stored.shape[1]), np.int8)
        for place, part in enumerate(np.split(made.view(np.uint8), self._each)):
            np.right_shift(stored, place * width, out=part)
            part &= (1 << width) - 1
        made += np.int8(self._low)
        return made

    def ordered(self, a: np.ndarray) -> np.ndarray:
        """Return rows of activations in the order of `rows`."""
        return a if self.rows is None else a[:, self.rows]

    def product(self, a: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Multiply rows of integers by the weights.

        Parameters
        ----------
        a : integers of at most 8 bits, M x K, in the order of `rows`.
        powers : exponents of the powers of two that scale a group of a row, M x groups.

        Returns
        -------
        float32, M x N.
        """
        groups, size, columns = self.shape
        a, powers = np.asarray(a), np.asarray(powers)
        if a.ndim != 2 or a.shape[1] != groups * size or powers.shape != (len(a), groups):
            raise ValueError(
                f"a must be M x {groups * size} and powers M x {groups}, not {a.shape} and "
                f"{powers.shape}"
            )
        if np.abs(powers).max(initial=0) > MOST_POWER:
            raise ValueError(f"powers must be -{MOST_POWER}..{MOST_POWER}, not beyond")
        if int(np.abs(a).max(initial=0)) * self.greatest * size >= 1 << 24:
            raise ValueError("sums of groups must be below 2^24")
        factors = np.ldexp(np.float32(1), powers).astype(np.float32)
        # A power of two is in the rows already: it changes no digit of what is rounded after it.
        rows = a.reshape(-1, groups, size).astype(np.float32) * factors[:, :, None]
        rows = np.ascontiguousarray(rows.swapaxes(0, 1))
        ones = rows.sum(axis=2)
        total = np.zeros((len(a), columns), dtype=np.float32)
        wide = max(min(_SUMS // max(len(a), 1), _WEIGHTS // size), 16)
        floats: np.ndarray = np.empty((size, min(wide, columns)), dtype=np.float32)
        for start in range(0, columns, wide):
            span = slice(start, start + wide)
            part = np.zeros(total[:, span].shape, dtype=np.float32)
            term, some = np.empty_like(part), floats[:, : min(wide, columns - start)]
            scales = self._scales[:, span].astype(np.float32)
            offsets = None if self._offsets is None else self._offsets[:, span].astype(np.float32)
            for group in range(groups):
                some[:] = self._group(group, span)
                np.matmul(rows[group], some, out=term)
                term *= scales[group]
                part += term
                if offsets is not None:
                    part += ones[group, :, None] * offsets[group]
            total[:, span] = part
        return total
