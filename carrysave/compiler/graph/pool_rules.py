"""How a processor does pools of floats."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import Unsupported, windows_of

__all__ = ["max_pool", "mean_pool"]


def max_pool(
    m: Numbers, x: Sequence[Any], known: Sequence[np.ndarray | None], values: Mapping[str, Any]
) -> Any:
    """Return the greatest number of each window."""
    space = m.machine.shape(x[0])[2:]
    axes = len(space)
    seen = _cut(m, x[0], _windows(values, space), -np.inf)
    result = m.machine.reduced("greatest", seen, list(range(2 + axes, 2 + 2 * axes)))
    return m.machine.moved(result, lambda one: one.reshape(one.shape[: 2 + axes]))


def mean_pool(
    m: Numbers, x: Sequence[Any], known: Sequence[np.ndarray | None], values: Mapping[str, Any]
) -> Any:
    """Return means of windows.

    Taps are added one by one, along an axis after the other, the first one first, as onnxruntime
    does where windows are not more than two apart: means of a few codes are often halves of a step,
    and which code these become depends on how sums are rounded.
    """
    space = m.machine.shape(x[0])[2:]
    windows = _windows(values, space)
    if values.get("count_include_pad") and values.get("ceil_mode"):
        raise Unsupported("count_include_pad and ceil_mode must not both be set")
    sums = x[0]
    for axis in range(len(space)):
        sums = _sums(m, sums, windows, axis)
    if values.get("count_include_pad"):
        return m.divide(sums, float(np.prod(windows.kernel)))
    axes = len(space)
    counts = windows.cut(np.ones((1, 1, *space), np.float32), 0)
    counts = counts.sum(axis=tuple(range(-axes, 0))).reshape(1, 1, *counts.shape[1 : 1 + axes])
    return m.divide(sums, m.machine.constant(counts))


def _windows(values: Mapping[str, Any], space: Sequence[int]) -> Windows:
    """Return windows whose padding is known."""
    windows = Windows(**windows_of(dict(values), list(values["kernel_shape"])))
    if values.get("ceil_mode"):
        return windows.reaching(space)
    before, after = zip(*windows.around(space), strict=True)
    return replace(windows, pads=(*before, *after), auto_pad="NOTSET")


def _sums(m: Numbers, x: Any, windows: Windows, axis: int) -> Any:
    """Add the taps of windows along an axis."""
    axes = len(windows.kernel)
    assert windows.pads is not None

    def alone(numbers: Sequence[int], other: int) -> tuple[int, ...]:
        return tuple(one if place % axes == axis else other for place, one in enumerate(numbers))

    line = replace(
        windows, kernel=alone(windows.kernel, 1), strides=alone(windows.strides, 1),
        dilations=alone(windows.dilations, 1), pads=alone(windows.pads, 0),
    )  # fmt: skip
    seen = _cut(m, x, line, 0.0)

    def tap(number: int) -> Any:
        place = alone([number] * axes, 0)
        return m.machine.moved(seen, lambda one: one[(..., *place)])

    return reduce(m.add, map(tap, range(windows.kernel[axis])))


def _cut(m: Numbers, x: Any, windows: Windows, fill: float) -> Any:
    """Return windows: batch x channels x space x kernel."""
    axes = len(windows.kernel)
    turned = [0, 1 + axes, *range(1, 1 + axes), *range(2 + axes, 2 + 2 * axes)]
    return m.machine.moved(m.machine.cut(x, windows, fill), lambda one: one.transpose(turned))
