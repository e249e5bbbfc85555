"""Five ternary weights in a byte; needs only numpy."""

from functools import cache

import numpy as np

__all__ = ["TRITS", "pack_trits", "unpack_trits"]

TRITS = 5
"""Weights of a byte."""


@cache
def _weights() -> np.ndarray:
    """Return the weights of each byte, 256 x 5.

    Bits 6 and 7 are the first weight, as a code of two bits; bits 3 to 5 are the next two, and bits
    0 to 2 the last two, which are not both 0. A code -2 says that two or four of these are 0: then
    bits 3 and 4 are the first weight, and the pair that is not 0, the last one if bit 5 is 0, is in
    bits 0 to 2; or bit 4 alone is set, the first weight is in bits 0 and 1, and both pairs are 0.
    A pair's highest bit is the sign of the first of both that is not 0; of the others 0 says that
    the second is 0, 1 that the first is, and 2 and 3 that neither is, with the second's sign.

    So each bit of a weight's code depends on few of the byte: a base of 3 takes four times the
    gates.
    """
    byte = np.arange(256)
    first, one, other = byte >> 6, byte >> 3 & 7, byte & 7
    zeros = first == 2
    all_zeros = zeros & (one & 3 == 2)
    last_zero = zeros & (one >> 2 == 1) | all_zeros
    next_zero = zeros & (one >> 2 == 0) | all_zeros
    single = np.where(zeros, np.where(all_zeros, other & 3, one & 3), first)
    pairs = (np.where(zeros, other, one), next_zero), (other, last_zero)
    columns = [np.where(single & 1, 1 - (single & 2), 0)]
    for pair, zero in pairs:
        kind = pair & 3
        sign = 1 - 2 * (pair >> 2)
        both = 1 - 2 * (kind & 1)
        columns.append(np.where(zero | (kind == 1), 0, sign))
        columns.append(np.where(zero | (kind == 0), 0, np.where(kind == 1, sign, both)))
    return np.stack(columns, axis=1)


@cache
def _bytes() -> np.ndarray:
    """Return the byte of each of the 243 patterns: the least that has these weights."""
    places = (_weights() + 1) @ 3 ** np.arange(TRITS)
    distinct, least = np.unique(places, return_index=True)
    assert len(distinct) == 3**TRITS
    return least


def pack_trits(weights: np.ndarray) -> np.ndarray:
    """Put five rows of weights into one of bytes.

    Parameters
    ----------
    weights : -1, 0 and 1, K x N; rows of zeros are appended up to a multiple of 5.

    Returns
    -------
    int64 bytes, ceil(K / 5) x N.
    """
    padded = np.pad(weights, ((0, -len(weights) % TRITS), (0, 0)))
    rows = padded.reshape(-1, TRITS, weights.shape[1])
    places = ((rows + 1) * 3 ** np.arange(TRITS)[:, None]).sum(axis=1)
    return _bytes()[places]


def unpack_trits(packed: np.ndarray) -> np.ndarray:
    """Return the weights of bytes, R x N: 5 R x N. The 13 unused bytes have weights, too."""
    rows = _weights()[packed].transpose(0, 2, 1)
    return rows.reshape(-1, packed.shape[1])
