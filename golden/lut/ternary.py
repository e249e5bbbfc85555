"""Products by ternary weights: direct, by tables of ternary sums, as two planes of signs."""

import numpy as np

from golden.lut.table import TableSpec, fold, keys, lookup, tables

__all__ = [
    "direct",
    "direct_constants",
    "entry_count",
    "key_width",
    "pair_key",
    "pair_matmul",
    "read_code",
    "table_key",
    "table_matmul",
    "ternary_table",
    "two_plane_matmul",
    "two_planes",
]


def read_code(codes: np.ndarray) -> np.ndarray:
    """Return the weights of two-bit codes: bit 0, there is one; bit 1, it is negative.

    That is two's complement, but that -2, negative nothing, is 0.
    """
    return np.where(codes & 1, 1 - (codes & 2), 0)


def direct(a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum activations, inverted where the weight is -1, and 0 where it is 0.

    Inverting is 1 too little; what is missing are :func:`direct_constants`.

    Parameters
    ----------
    a : activations, M x K.
    weights : -1, 0 and 1, K x N.
    """
    chosen = np.where(weights[None] < 0, ~a[:, :, None], a[:, :, None])
    return np.where(weights[None] != 0, chosen, 0).sum(axis=1)


def direct_constants(weights: np.ndarray) -> np.ndarray:
    """Count the negative weights of each column: what :func:`direct` leaves to be added."""
    return (weights < 0).sum(axis=0)


def entry_count(group: int) -> int:
    """Entries of the table of a group: one of each two opposite sums that are no zero."""
    return (3**group - 1) // 2


def key_width(group: int) -> int:
    """Bits of a key: an index, which is the number of entries where all weights are 0; a sign."""
    return entry_count(group).bit_length() + 1


def ternary_table(a: np.ndarray) -> np.ndarray:
    """Return the ternary sums of groups of activations.

    Entry i has the signs of the digits of i + 1 in balanced ternary, the first activation's least.

    Parameters
    ----------
    a : activations, ... x group.

    Returns
    -------
    The entries, ... x (3^group - 1) / 2.
    """
    group = a.shape[-1]
    values = np.arange(1, entry_count(group) + 1)
    digits = []
    for _ in range(group):
        digit = (values + 1) % 3 - 1
        digits.append(digit)
        values = (values - digit) // 3
    return a @ np.array(digits)


def table_key(weights: np.ndarray, group: int) -> np.ndarray:
    """Return the keys of groups of weights: the sign in the greatest bit, the index below.

    Parameters
    ----------
    weights : -1, 0 and 1, K x N, K a multiple of the group.
    group : weights per key.

    Returns
    -------
    int64 keys, groups x N.
    """
    parts = weights.reshape(-1, group, weights.shape[1])
    value = (parts * 3 ** np.arange(group)[:, None]).sum(axis=1)
    index = np.where(value == 0, entry_count(group), np.abs(value) - 1)
    return index | (value < 0).astype(np.int64) << (key_width(group) - 1)


def table_matmul(a: np.ndarray, weights: np.ndarray, group: int) -> np.ndarray:
    """Multiply by looking up the sum of each group; an index without an entry is 0.

    Parameters
    ----------
    a : activations, M x K.
    weights : -1, 0 and 1, K x N.
    group : weights per lookup.
    """
    a, weights = _padded(a, weights, group)
    return look_up(_groups(a, group), table_key(weights, group), group)


def look_up(groups: np.ndarray, key: np.ndarray, group: int) -> np.ndarray:
    """Sum what keys select of the tables of activations, M x groups x group."""
    entries = ternary_table(groups)
    # Where there is no entry, the multiplexer's input is 0.
    spare = (1 << key_width(group) - 1) - entries.shape[-1]
    entries = np.pad(entries, ((0, 0), (0, 0), (0, spare)))
    looked_up = lookup(entries, key & (1 << key_width(group) - 1) - 1)
    return np.where(key >> key_width(group) - 1, -looked_up, looked_up).sum(axis=1)


def pair_key(weights: np.ndarray) -> np.ndarray:
    """Return the keys of pairs of weights: bits 0 and 1 the index, 2 the sign, 3 "not zero".

    The entries are a, b - a, b and a + b. The index of a pair of zeros is 0.
    """
    key = table_key(weights, 2)
    index = key & 7
    return np.where(index == 4, 0, index | (key >> 3) << 2 | 8)


def pair_matmul(a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiply by looking up each pair's sum, gated and negated."""
    a, weights = _padded(a, weights, 2)
    key = pair_key(weights)
    looked_up = lookup(ternary_table(_groups(a, 2)), key & 3)
    return np.where(key & 8, np.where(key & 4, -looked_up, looked_up), 0).sum(axis=1)


def two_planes(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bit planes whose signs have twice the weights as their sum: 11, 01 and 00."""
    return (weights > 0).astype(np.int64), (weights >= 0).astype(np.int64)


def two_plane_matmul(spec: TableSpec, a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiply on a table of signed sums: both planes have weight one, and the sum is halved.

    Parameters
    ----------
    spec : the table.
    a : activations, M x K.
    weights : -1, 0 and 1, K x N.
    """
    a, weights = _padded(a, weights, spec.group)
    entries = tables(spec, a)
    total = np.zeros((a.shape[0], weights.shape[1]), dtype=np.int64)
    for plane in two_planes(weights):
        index, sign = keys(fold(plane, spec.group), spec.group, 0)
        looked_up = lookup(entries, index)
        total += np.where(sign, -looked_up, looked_up).sum(axis=1)
    return total >> 1


def _groups(a: np.ndarray, group: int) -> np.ndarray:
    """Cut rows into groups, M x groups x group."""
    return a.reshape(a.shape[0], a.shape[1] // group, group)


def _padded(a: np.ndarray, weights: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Append zeros up to a multiple of the group."""
    more = -a.shape[1] % group
    return np.pad(a, ((0, 0), (0, more))), np.pad(weights, ((0, more), (0, 0)))
