"""Products in a graph: quantised operators, and float operators in QDQ form."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from .expand import MICROSOFT
from .im2col import Windows
from .model import Graph
from .product_base import Operands
from .quantised_product import QuantisedProduct

__all__ = ["FLOAT_PRODUCTS", "Match", "Unsupported", "arranged", "key", "match", "places"]

FLOAT_PRODUCTS = ("MatMul", "Gemm", "Conv")
"""ONNX operators that are quantised products in QDQ form."""


class Unsupported(ValueError):
    """A quantised product that cannot be compiled; the text is the reason."""


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


@dataclass(frozen=True)
class _Codes:
    """A quantised tensor: its codes, or their name; scale and zero point."""

    name: str
    values: np.ndarray | None
    scale: np.ndarray | None
    zero: np.ndarray
    axis: int | None = None

    @property
    def number(self) -> int:
        """The zero point, if it and the scale are single."""
        count = max(self.zero.size, 1 if self.scale is None else self.scale.size)
        if count != 1:
            raise Unsupported(f"{self.name!r} must have one scale and zero point, not {count}")
        return int(self.zero.reshape(()))

    @property
    def step(self) -> np.ndarray:
        """The scales, one or a row."""
        assert self.scale is not None
        return self.scale.astype(np.float32).reshape(-1)


def match(graph: Graph, node: NodeProto) -> Match | None:
    """Return the quantised product of a node; None if it is not one.

    Raises
    ------
    Unsupported
        A product of codes, but not one that can be compiled.
    """
    kind = (node.domain.replace("ai.onnx", ""), node.op_type)
    if kind in (("", "QLinearMatMul"), ("", "QLinearConv"), (MICROSOFT, "QGemm")):
        ends = (6, 7, 9) if node.op_type == "QGemm" else (8, 6, 8)
        a, b = (_codes(graph, node.input[at : at + 3]) for at in (0, 3))
        names = [name for name in node.input[ends[0] : ends[0] + 1] if name]
        bias = _constant(graph, names[0], "bias").reshape(-1) if names else None
        product = _base(graph, node, a, b, bias)
        result = node.input[ends[1] : ends[2]]
        if not result or not result[0]:
            raise Unsupported("a result in floats is not supported")
        steps = a.step * b.step * np.float32(_attributes(node).get("alpha", 1))
        return Match(product=_scaled(product, steps, _codes(graph, ["", *result])), node=node)
    if kind in (("", "MatMulInteger"), ("", "ConvInteger")):
        zeros = [*node.input[2:4], "", ""]
        a, b = (_codes(graph, [node.input[at], "", zeros[at]]) for at in (0, 1))
        return Match(product=_base(graph, node, a, b, None), node=node)
    if kind in {("", name) for name in FLOAT_PRODUCTS}:
        return _between(graph, node)
    return None


def key(node: NodeProto) -> str:
    """Return a node's name or, without one, its output's."""
    return node.name or node.output[0]


def _codes(graph: Graph, names: list[str], axis: int | None = None) -> _Codes:
    """Read codes, scale and zero point; the last two must be known."""
    codes, scale, zero = [*names, ""][:3]
    values = graph.constants.get(codes)
    kind = graph.types.get(codes, np.dtype(np.uint8))
    found = _constant(graph, zero, "zero point") if zero else np.zeros((), kind)
    factor = _constant(graph, scale, "scale") if scale else None
    return _Codes(codes, values, factor, found, axis)


def _constant(graph: Graph, name: str, what: str) -> np.ndarray:
    if name not in graph.constants:
        raise Unsupported(f"{what} {name!r} must be a constant")
    return graph.constants[name]


def _base(
    graph: Graph, node: NodeProto, a: _Codes, b: _Codes, bias: np.ndarray | None
) -> QuantisedProduct:
    """Make the quantised product of a node, with y as sums."""
    codes = None
    if b.values is not None:
        zero = b.zero.astype(np.int64)
        if zero.size > 1 and "Conv" in node.op_type:
            zero = zero.reshape(-1, *[1] * (b.values.ndim - 1))
        elif zero.size > 1 and _attributes(node).get("transB"):
            zero = zero.reshape(-1, 1)
        codes = b.values.astype(np.int64) - zero
    elif b.zero.size > 1:
        raise Unsupported("B that is computed must have one zero point")
    weights, windows = arranged(node, codes)
    return QuantisedProduct(
        **places(node, a.name, b.name, weights, windows),
        a_zero=a.number,
        a_type=a.zero.dtype,
        b_zero=0 if weights is not None else b.number,
        b_type=None if weights is not None else b.zero.dtype,
        bias=bias,
    )


def places(
    node: NodeProto, a: str, b: str, weights: np.ndarray | None, windows: Windows | None
) -> dict[str, Any]:
    """Collect the fields of :class:`Operands`."""
    return {
        "name": key(node), "operator": node.op_type, "a": a, "b": "" if weights is not None else b,
        "y": node.output[0], "weights": weights, "windows": windows,
        "transposed": bool(_attributes(node).get("transA")),
    }  # fmt: skip


def arranged(node: NodeProto, b: np.ndarray | None) -> tuple[np.ndarray | None, Windows | None]:
    """Arrange a constant B as K x N, or groups x K x N; and find the kernel's windows.

    Raises
    ------
    Unsupported
        A node whose layout is not supported.
    """
    values = _attributes(node)
    if "Conv" in node.op_type:
        if b is None:
            raise Unsupported("weights must be constants")
        return _kernel(values, b)
    if b is None:
        if values.get("transB"):
            raise Unsupported("B that is computed must be K x N")
        return None, None
    turned = b.T if values.get("transB") else b
    if turned.ndim != 2:
        raise Unsupported(f"constant B must have 2 axes, not {turned.ndim}")
    return turned, None


def _kernel(values: dict[str, Any], kernel: np.ndarray) -> tuple[np.ndarray, Windows]:
    """Rearrange outputs x inputs x space to groups x K x N."""
    outputs, inputs, *space = kernel.shape
    axes = len(space)
    groups = values.get("group", 1)
    depth = inputs * int(np.prod(space))
    weights = kernel.reshape(groups, outputs // groups, depth).transpose(0, 2, 1)
    automatic = values.get("auto_pad", b"NOTSET").decode()
    pads = tuple(values.get("pads", [0] * 2 * axes))
    if automatic == "VALID":
        pads = (0,) * 2 * axes
    same = automatic.startswith("SAME")
    return weights, Windows(
        kernel=tuple(space),
        strides=tuple(values.get("strides", [1] * axes)),
        dilations=tuple(values.get("dilations", [1] * axes)),
        pads=None if same else pads,
        auto_pad=automatic if same else "NOTSET",
    )


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


def _scaled(product: QuantisedProduct, steps: np.ndarray, y: _Codes) -> QuantisedProduct:
    """Make a product output codes; `steps` are the scales of sums."""
    kind = np.iinfo(y.zero.dtype)
    return replace(
        product,
        # In float32, as onnxruntime does.
        scale=steps / y.step,
        y_zero=y.number,
        y_codes=y.zero.dtype,
        low=int(kind.min),
        high=int(kind.max),
    )


def _between(graph: Graph, node: NodeProto) -> Match | None:
    """Find a float product of dequantised codes, and the quantiser that is its only reader.

    Relu and Clip become limits of codes, because quantisers are monotonic.
    """
    a, b = (_dequantised(graph, name) for name in node.input[:2])
    if a is None or b is None:
        return None
    values = _attributes(node)
    if values.get("beta", 1) != 1:
        raise Unsupported(f"beta must be 1, not {values['beta']}")
    if b.step.size > 1:
        rank = 2 if b.values is None else b.values.ndim
        columns = 0 if node.op_type == "Conv" or values.get("transB") else 1
        if b.axis is None or b.axis % rank != columns:
            raise Unsupported("scales of B must be one, or one for each column")
    steps = a.step * b.step * np.float32(values.get("alpha", 1))
    given = node.input[2] if len(node.input) > 2 else ""
    bias = _sums(graph, given, steps) if given else None
    product = _base(graph, node, a, b, bias)
    if given and bias is None:
        return _floats(graph, node, product, steps, given)
    y, low, high, behind = _follow(graph, node.output[0])
    if y is None:
        return _floats(graph, node, product, steps, "")
    product = _scaled(replace(product, y=y.name), steps, y)
    codes = [np.rint(np.float32(limit) / y.step[0]) + y.number for limit in (low, high)]
    limits = [int(np.clip(code, product.low, product.high)) for code in codes]
    return Match(product=replace(product, low=limits[0], high=limits[1]), node=node, behind=behind)


def _dequantised(graph: Graph, name: str) -> _Codes | None:
    """Return the codes of a DequantizeLinear's output."""
    maker = graph.makers.get(name)
    if maker is None or maker.op_type != "DequantizeLinear":
        return None
    values = _attributes(maker)
    if values.get("block_size"):
        raise Unsupported(f"{name!r} has a scale for each block, which is not supported")
    return _codes(graph, list(maker.input), values.get("axis", 1))


