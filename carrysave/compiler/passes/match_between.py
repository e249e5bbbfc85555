"""Float products of dequantised codes, up to the quantiser that is their only reader."""

from dataclasses import replace

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import TRANSPOSED, Unsupported, attributes
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.passes.product_of_codes import Match, places, product_of_codes, with_codes
from carrysave.compiler.passes.quantised_tensor import (
    QuantisedTensor,
    codes_of_one_scale,
    dequantised,
    product_of_scales,
    quantised_tensor,
)

__all__ = ["follow", "match_between", "match_gate", "match_mean"]


def match_between(graph: Graph, node: NodeProto) -> Match | None:
    """Find a float product of dequantised codes, and the quantiser that is its only reader.

    Relu and Clip become limits of codes, because quantisers are monotonic.
    """
    a, b = (dequantised(graph, name) for name in node.input[:2])
    if a is None or b is None:
        return None
    values = attributes(node)
    if values.get("beta", 1) != 1:
        raise Unsupported(f"beta must be 1, not {values['beta']}")
    if b.step.size > 1:
        rank = 2 if b.values is None else b.values.ndim
        columns = 0 if node.op_type == "Conv" or values.get("transB") else 1
        columns = rank - 1 if node.op_type == "MatMul" else columns
        if node.op_type == TRANSPOSED and values.get("group", 1) > 1:
            raise Unsupported("with groups, scales of B must be one")
        if b.axis is None or b.axis % rank != columns:
            raise Unsupported("scales of B must be one, or one for each column")
    steps = product_of_scales(a, b, values.get("alpha", 1))
    given = node.input[2] if len(node.input) > 2 else ""
    bias = _sums(graph, given, steps) if given else None
    product = product_of_codes(graph, node, a, b, bias)
    if given and bias is None:
        return _floats(graph, node, product, steps, given)
    y, low, high, behind = follow(graph, node.output[0])
    if y is None:
        return _floats(graph, node, product, steps, "")
    return Match(product=_limited(product, steps, y, low, high), node=node, behind=behind)


def _limited(
    product: QuantisedProduct, steps: np.ndarray, y: QuantisedTensor, low: float, high: float
) -> QuantisedProduct:
    """Make a product output codes within limits."""
    product = with_codes(replace(product, y=y.name), steps, y)
    with np.errstate(over="ignore"):
        codes = [np.rint(np.float32(limit) / y.step[0]) + y.number for limit in (low, high)]
    limits = [int(np.clip(code, product.low, product.high)) for code in codes]
    return replace(product, low=limits[0], high=limits[1])


def match_mean(graph: Graph, node: NodeProto) -> Match | None:
    """Find means of dequantised codes, and the quantiser that is their only reader."""
    a = codes_of_one_scale(graph, node.input[0])
    if a is None:
        return None
    y, low, high, behind = follow(graph, node.output[0])
    if y is None:
        return None
    product = MeanProduct(
        **places(node, a.name, "", None, None), a_zero=a.number, a_type=a.zero.dtype
    )
    return Match(product=_limited(product, a.step, y, low, high), node=node, behind=behind)


def match_gate(graph: Graph, node: NodeProto) -> Match | None:
    """Find channels times a number each, both dequantised codes, and their only quantiser."""
    a, b = (graph.shapes.get(name, []) for name in node.input)
    ends = [bool(shape) and all(size == 1 for size in shape[2:]) for shape in (a, b)]
    if len(a) != len(b) or len(a) < 3 or ends[0] == ends[1]:
        return None
    left, right = (codes_of_one_scale(graph, name) for name in node.input[:: -1 if ends[0] else 1])
    if left is None or right is None:
        return None
    y, low, high, behind = follow(graph, node.output[0])
    if y is None:
        return None
    product = GateProduct(
        **places(node, left.name, right.name, None, None),
        a_zero=left.number,
        a_type=left.zero.dtype,
        b_zero=right.number,
        b_type=right.zero.dtype,
    )
    steps = product_of_scales(left, right, 1)
    return Match(product=_limited(product, steps, y, low, high), node=node, behind=behind)


def _sums(graph: Graph, name: str, steps: np.ndarray) -> np.ndarray | None:
    """Return a bias as sums, if its codes have the product's scale."""
    codes = dequantised(graph, name)
    if codes is None or codes.values is None or codes.zero.any():
        return None
    if codes.step.size not in (1, steps.size) or any(size != 1 for size in codes.values.shape[:-1]):
        return None
    return codes.values.reshape(-1) if np.allclose(codes.step, steps, rtol=1e-5, atol=0) else None


def follow(graph: Graph, name: str) -> tuple[QuantisedTensor | None, float, float, list[NodeProto]]:
    """Follow a tensor to the quantiser that is its only reader; also return limits on the path."""
    low, high = -np.inf, np.inf
    passed: list[NodeProto] = []
    while name not in graph.outputs:
        readers = graph.readers.get(name, [])
        if len(readers) != 1:
            break
        (node,) = readers
        passed.append(node)
        if node.domain:
            break
        known = all(one in graph.constants for one in node.input[1:] if one)
        if node.op_type == "QuantizeLinear" and known and node.input[0] == name:
            y = quantised_tensor(graph, [node.output[0], *node.input[1:]])
            if y.step.size == 1:
                return y, low, high, passed
            break
        if node.op_type == "Relu":
            low, high = (max(end, 0.0) for end in (low, high))
        elif node.op_type == "Clip" and known and len(node.input) > 1:
            ends = [graph.constants[name] if name else None for name in [*node.input[1:], "", ""]]
            if any(end is not None and (end.size != 1 or np.isnan(end).any()) for end in ends):
                break
            least, most = (None if end is None else float(end.reshape(())) for end in ends[:2])
            # Where the least is more than the most, all is the most, as in ONNX.
            if least is not None:
                low, high = max(low, least), max(high, least)
            if most is not None:
                low, high = min(low, most), min(high, most)
        else:
            break
        name = node.output[0]
    return None, low, high, []


def _floats(
    graph: Graph, node: NodeProto, product: QuantisedProduct, steps: np.ndarray, bias: str
) -> Match:
    """Make a product output sums; the host converts them to floats and adds a float bias."""
    name = node.output[0]
    fresh = {
        end: graph.fresh(f"{name}/{end}") for end in ("sums", "float", "steps", "scaled", "bias")
    }
    spread = (-1, *[1] * len(product.windows.kernel)) if product.windows else (-1,)
    constants = [(steps.reshape(spread), fresh["steps"])]
    after = [
        helper.make_node("Cast", [fresh["sums"]], [fresh["float"]], to=1),
        helper.make_node(
            "Mul", [fresh["float"], fresh["steps"]], [fresh["scaled"] if bias else name]
        ),
    ]
    if bias:
        values = graph.constants.get(bias)
        codes = dequantised(graph, bias)
        if values is None and codes is not None and codes.values is not None:
            values = (codes.values - codes.zero).astype(np.float32) * codes.step
        if values is None:
            raise Unsupported(f"bias {quoted(bias)} must be a constant")
        if values.dtype.kind != "f":
            raise Unsupported(f"bias {quoted(bias)} must be of floats, not {values.dtype}")
        if product.windows and values.size != steps.size != 1:
            raise Unsupported(f"bias must be {steps.size} numbers, not {values.size}")
        shape = spread if product.windows else values.shape
        constants.append((values.astype(np.float32).reshape(shape), fresh["bias"]))
        after.append(helper.make_node("Add", [fresh["scaled"], fresh["bias"]], [name]))
    return Match(
        product=replace(product, y=fresh["sums"]), node=node, after=after, constants=constants
    )
