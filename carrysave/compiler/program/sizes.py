"""Sizes and types of a network's tensors, for one batch of inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.heads import AttentionLayer, Heads
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.recurrent import Recurrent
from carrysave.compiler.program.recurrent import taken_by
from carrysave.compiler.target.target import Target

__all__ = ["needed", "sizes_of"]


def sizes_of(
    lowered: Lowered, target: Target, inputs: dict[str, np.ndarray]
) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Return shape and type of what products take, of all floats, and of inputs, by name."""
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {}

    # Products of recurrent layers have matrices of codes, which are no tensors of the model.
    inner = {one.name for layer in lowered.recurrent.values() for one in layer.products}

    heads = {
        layer.heads.name: layer
        for layer in lowered.recurrent.values()
        if isinstance(layer, AttentionLayer)
    }
    dynamic = {
        node.output[0]: node.input[0]
        for node in lowered.proto.graph.node
        if node.op_type == "DynamicQuantizeLinear"
    }

    def sized(product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        if isinstance(product, Heads) and b is not None:
            shapes.update(heads[product.name].taken(a, b))
            return np.zeros((*a.shape[:3], product.sizes(a, b).value_width), np.int64)
        if product.name not in inner:
            shapes[product.a] = a.shape, a.dtype
        compiled = product.compile(target, a, b, True)
        zeros: list[np.ndarray] = []
        for work in compiled.works:
            rows = zeros[-1] if work.a is None else work.a
            zeros.append(np.zeros((len(rows), work.b.shape[1]), np.int64))
        return compiled.finish(zeros)

    def seen(name: str, values: np.ndarray) -> np.ndarray:
        if name and values.dtype == np.float32:
            shapes[name] = values.shape, values.dtype
        if name in dynamic:
            shapes[dynamic[name]] = values.shape, np.dtype(np.float32)
        return values

    evaluate(lowered, inputs, sized, seen)
    shapes |= {name: (array.shape, array.dtype) for name, array in inputs.items()}
    return shapes


def needed(
    node: NodeProto, content: object, shapes: dict[str, tuple[tuple[int, ...], Any]]
) -> Sequence[str]:
    """Return what has to be in memory for a node, so that the host brings it if it is not.

    Parameters
    ----------
    node, content : of the network, and what it stands for.
    shapes : those of :func:`sizes_of`; get that of what a recurrent layer takes.
    """
    if isinstance(content, AttentionLayer):
        return node.input
    if isinstance(content, Recurrent):
        y = shapes.get(node.output[0])
        if y is not None:
            shapes.setdefault(node.input[0], (taken_by(content, y[0]), np.dtype(np.float32)))
        return node.input[:1]
    return node.input[:1] if node.op_type == "DynamicQuantizeLinear" else ()
