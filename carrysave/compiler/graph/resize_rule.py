"""How a processor resizes maps of floats, linearly between their numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.arithmetic import Numbers
from carrysave.compiler.graph.kernels import Unsupported, attributes

__all__ = ["resize", "takes_nearest"]

_COORDINATES = 11
"""Version since which coordinates are an attribute."""
_ASYMMETRIC = "asymmetric"


def takes_nearest(node: NodeProto) -> bool:
    """Return whether a node resizes a map by taking the nearest numbers: these are moved."""
    mode = _text(attributes(node), "mode", "nearest")
    return node.op_type in ("Resize", "Upsample") and mode == "nearest"


def resize(
    m: Numbers, x: Sequence[Any], known: Sequence[np.ndarray | None], values: Mapping[str, Any]
) -> Any:
    """Return a map with other sizes: axis by axis two numbers, each times its share."""
    rules = ("mode", "nearest", "linear"), ("keep_aspect_ratio_policy", "stretch", "stretch")
    for name, default, legal in rules:
        given = _text(values, name, default)
        if given != legal:
            raise Unsupported(f"{name} must be {legal}, not {given}")
    for name in ("antialias", "exclude_outside"):
        if values.get(name):
            raise Unsupported(f"{name} must be 0, not {values[name]}")
    before = m.machine.shape(x[0])
    after, scales = _sizes(before, known, values)
    result = x[0]
    for axis, (size, to, scale) in enumerate(zip(before, after, scales, strict=True)):
        if size == to and scale == 1:
            continue
        first, share = _places(size, to, scale, values)
        second = np.minimum(first + 1, size - 1)
        shape = [1] * len(before)
        shape[axis] = to
        near, far = (
            m.multiply(
                m.machine.moved(result, lambda one, at=at, axis=axis: one.take(at, axis)),
                m.machine.constant(part.reshape(shape)),
            )
            for at, part in ((first, np.float32(1) - share), (second, share))
        )
        result = m.add(near, far)
    return result


def _sizes(
    before: Sequence[int], known: Sequence[np.ndarray | None], values: Mapping[str, Any]
) -> tuple[list[int], list[np.float32]]:
    """Return the sizes of the result, and by which numbers those of the map become these."""
    place = 2 if values["version"] >= _COORDINATES else 1
    given = [*known, None, None, None]
    axes = [axis % len(before) for axis in values.get("axes", range(len(before)))]
    scales, sizes = given[place], given[3]
    after, by = list(before), [np.float32(1)] * len(before)
    if scales is not None and scales.size:
        if not np.isfinite(scales).all():
            raise Unsupported(f"scales must be finite, not {scales.tolist()}")
        for axis, scale in zip(axes, scales.reshape(-1).astype(np.float32), strict=True):
            after[axis], by[axis] = int(before[axis] * scale), scale
    elif sizes is not None and sizes.size:
        for axis, size in zip(axes, sizes.reshape(-1).tolist(), strict=True):
            after[axis], by[axis] = size, np.float32(size) / np.float32(before[axis])
    else:
        raise Unsupported("scales or sizes must be constants")
    if min(after, default=1) < 1:
        raise Unsupported(f"sizes must be 1 or more, not {' x '.join(map(str, after))}")
    return after, by


def _places(
    size: int, to: int, scale: np.float32, values: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of the two places of each result, and the share of the second."""
    by = "coordinate_transformation_mode"
    old = values["version"] < _COORDINATES
    how = _ASYMMETRIC if old else _text(values, by, "half_pixel")
    place = np.arange(to, dtype=np.float32)
    half = np.float32(0.5)
    if how == _ASYMMETRIC:
        place = place / scale
    elif how == "half_pixel" or (how == "pytorch_half_pixel" and to > 1):
        place = (place + half) / scale - half
    elif how == "pytorch_half_pixel":
        place = np.zeros(1, np.float32)
    elif how == "align_corners":
        place = place * np.float32(size - 1) / np.float32(max(to - 1, 1))
    else:
        raise Unsupported(
            f"{by} must be half_pixel, pytorch_half_pixel, align_corners or "
            f"{_ASYMMETRIC}, not {how}"
        )
    place = np.clip(place, 0, np.float32(size - 1))
    first = place.astype(np.int64)
    return first, (place - first).astype(np.float32)


def _text(values: Mapping[str, Any], name: str, default: str) -> str:
    given = values.get(name, default)
    return given.decode() if isinstance(given, bytes) else str(given)
