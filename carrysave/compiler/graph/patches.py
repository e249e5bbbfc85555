"""Convolutions whose rows are patches of outputs: columns of the engine for each output of a patch.

A group of few channels fills few columns of an engine by itself. With patches, a row has the
inputs of several outputs that lie together, and B is a Toeplitz matrix: a column for each of them,
with the kernel at its place, and zeros elsewhere. A 3 x 3 kernel and patches of 2 x 4 have 9 of 24
rows in use in each of 8 columns, where groups side by side have one of 8. No 8 outputs have more:
their inputs are those of the kernel, moved to 8 places, which are 24 at the least.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from carrysave.compiler.graph.im2col import Tiles, Windows

__all__ = ["Patched", "Transposed", "toeplitz"]


@dataclass(frozen=True, kw_only=True)
class Patched(Windows):
    """The windows of patches; fields are those of the convolution.

    Parameters
    ----------
    size : outputs of a patch, along each axis.
    """

    size: tuple[int, ...]

    @property
    def patch(self) -> int:
        """Outputs of a row."""
        return prod(self.size)

    @property
    def depth(self) -> int:
        """Inputs of a row, of one channel."""
        return prod(self.reach)

    @property
    def reach(self) -> tuple[int, ...]:
        """Inputs of a patch, along each axis."""
        return tuple(
            (count - 1) * stride + one
            for count, stride, one in zip(self.size, self.strides, self.spread, strict=True)
        )

    def tiles(self, space: Sequence[int]) -> Tiles:
        """Return where the outputs lie."""
        return Tiles(self.size, (0,) * len(self.size), self.outputs(space))

    def cut(self, x: np.ndarray, fill: float) -> np.ndarray:
        """Cut batch x channels x space into batch x patches of space x channels x inputs."""
        steps = tuple(n * stride for n, stride in zip(self.size, self.strides, strict=True))
        befores, afters = [], []
        space = x.shape[2:]
        outputs = self.outputs(space)
        for at, (before, _) in enumerate(self.around(space)):
            patches = -(-outputs[at] // self.size[at])
            need = (patches - 1) * steps[at] + self.reach[at]
            befores.append(before)
            afters.append(max(need - before - space[at], 0))
        windows = Windows(
            kernel=self.reach, strides=steps, dilations=(1,) * len(steps), pads=(*befores, *afters)
        )
        return windows.cut(x, fill)


def toeplitz(weights: np.ndarray, windows: Patched) -> np.ndarray:
    """Make the weights of patches, groups x K x N, of those of a convolution."""
    groups, _, columns = weights.shape
    kernel, size, reach = windows.kernel, windows.size, windows.reach
    grouped = weights.reshape(groups, -1, *kernel, columns)
    made = np.zeros((groups, grouped.shape[1], *reach, *size, columns), weights.dtype)
    for offset in product(*map(range, size)):
        taps = (
            slice(first * stride, first * stride + (count - 1) * step + 1, step)
            for first, stride, count, step in zip(
                offset, windows.strides, kernel, windows.dilations, strict=True
            )
        )
        at: Any = (slice(None), slice(None), *taps, *offset)
        made[at] = grouped
    return made.reshape(groups, grouped.shape[1] * prod(reach), prod(size) * columns)


@dataclass(frozen=True, kw_only=True)
class Transposed(Windows):
    """The windows of a transposed convolution: a patch is as large as the strides.

    With input i, tap t and padding before p, an output lies at stride * i + dilation * t - p. So
    all outputs of a patch, aligned to strides before the padding is taken off, have the same
    inputs.

    Parameters
    ----------
    more : those of :class:`Windows`; pads are taken off the outputs.
    extra : outputs added at the end, `output_padding`.
    shape : outputs, `output_shape`; None: all there are.
    """

    extra: tuple[int, ...]
    shape: tuple[int, ...] | None = None

    @property
    def patch(self) -> int:
        """Outputs of a row."""
        return prod(self.strides)

    @property
    def depth(self) -> int:
        """Inputs of a row, of one channel."""
        return prod(self.reach)

    @property
    def size(self) -> tuple[int, ...]:
        """Outputs of a patch."""
        return self.strides

    @property
    def reach(self) -> tuple[int, ...]:
        """Inputs of a patch."""
        return tuple(
            (one - 1) // stride + 1 for one, stride in zip(self.spread, self.strides, strict=True)
        )

    def around(self, space: Sequence[int]) -> list[tuple[int, int]]:
        """Return the padding before and after each axis."""
        same = self.auto_pad.startswith("SAME")
        if self.shape is None and not same:
            return super().around(space)
        pads = []
        for at, whole in enumerate(self._whole(space)):
            wanted = self.shape[at] if self.shape else space[at] * self.strides[at]
            pad = max(whole - wanted, 0)
            less, more = pad // 2, pad - pad // 2
            pads.append((less, more) if self.auto_pad == "SAME_UPPER" else (more, less))
        return pads

    def _whole(self, space: Sequence[int]) -> list[int]:
        """Return the outputs along each axis, with padding."""
        return [
            (count - 1) * stride + one + extra
            for count, stride, one, extra in zip(
                space, self.strides, self.spread, self.extra, strict=True
            )
        ]

    def outputs(self, space: Sequence[int]) -> tuple[int, ...]:
        """Return the outputs along each axis."""
        pads = self.around(space)
        return tuple(
            whole - before - after
            for whole, (before, after) in zip(self._whole(space), pads, strict=True)
        )

    def uses(self, space: Sequence[int]) -> int:
        """Count the products of an input and a tap that are part of an output."""
        uses = 1
        outputs = self.outputs(space)
        for at, count in enumerate(space):
            inputs, taps = np.arange(count) * self.strides[at], np.arange(self.kernel[at])
            places = np.add.outer(inputs, taps * self.dilations[at]) - self.around(space)[at][0]
            uses *= int(((places >= 0) & (places < outputs[at])).sum())
        return uses

    def _patches(self, space: Sequence[int]) -> list[tuple[int, int]]:
        """Return the first and the last patch along each axis."""
        patches = []
        for at, count in enumerate(space):
            before, stride = self.around(space)[at][0], self.strides[at]
            first = min(before // stride, self.reach[at] - 1)
            last = (before + self.outputs(space)[at] - 1) // stride
            patches.append((first, max(last, count - 1)))
        return patches

    def tiles(self, space: Sequence[int]) -> Tiles:
        """Return where the outputs lie."""
        places = [
            before - first * stride
            for (before, _), (first, _), stride in zip(
                self.around(space), self._patches(space), self.strides, strict=True
            )
        ]
        return Tiles(self.size, tuple(places), self.outputs(space))

    def cut(self, x: np.ndarray, fill: float) -> np.ndarray:
        """Cut batch x channels x space into batch x patches of space x channels x inputs."""
        space = x.shape[2:]
        if min(self.outputs(space)) < 1:
            raise ValueError(f"outputs must be 1 or more, not {self.outputs(space)}")
        patches = self._patches(space)
        ones = (1,) * len(space)
        before = (reach - 1 - first for reach, (first, _) in zip(self.reach, patches, strict=True))
        after = (last + 1 - count for count, (_, last) in zip(space, patches, strict=True))
        windows = Windows(kernel=self.reach, strides=ones, dilations=ones, pads=(*before, *after))
        return windows.cut(x, fill)

    def arranged(self, kernel: np.ndarray, groups: int) -> np.ndarray:
        """Make the weights of patches, groups x K x N, of inputs x outputs x space."""
        inputs, outputs, *space = kernel.shape
        grouped = kernel.reshape(groups, inputs // groups, outputs, *space)
        made = np.zeros((groups, inputs // groups, *self.reach, *self.size, outputs), kernel.dtype)
        for tap in product(*map(range, space)):
            # Of the inputs that end with the patch's own, and of its outputs.
            steps = [t * step for t, step in zip(tap, self.dilations, strict=True)]
            places = [step % stride for step, stride in zip(steps, self.strides, strict=True)]
            backs = [
                reach - 1 - step // stride
                for reach, step, stride in zip(self.reach, steps, self.strides, strict=True)
            ]
            at: Any = (slice(None), slice(None), *backs, *places)
            part: Any = (..., *tap)
            made[at] += grouped[part]
        return made.reshape(groups, -1, prod(self.size) * outputs)
