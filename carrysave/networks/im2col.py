"""Convolutions as matrix products: one row per kernel window (im2col)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Windows"]


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The windows of a convolution; one number per spatial axis.

    Parameters
    ----------
    kernel, strides, dilations : sizes, in numbers.
    pads : before and after each axis: all before first, as in ONNX; None: by `auto_pad`.
    auto_pad : SAME_UPPER or SAME_LOWER: as many outputs as inputs / stride.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...] | None
    auto_pad: str = "NOTSET"

    def around(self, space: Sequence[int]) -> list[tuple[int, int]]:
        """Return the padding before and after each axis."""
        axes = len(self.kernel)
        if self.pads is not None:
            return list(zip(self.pads[:axes], self.pads[axes:], strict=True))
        found = []
        for size, kernel, stride, step in zip(
            space, self.kernel, self.strides, self.dilations, strict=True
        ):
            pad = max((-(-size // stride) - 1) * stride + (kernel - 1) * step + 1 - size, 0)
            less, more = pad // 2, pad - pad // 2
            found.append((less, more) if self.auto_pad == "SAME_UPPER" else (more, less))
        return found

    def cut(self, x: np.ndarray, fill: int) -> np.ndarray:
        """Cut batch x channels x space into batch x outputs of space x channels x kernel.

        Parameters
        ----------
        x : codes.
        fill : code of 0, beyond the edges.
        """
        axes = len(self.kernel)
        space = tuple(range(2, 2 + axes))
        pads = [(0, 0), (0, 0), *self.around(x.shape[2:])]
        x = np.pad(x, pads, constant_values=fill)
        reach = tuple(
            (kernel - 1) * step + 1
            for kernel, step in zip(self.kernel, self.dilations, strict=True)
        )
        if any(size < need for size, need in zip(x.shape[2:], reach, strict=True)):
            raise ValueError(f"inputs must be {reach} or more, padded, not {x.shape[2:]}")
        seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=space)
        steps = [slice(None)] * 2 + [slice(None, None, stride) for stride in self.strides]
        inner = [slice(None, None, step) for step in self.dilations]
        return np.moveaxis(seen[(*steps, *inner)], 1, 1 + axes)
