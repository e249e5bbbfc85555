"""Codes that are moved between products: looked up in tables, and the greatest of windows."""

from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.loops import like
from carrysave.compiler.program.max_pool import max_pool
from carrysave.driver.system import Tensor

__all__ = ["codes_of_bytes", "greatest", "looked_up"]


def looked_up(
    image: Image,
    node: tuple[str, str],
    tensors: list[Tensor],
    shape: tuple[int, ...],
    values: np.ndarray,
    kind: "np.dtype[Any]",
) -> Tensor:
    """Have codes looked up, in the order in which those of one tensor lie.

    Parameters
    ----------
    image : of the program.
    node : name and operator.
    tensors : one, or two that are broadcast.
    shape, kind : of the result.
    values : by the bytes that tensors have in memory.
    """
    offset = code_offset("A", kind, image.target.mode.a)
    table = (values - offset).astype(np.int8).tobytes()
    spread = [np.broadcast_to(one.sources, shape).ravel() for one in tensors]
    base = np.broadcast_to(max(tensors, key=lambda one: one.sources.size).sources, shape).ravel()
    places = like(base)
    if places is None:
        places = _ranks(np.argsort(base, kind="stable"))
    full = np.stack([_filled(one, places, image.end) for one in spread], axis=1)
    to = image.move(*node, full, table)
    return Tensor((to + places).reshape(shape), kind, offset)


def greatest(image: Image, node: NodeProto, x: Tensor) -> Tensor:
    """Have the greatest of windows taken: scales are positive, so codes go as what they mean."""
    windows = _windows(node, x.sources.shape[2:])
    name = node.name or node.output[0]
    if (made := max_pool(image, (name, node.op_type), x, windows)) is not None:
        return made
    axes = x.sources.ndim - 2
    least = int(image.constant(np.array(image.target.info.codes.low)))
    seen = np.moveaxis(windows.cut(x.sources, least), 1 + axes, 1)
    taps = seen.reshape(-1, int(np.prod(windows.kernel)))
    order = np.argsort(taps.max(axis=1), kind="stable")
    at = image.move(name, node.op_type, taps[order], row=x.sources.shape[1])
    return Tensor((at + _ranks(order)).reshape(seen.shape[: 2 + axes]), x.kind, x.offset, x.scale)


def codes_of_bytes(tensor: Tensor, low: int, size: int) -> np.ndarray:
    """Return the place in a table of each byte that may be in memory."""
    bytes_ = np.arange(256).astype(np.uint8).view(np.int8).astype(np.int64)
    return np.clip(bytes_ + tensor.offset - low, 0, size - 1)


def _filled(sources: np.ndarray, places: np.ndarray, end: int) -> np.ndarray:
    """Put sources where they go; in gaps each goes on from the one before."""
    filled = np.zeros(int(places.max()) + 1, np.int64)
    taken = np.zeros(filled.size, bool)
    filled[places], taken[places] = sources, True
    numbers = np.arange(filled.size)
    before = np.maximum.accumulate(np.where(taken, numbers, 0))
    on = np.minimum(filled[before] + numbers - before, end - 1)
    return np.where(filled[before] < 0, filled[before], on)


def _windows(node: NodeProto, space: tuple[int, ...]) -> Windows:
    """Return the windows of a pool."""
    values = {one.name: one for one in node.attribute}
    axes = len(space)

    def numbers(name: str, otherwise: list[int]) -> tuple[int, ...]:
        return tuple(values[name].ints) if name in values else tuple(otherwise)

    automatic = values["auto_pad"].s.decode() if "auto_pad" in values else "NOTSET"
    pads = None if automatic.startswith("SAME") else numbers("pads", [0] * 2 * axes)
    windows = Windows(
        kernel=numbers("kernel_shape", list(space)),
        strides=numbers("strides", [1] * axes),
        dilations=numbers("dilations", [1] * axes),
        pads=pads,
        auto_pad=automatic,
    )
    if "ceil_mode" in values and values["ceil_mode"].i:
        return windows.reaching(space)
    return windows


def _ranks(order: np.ndarray) -> np.ndarray:
    """Return the place of each in an order."""
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return places
