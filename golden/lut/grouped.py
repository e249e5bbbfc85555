"""Products of many rows with weights in groups: :mod:`golden.lut.scale`, fast."""

import numpy as np

from golden.lut.weights import GroupedWeights

__all__ = ["MOST_POWER", "FastWeights"]

MOST_POWER = 60
"""Largest magnitude of an exponent of activations: terms are far from fp32's subnormals."""
_TYPES = (np.int8, np.int16, np.int32, np.int64)
_SUMS, _WEIGHTS = 1 << 17, 1 << 16
"""Sums of a group at once, rows x columns, and weights of a group: they stay in a core's cache."""


class FastWeights:
    """Weights whose products are made group by group, in float32.

    A group's sum is an integer below 2^24, so float32 has it exactly. Products are those of
    :func:`golden.lut.scale.scale_groups`, bit by bit.

    Parameters
    ----------
    weights : "uniform", "affine" or "ternary", with scales of fp16, in whole groups.

    Members
    -------
    bits, levels, group : of a code; what codes mean; rows of a group.
    integers : that scales multiply, groups x rows of a group x N, of the smallest type: a product
        makes floats of some of them at a time.
    greatest : of their magnitudes.
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
        zeros = np.full((weights.groups, 1), int(weights.levels == "ternary"))
        if weights.zeros is not None:
            zeros = weights.zeros
        low, high = -int(zeros.max()), (1 << weights.bits) - 1 - int(zeros.min())
        kind = next(one for one in _TYPES if np.iinfo(one).min <= low and high <= np.iinfo(one).max)
        self.integers = np.empty((weights.groups, weights.group, columns), kind)
        for group, integers in enumerate(self.integers):
            rows = slice(group * weights.group, (group + 1) * weights.group)
            np.subtract(weights.codes[rows], zeros[group], out=integers, casting="unsafe")
        self.greatest = max(-int(self.integers.min()), int(self.integers.max()))
        self.scales = weights.scales.astype(np.uint16).view(np.float16).astype(np.float32)
        self.rows = weights.rows
        self.offsets = None
        if weights.offsets is not None:
            self.offsets = weights.offsets.astype(np.uint16).view(np.float16).astype(np.float32)

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
        groups, size, columns = self.integers.shape
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
            for group in range(groups):
                some[:] = self.integers[group, :, span]
                np.matmul(rows[group], some, out=term)
                term *= self.scales[group, span]
                part += term
                if self.offsets is not None:
                    part += ones[group, :, None] * self.offsets[group, span]
            total[:, span] = part
        return total
