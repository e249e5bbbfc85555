"""Block formats: blocks along K, each with a scale."""

from dataclasses import dataclass

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.random_bits import RandomBits

__all__ = ["BlockFormat", "Blocks"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """An array in a block format.

    Members
    -------
    codes : codes of the elements, of any shape.
    scales : codes of the scales; same shape as codes, but one per block along the blocks' axis.
    tensor_scale : an fp32 scale for the whole tensor.
    """

    codes: np.ndarray
    scales: np.ndarray
    tensor_scale: float = 1.0


class BlockFormat:
    """Elements in blocks of `block`; the value is the element times its block's scale.

    Blocks run along one axis; the last one may be shorter.
    """

    @property
    def block(self) -> int:
        """Elements per scale."""
        raise NotImplementedError

    @property
    def element(self) -> ElementFormat:
        """Format of elements."""
        raise NotImplementedError

    @property
    def scale_format(self) -> ElementFormat:
        """Format of scales, or of their codes."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Short name, such as mx_e4m3."""
        raise NotImplementedError

    def quantise(
        self,
        values: np.ndarray,
        *,
        axis: int = -1,
        rounding: str = "rne",
        random: RandomBits | None = None,
    ) -> Blocks:
        """Choose scales and round floats to elements, saturating.

        Parameters
        ----------
        values : floats of any shape.
        axis : along which blocks run.
        rounding, random : of elements, see :meth:`ElementFormat.encode`; scales are rounded to
            nearest.
        """
        raise NotImplementedError

    def parts(self, blocks: Blocks, *, axis: int = -1) -> tuple[Exact, Exact]:
        """Return the exact values of elements and of scales; without the tensor's scale."""
        elements, scales = self.element.decode(blocks.codes), self._scales(blocks.scales)
        expected = list(elements.shape)
        expected[axis] = -(-expected[axis] // self.block)
        if scales.shape != tuple(expected):
            raise ValueError(
                f"scales must be of shape {tuple(expected)}, one for each block of {self.block} "
                f"along axis {axis}, not {scales.shape}"
            )
        return elements, scales

    def decode(self, blocks: Blocks, *, axis: int = -1) -> Exact:
        """Return exact values, without the tensor's scale."""
        elements, scales = self.parts(blocks, axis=axis)
        at = np.arange(elements.shape[axis]) // self.block
        return elements * scales[(*[slice(None)] * (axis % len(elements.shape)), at)]

    def to_float(self, blocks: Blocks, *, axis: int = -1) -> np.ndarray:
        """Return the values as doubles, which hold them exactly."""
        scale = Exact.from_float(np.asarray(blocks.tensor_scale))
        return (self.decode(blocks, axis=axis) * scale).to_odd()

    def _scales(self, codes: np.ndarray) -> Exact:
        """Decode scales."""
        raise NotImplementedError

    def _greatest(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Largest magnitude of each block; NaN if it has an infinity or a NaN."""
        magnitudes = np.moveaxis(np.abs(values), axis, -1)
        magnitudes[np.isinf(magnitudes)] = np.nan
        if rest := -magnitudes.shape[-1] % self.block:
            magnitudes = np.pad(magnitudes, [(0, 0)] * (magnitudes.ndim - 1) + [(0, rest)])
        size = magnitudes.shape[-1] // self.block
        split = magnitudes.reshape(*magnitudes.shape[:-1], size, self.block)
        return np.moveaxis(split.max(axis=-1), -1, axis)

    def _spread(self, scales: np.ndarray, size: int, axis: int) -> np.ndarray:
        """Repeat each block's scale for its elements."""
        return np.take(scales, np.arange(size) // self.block, axis=axis)
