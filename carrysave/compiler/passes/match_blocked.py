"""Products in a graph whose weights have a scale for each block of K."""

from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.bit_weights import MATMUL_N_BITS, BitWeights
from carrysave.compiler.graph.bnb4_weights import MATMUL_BNB4, Bnb4Weights
from carrysave.compiler.graph.code_types import limits, narrowest
from carrysave.compiler.graph.graph import MICROSOFT, Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key, quoted
from carrysave.compiler.lowered.blocked import BlockedProduct
from carrysave.compiler.passes.product_of_codes import Match
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, constant, dequantised
from carrysave.compiler.target.target import Target

__all__ = ["match_blocked"]

_SHORTEST = 16
"""Codes along K of the shortest block: there is a job for each."""
_INT8 = 4
"""The accuracy level at which activations are rounded to int8."""
_ROUNDS = "activations to int8"
"""What is rounded of a product whose activations are floats."""


def match_blocked(graph: Graph, node: NodeProto, target: Target) -> Match | None:
    """Return the product of a node by blocks; None if it is not one, or one of floats.

    MatMulNBits is one at accuracy level 4, where activations are rounded to int8; MatMulBnb4, as it
    is, by such activations, if K has runs of 16 or more in a block; MatMul, if its activations are
    dequantised codes, and its weights have blocks along K. An engine whose blocks have zero points
    is for weights of few bits: with it, other activations of MatMulNBits and MatMul are rounded so,
    too.

    Raises
    ------
    Unsupported
        A product that cannot be compiled.
    """
    values = attributes(node)
    if (node.domain, node.op_type) == (MICROSOFT, MATMUL_N_BITS):
        return _bits(graph, node, values, target)
    if (node.domain, node.op_type) == (MICROSOFT, MATMUL_BNB4):
        return _entries(graph, node, values)
    if not node.domain and node.op_type == "MatMul":
        return _dequantised_blocks(graph, node, target)
    return None


def _bits(graph: Graph, node: NodeProto, values: dict[str, Any], target: Target) -> Match | None:
    a, b, steps, zeros, order, bias = [*node.input, "", "", ""][:6]
    if order:
        raise Unsupported("g_idx is not supported")
    weights = BitWeights.read(
        constant(graph, b, "B"),
        constant(graph, steps, "scales"),
        constant(graph, zeros, "zero points") if zeros else None,
        values,
    )
    kind = graph.types.get(a, np.dtype(np.float32))
    rounds = "" if values.get("accuracy_level", 0) == _INT8 else _ROUNDS
    if (rounds and not target.zero_modes) or weights.values.dtype.kind == "f":
        return None
    if kind != np.float32:
        return None
    added = constant(graph, bias, "bias").astype(np.float32).reshape(-1) if bias else None
    if added is not None and added.size != weights.values.shape[1]:
        raise Unsupported(f"bias must be {weights.values.shape[1]} numbers, not {added.size}")
    product = BlockedProduct(
        name=key(node), operator=node.op_type, a=a, b="", y=node.output[0],
        weights=weights.values, block=weights.block, b_steps=weights.steps.astype(np.float32),
        bias=added, rounds=rounds,
    )  # fmt: skip
    return Match(product=product, node=node)


def _entries(graph: Graph, node: NodeProto, values: dict[str, Any]) -> Match | None:
    a, b, most = node.input
    weights = Bnb4Weights.read(constant(graph, b, "B"), constant(graph, most, "absmax"), values)
    kind = graph.types.get(a, np.dtype(np.float32))
    if kind != np.float32 or weights.block < _SHORTEST:
        return None
    product = BlockedProduct(
        name=key(node),
        operator=node.op_type,
        a=a,
        b="",
        y=node.output[0],
        weights=weights.values,
        block=weights.block,
        b_steps=weights.scales,
        rounds=f"{_ROUNDS}, and entries of the table to 1 / 127 of the largest",
    )
    return Match(product=product, node=node)


def _dequantised_blocks(graph: Graph, node: NodeProto, target: Target) -> Match | None:
    """Find a MatMul of dequantised codes, or of floats, and of weights in blocks along K."""
    maker = graph.makers.get(node.input[1])
    if maker is None or maker.domain or maker.op_type != "DequantizeLinear":
        return None
    values = attributes(maker)
    block = values.get("block_size", 0)
    codes = graph.constants.get(maker.input[0])
    a = dequantised(graph, node.input[0]) if block else None
    if not block or codes is None or codes.ndim != 2 or values.get("axis", 1) not in (0, -2):
        return None
    if a is None and not _rounded(graph, node.input[0], block, target):
        return None
    if limits(codes.dtype) is None or (a is not None and limits(a.zero.dtype) is None):
        return None
    steps = constant(graph, maker.input[1], "scale")
    given = maker.input[2] if len(maker.input) > 2 else ""
    zeros = constant(graph, given, "zero point") if given else np.zeros(steps.shape, np.int8)
    legal = (-(-len(codes) // block), codes.shape[1])
    for what, array in (("scales", steps), ("zero points", zeros)):
        if array.shape != legal:
            text = f"{what} of {quoted(node.input[1])} must be {legal}, not {array.shape}"
            raise Unsupported(text)
    if not np.isfinite(steps).all():
        raise Unsupported(f"scales of {quoted(node.input[1])} must be finite")
    spread = np.repeat(zeros.astype(np.int64), block, axis=0)[: len(codes)]
    product = BlockedProduct(
        name=key(node),
        operator=node.op_type,
        b="",
        y=node.output[0],
        weights=narrowest(codes.astype(np.int64) - spread),
        block=block,
        b_steps=steps.astype(np.float32),
        **_of_a(node.input[0], a),
    )
    return Match(product=product, node=node)


def _rounded(graph: Graph, name: str, block: int, target: Target) -> bool:
    """Return whether activations in floats are rounded: the engine is one for such weights."""
    floats = (
        name not in graph.constants and graph.types.get(name, np.dtype(np.float32)) == np.float32
    )
    return floats and bool(target.zero_modes) and block >= _SHORTEST


def _of_a(name: str, a: QuantisedTensor | None) -> dict[str, Any]:
    """Return the fields of a product that are of its activations; None: they are floats."""
    if a is None:
        return {"a": name, "rounds": _ROUNDS}
    step = np.float32(a.step[0])
    return {"a": a.name, "a_scale": step, "a_zero": a.number, "a_type": a.zero.dtype}
