"""One-pass attention: shares of blocks of keys, their exact sums, and the division at the end.

A softmax reads a row of scores twice, and needs all of it before any of its shares: its sum. Here
each block of keys has codes of its own, and a power of two for all of them, so that scores are read
once; the sum of shares is a sum like those of shares times values, and divides these at the end.
"""

from dataclasses import replace
from math import isqrt
from typing import NamedTuple

import numpy as np

from golden.npe.requantiser import Requantisation, requantiser
from golden.npe.vector import VectorUnitSpec, bit_length, check_rows

__all__ = ["Shares", "divide", "exps", "least_exponent", "mantissas", "reciprocals", "sums"]

_EXPONENTS = -128, 127
"""Limits of whole octaves: of a byte."""
_ROWS = 256
"""Rows that are divided at once."""


class Shares(NamedTuple):
    """Shares of rows of scores.

    Members
    -------
    codes : int64, of the shape of the scores, 0 .. 2^share_width - 1.
    exponents : int64, of each row one for each block: a code represents its value times two to the
        power of its block's.
    """

    codes: np.ndarray
    exponents: np.ndarray


def mantissas(scale_width: int, bits: int) -> list[int]:
    """Return powers of two of an octave: 2^(r / 2^scale_width), times 2^(bits - 1), rounded.

    Each is 2^(bits - 1) .. 2^bits - 1, and computed in integers: of twice of it, the floor is
    `scale_width` roots, one of the other.

    Parameters
    ----------
    scale_width : the table has 2^scale_width entries.
    bits : of an entry.
    """
    table = []
    for r in range(1 << scale_width):
        twice = 1 << (bits << scale_width) + r
        for _ in range(scale_width):
            twice = isqrt(twice)
        table.append(min(twice + 1 >> 1, (1 << bits) - 1))
    return table


def exps(spec: VectorUnitSpec, x: np.ndarray) -> Shares:
    """Compute shares of rows of scores: their exponentials, by a power of two for each block.

    Scores are multiplied by log2(e), rounded down to `spec.scale_width` bits after the binary
    point: whole octaves w, -128..127 at most, and the rest, whose mantissa is of
    :func:`mantissas`. A block's exponent
    is its greatest w. Codes are mantissas shifted right by what w is below that, rounded: what
    rounding leaves is carried to the next code of the block, as in a softmax, so that errors do not
    add up. No code exceeds 2^share_width - 1, and no block depends on another.

    Parameters
    ----------
    spec : widths, and codes of a block.
    x : of `spec.in_format`, rows along the last axis, 1 .. length values each.

    Notes
    -----
    The form without a running maximum of FuseMax's one-pass attention (Nayak et al. 2024); blocks
    with powers of two are those of the OCP's microscaling formats.
    """
    spec.check_operation("exps")
    x = check_rows(spec, x)
    count, blocks = x.shape[-1], spec.blocks(x.shape[-1])
    table = np.array(mantissas(spec.scale_width, spec.share_width))
    turned = x * spec.octave_factor >> spec.width
    whole, rest = turned >> spec.scale_width, turned & (1 << spec.scale_width) - 1
    whole = np.clip(whole, *_EXPONENTS)
    # What is behind a row's end is no greatest value, and leaves no code.
    behind = [(0, 0)] * (x.ndim - 1) + [(0, blocks * spec.block - count)]
    cut = (*x.shape[:-1], blocks, spec.block)
    octaves = np.pad(whole, behind, constant_values=np.iinfo(np.int32).min).reshape(cut)
    exponents = octaves.max(axis=-1)
    shift = np.minimum(exponents[..., None] - octaves, 62)
    powers = np.pad(table[rest], behind).reshape(cut) << spec.carry_width >> shift
    prefix = np.cumsum(powers, axis=-1, dtype=np.int64)
    rounded = prefix + (1 << spec.carry_width - 1) >> spec.carry_width
    codes = np.diff(rounded, axis=-1, prepend=0).reshape(*x.shape[:-1], -1)[..., :count]
    return Shares(codes, exponents)


def sums(spec: VectorUnitSpec, shares: Shares, values: np.ndarray) -> np.ndarray:
    """Multiply shares by values exactly: a block's sums are shifted by its exponent, and added.

    So no sum depends on the order of blocks, or on how many are computed at a time: sums of parts
    of a row add up to those of the row. A column of ones makes the sum of the shares, which
    :func:`divide` divides by.

    Parameters
    ----------
    spec : codes of a block.
    shares : M rows of K codes.
    values : K x N integers.

    Returns
    -------
    M x N Python integers, in units of two to the power of :func:`least_exponent`.
    """
    total = np.zeros((len(shares.codes), values.shape[1]), object)
    for number, exponents in enumerate(shares.exponents.T):
        part = slice(number * spec.block, (number + 1) * spec.block)
        products = shares.codes[:, part].astype(np.int64) @ values[part].astype(np.int64)
        places = exponents - least_exponent(spec)
        total += products.astype(object) << places.astype(object)[:, None]
    return total


def least_exponent(spec: VectorUnitSpec) -> int:
    """Return the least exponent that a block can have: that of the least score."""
    least = spec.in_format.low * spec.octave_factor >> spec.width + spec.scale_width
    return max(least, _EXPONENTS[0])


def reciprocals(spec: VectorUnitSpec, divisors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide one by integers, rounded down to reciprocal_width bits, less one if shares are signed.

    Returns
    -------
    Reciprocals, and the digits of each after the binary point. Those of divisors below 1 are all
    ones, with the digits of that of 1.
    """
    bits = spec.reciprocal_width - spec.signed
    some = np.maximum(divisors, 1)
    digits = bits - 1 + bit_length(some - 1)
    quotients = (np.int64(1) << digits) // some
    return np.where(divisors < 1, (1 << bits) - 1, quotients), digits


def divide(spec: VectorUnitSpec, x: np.ndarray, to: Requantisation) -> np.ndarray:
    """Divide rows by their last value: sums of shares times values by the sum of the shares.

    Values times the reciprocal of :func:`reciprocals` are rounded once, halves up, and saturated.

    Parameters
    ----------
    spec : widths.
    x : of `spec.in_format`, rows along the last axis, 2 .. length values each, of which the last
        one should be greater than 0.
    to : zero point and limits of the codes; its shift s says that codes are in units of 2^-s, but
        for s of more than 8 above the digits of a reciprocal, which is as 8 above. Its multiplier
        is not looked at.

    Returns
    -------
    int64 codes of out_width bits, two's complement, as many as values: the last of a row is what
    its divisor makes.
    """
    spec.check_operation("divide")
    to.check(spec.scaling)
    x = check_rows(spec, x)
    rows = x.reshape(-1, x.shape[-1])
    factors, digits = reciprocals(spec, rows[:, -1])
    shifts = np.maximum(digits + spec.MEAN_FRACTION - to.shift, 0)
    codes = np.empty_like(rows)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        zeros = np.broadcast_to(to.zero_point, len(shifts[part]))
        how = replace(to, multiplier=factors[part], shift=shifts[part], zero_point=zeros)
        unit = replace(spec.norm_spec, n=len(zeros), per_column=True)
        codes[part] = requantiser(unit, (rows[part] << spec.MEAN_FRACTION).T, how).T
    return codes.reshape(x.shape)
