"""Products of codes, as matrices: what nodes of all kinds are made into."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.broadcast import BROADCAST
from carrysave.compiler.graph.code_types import limits, narrowest
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import TRANSPOSED, Unsupported, arranged, attributes
from carrysave.compiler.graph.names import key, quoted
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.lowered.rights import columns_of
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor

__all__ = ["Match", "places", "product_of_codes", "with_codes"]


@dataclass(frozen=True, kw_only=True)
class Match:
    """A product, and the nodes it replaces.

    Members
    -------
    product : the product.
    node : its main node.
    behind : following nodes that are part of it.
    after : nodes that compute the model's tensor from the product's.
    constants : their constant inputs: array and name.
    """

    product: Operands
    node: NodeProto
    behind: list[NodeProto] = field(default_factory=list)
    after: list[NodeProto] = field(default_factory=list)
    constants: list[tuple[np.ndarray, str]] = field(default_factory=list)


def product_of_codes(
    graph: Graph, node: NodeProto, a: QuantisedTensor, b: QuantisedTensor, bias: np.ndarray | None
) -> QuantisedProduct:
    """Make the quantised product of a node, with y as sums."""
    if not (a.name and b.name and node.output[0]):
        raise Unsupported("A, B and the output must be there")
    codes = None
    if b.values is not None:
        zero = b.zero.astype(np.int64)
        _check_columns(node, b)
        if zero.size > 1 and node.op_type == TRANSPOSED:
            zero = zero.reshape(1, -1, *[1] * (b.values.ndim - 2))
        elif zero.size > 1 and "Conv" in node.op_type:
            zero = zero.reshape(-1, *[1] * (b.values.ndim - 1))
        elif zero.size > 1 and attributes(node).get("transB"):
            zero = zero.reshape(-1, 1)
        codes = b.values
        if codes.dtype != np.int8 or zero.any():
            # Codes of 8 bits less their zero point have 9, and a model has many.
            short = codes.dtype.itemsize == 1 and np.abs(zero).max() < 256
            codes = codes.astype(np.int16 if short else np.int64)
            codes -= zero.astype(codes.dtype)
            codes = narrowest(codes)
    outer: tuple[int, ...] = ()
    weights: np.ndarray | None
    if codes is not None and codes.ndim > 2 and node.op_type in BROADCAST:
        if b.late:
            raise Unsupported("B of several matrices must have a known zero point")
        outer = codes.shape[:-2]
        weights, windows = codes.reshape(-1, *codes.shape[-2:]), None
    else:
        weights, windows = arranged(node, codes)
        if weights is not None and not b.late:
            weights = _in_blocks(weights, windows)
    if bias is not None and weights is not None:
        columns = columns_of(weights, outer)
        columns //= windows.patch if windows else 1
        if bias.size not in (1, columns) or bias.dtype.kind not in "iu":
            raise Unsupported(f"bias must be {columns} integers, not {bias.size} {bias.dtype}")
        bias = np.broadcast_to(bias, columns)
    return QuantisedProduct(
        **places(node, a.name, b.name, weights, windows),
        a_zero=a.number,
        a_type=a.zero.dtype,
        b_zero=0 if weights is not None else _zeros(b),
        b_type=None if weights is not None else b.zero.dtype,
        a_late=a.late,
        b_late=b.late,
        bias=bias,
        outer=outer,
    )


def _zeros(b: QuantisedTensor) -> int | np.ndarray:
    """Return the zero points of a B that is computed: one, or one for each column."""
    if b.zero.size == 1:
        return b.number
    if b.scale is not None:
        raise Unsupported("B that is computed must have one zero point")
    return b.zero.astype(np.int64)


def _check_columns(node: NodeProto, b: QuantisedTensor) -> None:
    """Refuse scales and zero points that are neither one nor one for each column of weights."""
    assert b.values is not None
    axis = -1
    if "Conv" in node.op_type or attributes(node).get("transB"):
        axis = 1 if node.op_type == TRANSPOSED else 0
    columns = b.values.shape[axis] if b.values.ndim > max(axis, 0) else 0
    for what, values in (("scales", b.scale), ("zero points", b.zero)):
        if values is not None and values.size not in (1, columns):
            raise Unsupported(f"{what} of B must be 1 or {columns}, not {values.size}")


def places(
    node: NodeProto, a: str, b: str, weights: np.ndarray | None, windows: Windows | None
) -> dict[str, Any]:
    """Collect the fields of :class:`Operands`."""
    return {
        "name": key(node),
        "operator": node.op_type,
        "a": a,
        "b": "" if weights is not None else b,
        "y": node.output[0],
        "weights": weights,
        "windows": windows,
        "transposed": bool(attributes(node).get("transA")),
    }


def with_codes(
    product: QuantisedProduct, steps: np.ndarray, y: QuantisedTensor
) -> QuantisedProduct:
    """Make a product output codes; `steps` are the scales of sums."""
    ends = limits(y.zero.dtype)
    if ends is None:
        raise Unsupported(f"codes of {quoted(y.name)} must be integers, not {y.zero.dtype}")
    number = y.number
    with np.errstate(over="ignore"):
        scale = steps / y.step[0]  # in float32, as onnxruntime does
    if not np.isfinite(scale).all():
        raise Unsupported("the scale of sums must be finite")
    return replace(
        product, scale=scale, y_zero=number, y_codes=y.zero.dtype, low=ends[0], high=ends[1]
    )


def _in_blocks(weights: np.ndarray, windows: Windows | None) -> np.ndarray:
    """Return weights as groups x K x N, as many groups as there are blocks; or as they are.

    Parameters
    ----------
    weights : K x N, or one group of a convolution.
    windows : of the convolution: codes of a channel, which follow each other along K, are of one
        block.
    """
    whole = weights if weights.ndim == 2 else weights[0]
    if weights.ndim == 3 and (windows is None or type(windows) is not Windows or len(weights) > 1):
        return weights
    rows, columns = whole.shape
    channels = rows // (1 if windows is None else windows.depth)
    count = np.gcd(channels, columns)
    if count == 1 or whole[0, -1] or whole[-1, 0]:
        return weights
    known = whole != 0
    some = np.flatnonzero(known.any(axis=1))
    first = known[some].argmax(axis=1)
    last = columns - 1 - known[some][:, ::-1].argmax(axis=1)
    for groups in range(count, 1, -1):
        if count % groups:
            continue
        deep, wide = rows // groups, columns // groups
        block = some // deep
        if (first // wide == block).all() and (last // wide == block).all():
            places = np.arange(groups)
            return whole.reshape(groups, deep, groups, wide)[places, :, places]
    return weights
