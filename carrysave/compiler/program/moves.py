"""Codes that are moved between products: looked up in tables, and the greatest of windows."""

from dataclasses import replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.host_runtime import on_host
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import Unsupported, attributes, windows_of
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.arithmetic import Emitter
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.look_ups import codes_of_bytes, composed
from carrysave.compiler.program.loops import like
from carrysave.compiler.program.map_jobs import map_job
from carrysave.compiler.program.max_pool import max_pool
from carrysave.compiler.program.operands import Node
from carrysave.driver.system import Tensor

__all__ = ["greatest", "looked_up", "padded", "resized"]

_FAR = 1 << 40
"""Added to addresses, and to codes in their place."""


def looked_up(
    image: Image, node: Node, table: CodeTable, tensors: list[Tensor], after: CodeTable | None
) -> Tensor:
    """Have codes looked up: by jobs, or by moves in the order in which those of one tensor lie.

    Parameters
    ----------
    tensors : one, or two that are broadcast.
    after : in which the results are looked up; None: they are as they are.
    """
    made = map_job(image, node, table, tensors, after)
    if isinstance(made, Tensor):
        return made
    table = table if after is None else composed(table, after)
    kind, sizes = table.values.dtype, zip(tensors, table.lows, table.values.shape, strict=True)
    index = np.ix_(*(codes_of_bytes(one.offset, low, size) for one, low, size in sizes))
    offset = code_offset("A", kind, image.target.mode.a)
    entries = (table.values.astype(np.int64)[index] - offset).astype(np.int8).tobytes()
    shape = np.broadcast_shapes(*(one.sources.shape for one in tensors), (1,) * table.axes)
    spread = [np.broadcast_to(one.sources, shape).ravel() for one in tensors]
    base = np.broadcast_to(max(tensors, key=lambda one: one.sources.size).sources, shape).ravel()
    places = like(base)
    if places is None:
        places = _ranks(np.argsort(base, kind="stable"))
    full = np.stack([_filled(one, places, image.end) for one in spread], axis=1)
    to = image.move(*node, full, entries, reason=made)
    return Tensor((to + places).reshape(shape), kind, offset)


def greatest(image: Image, node: NodeProto, x: Tensor) -> Tensor:
    """Have the greatest of windows taken: scales are positive, so codes go as what they mean."""
    values, space = attributes(node), x.sources.shape[2:]
    windows = Windows(**windows_of(values, list(values.get("kernel_shape", space))))
    windows = windows.reaching(space) if values.get("ceil_mode") else windows
    name = node.name or node.output[0]
    made = max_pool(image, (name, node.op_type), x, windows)
    if isinstance(made, Tensor):
        return made
    axes = x.sources.ndim - 2
    least = int(image.constant(np.array(image.target.info.codes.low)))
    seen = np.moveaxis(windows.cut(x.sources, least), 1 + axes, 1)
    taps = seen.reshape(-1, int(np.prod(windows.kernel)))
    order = np.argsort(taps.max(axis=1), kind="stable")
    at = image.move(name, node.op_type, taps[order], row=x.sources.shape[1], reason=made)
    return Tensor((at + _ranks(order)).reshape(seen.shape[: 2 + axes]), x.kind, x.offset, x.scale)


def _filled(sources: np.ndarray, places: np.ndarray, end: int) -> np.ndarray:
    """Put sources where they go; in gaps each goes on from the one before."""
    filled = np.zeros(int(places.max()) + 1, np.int64)
    taken = np.zeros(filled.size, bool)
    filled[places], taken[places] = sources, True
    numbers = np.arange(filled.size)
    before = np.maximum.accumulate(np.where(taken, numbers, 0))
    on = np.minimum(filled[before] + numbers - before, end - 1)
    return np.where(filled[before] < 0, filled[before], on)


def _ranks(order: np.ndarray) -> np.ndarray:
    """Return the place of each in an order."""
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return places


def resized(node: Any, sources: np.ndarray, given: list[Any], opset: int) -> np.ndarray:
    """Take the nearest addresses: the host's own operator does it with numbers of places."""
    if sources.size >= 1 << np.finfo(np.float32).nmant:
        raise Unsupported(f"it must have fewer than {1 << 23:,} numbers, not {sources.size:,}")
    places = np.arange(sources.size, dtype=np.float32).reshape(sources.shape)
    (made,) = on_host(node, [places, *given], {"": opset})
    return sources.reshape(-1)[made.astype(np.int64)]


def padded(image: Image, node: Any, x: Tensor, given: list[Any]) -> list[Tensor] | None:
    """Move addresses, and codes or floats of the number that is beyond the edges."""
    pads, value, *axes = [*given, None, None][: max(2, len(given))]
    fill = 0.0 if value is None else float(value.reshape(()))
    if x.kind == np.float32:
        proto = node.onnx_node
        emitter = Emitter(image, proto.name or proto.output[0], proto.op_type)
        beyond = int(emitter.constant(np.float32(fill)).sources)
    else:
        step, zero = x.scale or (1.0, 0)
        code = fill / np.float32(step) + zero
        low, high = limits(x.kind) or (0, -1)
        if code != round(code) or not low <= code <= high:
            return None
        beyond = int(image.constant(np.array(round(code) - x.offset)))
    # Addresses are not below 0, but codes are.
    moved = node.run(x.sources + _FAR, pads, np.int64(beyond + _FAR), *axes)
    return [replace(x, sources=one - _FAR) for one in moved]
