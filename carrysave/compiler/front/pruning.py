"""Weights of a network pruned to N of each M along K, by magnitude."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, numpy_helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.graph.tensors import without_constants
from golden.formats.bitmap import pack_bitmap
from golden.formats.sparse import SparseFormat

__all__ = ["Pruned", "prune"]

_WEIGHTS = {
    "MatMul": (1, None),
    "Gemm": (1, None),
    "Conv": (1, None),
    "MatMulInteger": (1, 3),
    "ConvInteger": (1, 3),
    "QLinearMatMul": (3, 5),
    "QLinearConv": (3, 5),
    "QGemm": (3, 5),
}
"""Inputs of operators that are the weights, and their zero point."""


@dataclass(frozen=True)
class Pruned:
    """A constant that was pruned.

    Members
    -------
    tensor : its name.
    k, n : rows of the matrix, as the product sums it, and columns.
    zeros, zeros_before : weights that are 0.
    image : what is left without zeros, column after column, each of whole chunks: see
        :func:`golden.formats.bitmap.pack_bitmap`. None of weights that are not of 8 bits, signed
        with their zero point.
    """

    tensor: str
    k: int
    n: int
    zeros: int
    zeros_before: int
    image: bytes | None


def prune(graph: Graph, sparse: SparseFormat) -> tuple[Graph, list[Pruned]]:
    """Return a model in which constant weights are pruned, and which they are.

    Of each group along K, as a product sums it (of a convolution inputs, then space), the weights
    nearest to their zero point become it. ConvTranspose, recurrent layers and weights in blocks of
    a few bits stay as they are.

    Parameters
    ----------
    graph : the model.
    sparse : how many of each group stay.
    """
    changed: dict[str, np.ndarray] = {}
    rows: list[Pruned] = []
    for node, name, zero in _weights(graph):
        if name not in changed:
            changed[name], row = _pruned(name, node, graph.constants[name], zero, sparse)
            rows.append(row)
    proto = without_constants(graph.proto)
    for one in graph.proto.graph.initializer:
        values = changed.get(one.name)
        proto.graph.initializer.append(
            one if values is None else numpy_helper.from_array(values, one.name)
        )
    return Graph(proto), rows


def _weights(graph: Graph) -> Iterator[tuple[NodeProto, str, np.ndarray]]:
    """Yield nodes with constant weights of two axes or more, these, and their zero points."""
    stored = {one.name for one in graph.proto.graph.initializer}
    for node in graph.nodes:
        at, zero_at = _WEIGHTS.get(node.op_type, (len(node.input), None))
        if at >= len(node.input):
            continue
        name, zero = (
            node.input[at],
            node.input[zero_at] if zero_at in range(len(node.input)) else "",
        )
        maker = graph.makers.get(name)
        if maker is not None and maker.op_type == "DequantizeLinear":
            name, zero = maker.input[0], maker.input[2] if len(maker.input) > 2 else ""
        known = graph.constants.get(zero, None if zero else np.zeros((), np.int64))
        if name not in stored or known is None:
            continue
        axes = graph.constants[name].ndim
        if axes == 2 or (axes > 2 and "Conv" in node.op_type):
            yield node, name, known


def _pruned(
    name: str, node: NodeProto, values: np.ndarray, zero: np.ndarray, sparse: SparseFormat
) -> tuple[np.ndarray, Pruned]:
    """Prune the weights of a node."""
    turned = "Conv" in node.op_type or bool(attributes(node).get("transB"))
    matrix = values.reshape(len(values), -1).T if turned else values
    wide = np.float64 if matrix.dtype.kind == "f" else np.int64
    # A zero point for each column, or one of all.
    apart = matrix.astype(wide) - zero.astype(wide).reshape(-1)
    left = sparse.prune(apart)
    codes = (left + zero.astype(wide).reshape(-1)).astype(values.dtype)
    image = None
    if values.dtype.itemsize == 1 and np.array_equal(left, left.astype(np.int8)):
        image = b"".join(pack_bitmap(column.astype(np.int8)) for column in left.T)
    row = Pruned(
        tensor=name,
        k=matrix.shape[0],
        n=matrix.shape[1],
        zeros=int((left == 0).sum()),
        zeros_before=int((apart == 0).sum()),
        image=image,
    )
    return (codes.T if turned else codes).reshape(values.shape), row