def _sums(graph: Graph, name: str, steps: np.ndarray) -> np.ndarray | None:
    """Return a bias as sums, if its codes have the product's scale."""
    codes = _dequantised(graph, name)
    if codes is None or codes.values is None or codes.zero.any():
        return None
    return codes.values.reshape(-1) if np.allclose(codes.step, steps, rtol=1e-5) else None


def _follow(graph: Graph, name: str) -> tuple[_Codes | None, float, float, list[NodeProto]]:
    """Follow a tensor to the quantiser that is its only reader; also return limits on the path."""
    low, high = -np.inf, np.inf
    passed: list[NodeProto] = []
    while name not in graph.outputs:
        readers = graph.readers.get(name, [])
        if len(readers) != 1:
            break
        (node,) = readers
        passed.append(node)
        known = all(one in graph.constants for one in node.input[1:] if one)
        if node.op_type == "QuantizeLinear" and known and node.input[0] == name:
            y = _codes(graph, [node.output[0], *node.input[1:]])
            if y.step.size == 1:
                return y, low, high, passed
            break
        if node.op_type == "Relu":
            low = max(low, 0.0)
        elif node.op_type == "Clip" and known and len(node.input) > 1:
            ends = [*node.input[1:], "", ""]
            if ends[0]:
                low = max(low, float(graph.constants[ends[0]]))
            if ends[1]:
                high = min(high, float(graph.constants[ends[1]]))
        else:
            break
        name = node.output[0]
    return None, low, high, []


