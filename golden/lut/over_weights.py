"""Tables over weights, looked up by bit planes of activations; a cache of entries."""

from dataclasses import dataclass

import numpy as np

from golden.check import Flag, Integer, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat

__all__ = ["OverWeightsSpec", "over_weights", "reads", "table_keys", "weight_table"]


@dataclass(frozen=True, kw_only=True)
class OverWeightsSpec:
    """Tables of all 2^group sums of subsets of `group` weights, and a cache of entries read.

    A key is one bit of each of `group` activations; the plane of a two's complement sign is
    subtracted. The cache holds `reuse` entries of the current table, at the
    place key modulo `reuse` (direct-mapped): a hit needs no read. A new table empties the cache.
    """

    group: int = parameter(Integer("weights per table", 4, 1, 8, "weights"))
    a_width: int = parameter(Integer("bits of an activation", 8, 1, 16, "bits"))
    a_signed: bool = parameter(Flag("activations are two's complement", True))
    b_width: int = parameter(Integer("bits of a weight", 8, 1, 16, "bits"))
    b_signed: bool = parameter(Flag("weights are two's complement", True))
    reuse: int = parameter(Integer("entries kept", 0, 0, 256, "entries"))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(OverWeightsSpec), vars(self))
        if self.reuse & (self.reuse - 1) or self.reuse > 1 << self.group:
            raise ValueError(
                f"reuse must be 0 or a power of two up to {1 << self.group}, not {self.reuse!r}"
            )

    @property
    def a_format(self) -> IntFormat:
        """Format of activations."""
        return IntFormat(width=self.a_width, signed=self.a_signed)

    @property
    def b_format(self) -> IntFormat:
        """Format of weights."""
        return IntFormat(width=self.b_width, signed=self.b_signed)

    @property
    def entry_format(self) -> IntFormat:
        """Format of an entry."""
        low, high = self.group * self.b_format.low, self.group * self.b_format.high
        width = max(high.bit_length(), (-low - 1).bit_length() if low else 0) + self.b_signed
        return IntFormat(width=width, signed=self.b_signed)


def weight_table(spec: OverWeightsSpec, weights: np.ndarray) -> np.ndarray:
    """Return the tables of columns of weights, groups x 2^group x N.

    Entry `key` is the sum of the weights whose bits are set.

    Parameters
    ----------
    spec : the tables.
    weights : codes, K x N; zeros are appended up to a multiple of the group.
    """
    weights = spec.b_format.check("weights", weights)
    padded = np.pad(weights, ((0, -weights.shape[0] % spec.group), (0, 0)))
    parts = padded.reshape(-1, spec.group, weights.shape[1])
    bits = np.arange(1 << spec.group)[:, None] >> np.arange(spec.group) & 1
    return spec.entry_format.check("entries", bits @ parts)


def over_weights(
    spec: OverWeightsSpec, a: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, int]:
    """Multiply by lookup in tables of weights, one after the other, each for all rows of A.

    Keys come row by row of A, least significant plane first.

    Parameters
    ----------
    spec : the tables.
    a : activations, M x K.
    weights : codes, K x N.

    Returns
    -------
    sums : int64, M x N.
    reads : entries read per column: the cache misses.
    """
    keys = table_keys(spec, a)
    entries = weight_table(spec, weights)
    signs = np.ones(spec.a_width, dtype=np.int64)
    if spec.a_signed:
        signs[-1] = -1
    total = np.zeros((a.shape[0], weights.shape[1]), dtype=np.int64)
    for number, table in enumerate(entries):
        for plane in range(spec.a_width):
            total += signs[plane] * table[keys[number, :, plane]] << plane
    return total, reads(spec, keys)


def table_keys(spec: OverWeightsSpec, a: np.ndarray) -> np.ndarray:
    """Return the keys of activations, M x K, as tables x M x planes, the lowest plane first."""
    a = spec.a_format.check("a", a)
    padded = np.pad(a, ((0, 0), (0, -a.shape[1] % spec.group)))
    parts = padded.reshape(a.shape[0], -1, spec.group).swapaxes(0, 1)
    bits = parts[..., None, :] >> np.arange(spec.a_width)[:, None] & 1
    return (bits << np.arange(spec.group)).sum(axis=-1)


def reads(spec: OverWeightsSpec, keys: np.ndarray) -> int:
    """Count the cache misses of the keys of :func:`table_keys`: what is read of each column."""
    if not spec.reuse:
        return keys.size
    rows = keys.reshape(len(keys), -1)
    # In the order of the keys of each place, a read is where a key differs from the one before.
    order = np.argsort(rows % spec.reuse, axis=1, kind="stable")
    there = np.take_along_axis(rows, order, axis=1)
    return int((there[:, 1:] != there[:, :-1]).sum()) + len(rows) * (rows.shape[1] > 0)
