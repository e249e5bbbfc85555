"""Rounding by given random bits: up or down, with a chance that grows with what is lost."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer

__all__ = ["RANDOM_WIDTH", "RandomBits"]

RANDOM_WIDTH = Integer("random bits of a code, where rounding is stochastic", 8, 4, 16, "bits")


@dataclass(frozen=True, eq=False)
class RandomBits:
    """A number 0 .. 2^width - 1 for each value that is rounded by it; chance is the caller's.

    Of the magnitude, bits of less than 2^-width of the last place are dropped, the number is added
    there, and what is below the last place is dropped: `StochasticFastest` of gfloat, and the
    rounding of gradients in FP4 All the Way (Chmiel and others, 2025) and Quartet (Castro and
    others, 2025). The mean over all numbers is too small by less than 2^-width of the last place.
    """

    numbers: np.ndarray
    width: int

    def __post_init__(self) -> None:
        """Check the fields."""
        RANDOM_WIDTH.check("random_width", self.width)
        array = np.asarray(self.numbers)
        if array.dtype.kind not in "iu":
            raise TypeError(f"random must be integers, not {array.dtype}")
        most = (1 << self.width) - 1
        if array.size and not (array.min() >= 0 and array.max() <= most):
            worst = array.max() if array.max() > most else array.min()
            raise ValueError(f"random must be 0..{most}, not {worst}")

    def round(self, magnitude: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """Return magnitude / 2^cut, rounded.

        Parameters
        ----------
        magnitude : integers that are not negative: int64, or Python's.
        cut : places, `width` or more.
        """
        lost = cut - self.width
        if magnitude.dtype != object:
            lost = np.minimum(lost, 63)
        return (magnitude >> lost) + self.numbers >> self.width

    def part(self, chosen: slice, shape: tuple[int, ...]) -> "RandomBits":
        """Return the numbers of some of the values of a shape, in one dimension."""
        flat = np.broadcast_to(self.numbers, shape).reshape(-1)
        return RandomBits(flat[chosen].astype(np.int64), self.width)
