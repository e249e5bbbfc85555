"""Integers of any width as codes of an engine: digits with a sign, and sums of them."""

import numpy as np

from carrysave.driver.number import Number

__all__ = ["digit_count", "digits_of", "sum_of_digits"]


def digit_count(least: int, most: int, number: Number) -> int:
    """Count the digits that integers of a range have.

    Parameters
    ----------
    least, most : of the integers.
    number : of a digit, two's complement.
    """
    half, count = 1 << number.bits - 1, 1
    while least < number.low or most > number.high:
        least, most = least + half >> number.bits, most + half >> number.bits
        count += 1
    return count


def digits_of(values: np.ndarray, count: int, number: Number, axis: int) -> np.ndarray:
    """Take integers apart; digits of all come one after the other along an axis, lowest first.

    The integer is the sum of digit * 2^(bits * place). A digit is from -2^(bits - 1) on, so that
    the next one is rounded to the nearest, halves up.

    Parameters
    ----------
    values : of at most so many digits.
    count, number : of digits.
    axis : which becomes `count` times as long.
    """
    half, rest, made = 1 << number.bits - 1, values.astype(np.int64), []
    for _ in range(count):
        above = rest + half >> number.bits
        made.append(rest - (above << number.bits))
        rest = above
    if rest.any():
        most = values.flat[np.abs(values).argmax()]
        raise ValueError(f"integers must be of {count} digits of {number.bits} bits, not {most}")
    return np.concatenate(made, axis=axis)


def sum_of_digits(sums: np.ndarray, count: int, number: Number, axis: int) -> np.ndarray:
    """Put products of digits together: an axis becomes one `count`-th of what it was.

    Parameters
    ----------
    sums : products of what :func:`digits_of` has made, along the same axis.
    """
    total = np.zeros((), np.int64)
    for place, part in enumerate(np.split(sums.astype(np.int64), count, axis=axis)):
        total = total + (part << number.bits * place)
    return total
