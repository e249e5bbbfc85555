"""How much the host computes between products."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.kernels import attributes

__all__ = ["operations", "share"]

_SHAPES = frozenset((
    "Cast", "Constant", "ConstantOfShape", "Flatten", "Identity", "Reshape", "Shape", "Size",
    "Squeeze", "Unsqueeze",
))  # fmt: skip
"""Operators that compute nothing: other shapes and types of what is there."""
_MOVES = frozenset((
    "Compress", "Concat", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Pad",
    "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose", "Where",
))  # fmt: skip
"""Those that move numbers."""
_POOLS = ("AveragePool", "LpPool", "MaxPool")
_LAYERS = ("GRU", "LSTM", "RNN")

Given = Sequence[Any]


def operations(node: NodeProto, given: Given, made: Given) -> int:
    """Count the operations of a node of the host.

    Each number that it reads or makes, whichever are more, is one; a pool's are those in its
    windows; a product's in floats two for each multiplication. What only moves numbers, or gives
    them another shape or type, has none.

    Parameters
    ----------
    node : of the model.
    given, made : its inputs and outputs.
    """
    name = node.op_type
    if name in _SHAPES or name in _MOVES:
        return 0
    given, made = ([np.asarray(one) for one in part if one is not None] for part in (given, made))
    if name in _POOLS:
        (sizes,) = (a.ints for a in node.attribute if a.name == "kernel_shape")
        return int(made[0].size * prod(sizes))
    products = _PRODUCTS.get(name)
    if products is not None:
        return int(2 * products(given, made, node))
    return max(sum(one.size for one in part) for part in (given, made))


def share(host: Mapping[str, int], macs: int) -> float:
    """Return the host's part of all operations; a product of the block is two."""
    total = sum(host.values())
    return total / (total + 2 * macs)


def _attention(given: list[np.ndarray], made: list[np.ndarray], node: NodeProto) -> int:
    """Count both products: every query and every number of the result, times the keys."""
    past = 3 if node.op_type == "GroupQueryAttention" else 6 if node.domain else 4
    names = [name for name in node.input if name]
    tensors = dict(zip(names, given, strict=True))
    if len(node.input) < 2 or not node.input[1]:  # packed
        return max(sum(one.size for one in part) for part in (given, made))
    key = tensors[node.input[1]]
    keys = key.shape[2 if key.ndim == 4 else 1]
    if len(node.input) > past and node.input[past]:
        keys += tensors[node.input[past]].shape[2]
    return int((tensors[node.input[0]].size + made[0].size) * keys)


def _matmul(given: list[np.ndarray], made: list[np.ndarray], node: NodeProto) -> int:
    return int(made[0].size * given[0].shape[-1])


_PRODUCTS: dict[str, Callable[[list[np.ndarray], list[np.ndarray], NodeProto], int]] = {
    "Attention": _attention,
    "MultiHeadAttention": _attention,
    "GroupQueryAttention": _attention,
    "MatMul": _matmul,
    "Gemm": lambda given, made, node: (
        made[0].size * given[0].shape[0 if attributes(node).get("transA") else 1]
    ),
    "Conv": lambda given, made, node: made[0].size * prod(given[1].shape[1:]),
    "ConvTranspose": lambda given, made, node: given[0].size * prod(given[1].shape[1:]),
    "MatMulNBits": _matmul,
    "MatMulBnb4": _matmul,
    **dict.fromkeys(
        _LAYERS,
        lambda given, made, node: (
            prod(given[0].shape[:2]) * (given[1].size + given[2].size)  # steps, batch
        ),
    ),
}
