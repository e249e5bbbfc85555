"""Convolutions as matrix products: one row per kernel window (im2col)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

__all__ = ["Tiles", "Windows"]


@dataclass(frozen=True)
class Tiles:
    """Where the outputs of patches lie, along each axis.

    Members
    -------
    size : outputs of a patch.
    first : place in the first patch of the first output that counts.
    outputs : how many count.
    """

    size: tuple[int, ...]
    first: tuple[int, ...]
    outputs: tuple[int, ...]

    def placed(self, y: np.ndarray, groups: int) -> np.ndarray:
        """Turn batch x patches of space x columns into batch x channels x space.

        Columns are those of groups, of the places of a patch, and of a group's channels.
        """
        axes = len(self.size)
        batch, *counts = y.shape[: 1 + axes]
        y = y.reshape(batch, *counts, groups, *self.size, -1)
        channels = groups * y.shape[-1]
        pairs = [at for axis in range(axes) for at in (1 + axis, 2 + axes + axis)]
        y = y.transpose(0, 1 + axes, y.ndim - 1, *pairs)
        y = y.reshape(batch, channels, *(n * m for n, m in zip(counts, self.size, strict=True)))
        ends = zip(self.first, self.outputs, strict=True)
        return y[(slice(None), slice(None), *(slice(at, at + count) for at, count in ends))]


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
        pads = []
        for size, kernel, stride, step in zip(
            space, self.kernel, self.strides, self.dilations, strict=True
        ):
            pad = max((-(-size // stride) - 1) * stride + (kernel - 1) * step + 1 - size, 0)
            less, more = pad // 2, pad - pad // 2
            pads.append((less, more) if self.auto_pad == "SAME_UPPER" else (more, less))
        return pads

    @property
    def reach(self) -> tuple[int, ...]:
        """Inputs of a row along each axis."""
        return self.spread

    @property
    def spread(self) -> tuple[int, ...]:
        """Inputs of a kernel along each axis, with those between its taps."""
        return tuple(
            (kernel - 1) * step + 1
            for kernel, step in zip(self.kernel, self.dilations, strict=True)
        )

    @property
    def patch(self) -> int:
        """Outputs of a row."""
        return 1

    @property
    def depth(self) -> int:
        """Inputs of a row, of one channel."""
        return prod(self.kernel)

    def uses(self, space: Sequence[int]) -> int:
        """Count the products of an input and a tap, for an input and an output channel."""
        return prod(self.outputs(space)) * prod(self.kernel)

    def tiles(self, space: Sequence[int]) -> Tiles | None:
        """Return where the outputs of rows lie; None: a row has one."""
        return None

    def outputs(self, space: Sequence[int]) -> tuple[int, ...]:
        """Return the outputs along each axis; less than 1 where inputs are too few."""
        return tuple(
            (before + size + after - spread) // stride + 1
            for size, (before, after), spread, stride in zip(
                space, self.around(space), self.spread, self.strides, strict=True
            )
        )

    def reaching(self, space: Sequence[int]) -> "Windows":
        """Return these windows with those that end beyond the padding, as ceil_mode has them.

        None of them begins beyond the inputs and the padding before them.
        """
        pads = self.around(space)
        after = []
        for size, (before, behind), spread, stride in zip(
            space, pads, self.spread, self.strides, strict=True
        ):
            more = -(-(before + size + behind - spread) // stride)
            more -= more * stride >= before + size
            after.append(max(more * stride + spread - before - size, behind))
        return replace(self, pads=(*(before for before, _ in pads), *after), auto_pad="NOTSET")

    def cut(self, x: np.ndarray, fill: float) -> np.ndarray:
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
        reach = self.reach
        if any(size < need for size, need in zip(x.shape[2:], reach, strict=True)):
            raise ValueError(f"inputs must be {reach} or more, padded, not {x.shape[2:]}")
        seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=space)
        steps = [slice(None)] * 2 + [slice(None, None, stride) for stride in self.strides]
        inner = [slice(None, None, step) for step in self.dilations]
        return np.moveaxis(seen[(*steps, *inner)], 1, 1 + axes)