def _floats(
    graph: Graph, node: NodeProto, product: QuantisedProduct, steps: np.ndarray, bias: str
) -> Match:
    """Make a product output sums; the host converts them to floats and adds a float bias."""
    name = node.output[0]
    spread = (-1, *[1] * len(product.windows.kernel)) if product.windows else (-1,)
    constants = [(steps.reshape(spread), f"{name}/steps")]
    after = [
        helper.make_node("Cast", [f"{name}/sums"], [f"{name}/float"], to=1),
        helper.make_node(
            "Mul", [f"{name}/float", f"{name}/steps"], [f"{name}/scaled" if bias else name]
        ),
    ]
    if bias:
        values = graph.constants.get(bias)
        codes = _dequantised(graph, bias)
        if values is None and codes is not None and codes.values is not None:
            values = (codes.values - codes.zero).astype(np.float32) * codes.step
        if values is None:
            raise Unsupported(f"bias {bias!r} must be a constant")
        shape = spread if product.windows else values.shape
        constants.append((values.astype(np.float32).reshape(shape), f"{name}/bias"))
        after.append(helper.make_node("Add", [f"{name}/scaled", f"{name}/bias"], [name]))
    return Match(
        product=replace(product, y=f"{name}/sums"), node=node, after=after, constants=constants
    )
