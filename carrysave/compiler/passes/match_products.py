"""Products in a graph: quantised operators, and float operators in QDQ form."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.expand import MICROSOFT
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.kernels import (
    FLOAT_PRODUCTS,
    TRANSPOSED,
    Unsupported,
    arranged,
    attributes,
)
from carrysave.compiler.graph.names import quoted
from carrysave.compiler.lowered.gate import GATE, GateProduct
from carrysave.compiler.lowered.mean import MEAN, MeanProduct
from carrysave.compiler.lowered.operands import Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct

__all__ = [
    "INTEGER_PRODUCTS",
    "QUANTISED_PRODUCTS",
    "Match",
    "constant",
    "dequantised",
    "key",
    "match",
    "places",
    "row",
]

QUANTISED_PRODUCTS = (("", "QLinearMatMul"), ("", "QLinearConv"), (MICROSOFT, "QGemm"))
"""Those of codes with steps, of ONNX and of onnxruntime."""
INTEGER_PRODUCTS = (("", "MatMulInteger"), ("", "ConvInteger"))
"""Those of codes alone, whose sums are integers."""


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
    late: str = ""
    """Name of the zero point, if it is known when the model runs."""

    @property
    def number(self) -> int:
        """The zero point, if it and the scale are single."""
        for values in (self.zero, self.zero if self.scale is None else self.scale):
            if values.size != 1:
                raise Unsupported(
                    f"{quoted(self.name)} must have one scale and zero point, not {values.size}"
                )
        return int(self.zero.reshape(()))

    @property
    def step(self) -> np.ndarray:
        """The scales, one or a row."""
        if self.scale is None:
            raise Unsupported(f"{quoted(self.name)} must have a scale")
        with np.errstate(over="ignore"):
            steps = self.scale.astype(np.float32).reshape(-1)
        if not (np.isfinite(steps) & (steps > 0)).all():
            wrong = steps[~(np.isfinite(steps) & (steps > 0))][0]
            raise Unsupported(
                f"scales of {quoted(self.name)} must be finite and greater than 0, not {wrong}"
            )
        return steps


def match(graph: Graph, node: NodeProto) -> Match | None:
    """Return the quantised product of a node; None if it is not one.

    Raises
    ------
    Unsupported
        A product of codes, but not one that can be compiled.
    """
    kind = (node.domain, node.op_type)
    if kind in QUANTISED_PRODUCTS:
        ends = (6, 7, 9) if node.op_type == "QGemm" else (8, 6, 8)
        a, b = (_codes(graph, node.input[at : at + 3]) for at in (0, 3))
        names = [name for name in node.input[ends[0] : ends[0] + 1] if name]
        bias = row(constant(graph, names[0], "bias")) if names else None
        product = _base(graph, node, a, b, bias)
        result = node.input[ends[1] : ends[2]]
        if not result or not result[0]:
            raise Unsupported("a result in floats is not supported")
        steps = _product_of(a, b, attributes(node).get("alpha", 1))
        y = _codes(graph, [node.output[0], *result])
        return Match(product=_scaled(product, steps, y), node=node)
    if kind in INTEGER_PRODUCTS:
        zeros = [*node.input[2:4], "", ""]
        a, b = (_integers(graph, node.input[at], zeros[at]) for at in (0, 1))
        return Match(product=_base(graph, node, a, b, None), node=node)
    if kind in {("", name) for name in (*FLOAT_PRODUCTS, TRANSPOSED)}:
        return _between(graph, node)
    if kind == ("", GATE):
        return _gate(graph, node)
    return _mean(graph, node) if kind == ("", MEAN) else None


def key(node: NodeProto) -> str:
    """Return a node's name or, without one, its output's."""
    return node.name or node.output[0]


def _codes(graph: Graph, names: list[str], axis: int | None = None) -> _Codes:
    """Read codes, scale and zero point; the last two must be known."""
    codes, scale, zero = [*names, "", "", ""][:3]
    values = graph.constants.get(codes)
    kind = graph.types.get(codes, np.dtype(np.uint8)) if values is None else values.dtype
    found = constant(graph, zero, "zero point") if zero else np.zeros((), kind)
    factor = constant(graph, scale, "scale") if scale else None
    for what, own, legal in (("codes", values, "iu"), ("zero points", found, "iu"),
                             ("scales", factor, "f")):  # fmt: skip
        fits = own is None or (own.dtype.kind == "f" if legal == "f" else bool(limits(own.dtype)))
        if own is not None and not (fits and own.size):
            plain = "integers" if legal == "iu" else "floats"
            actual = f"of {own.dtype}" if own.size else "empty"
            raise Unsupported(f"{what} of {quoted(codes)} must be {plain}, not {actual}")
    return _Codes(codes, values, factor, found, axis)


def _integers(graph: Graph, name: str, zero: str) -> _Codes:
    """Read codes without a scale; their zero point may be known only when the model runs."""
    if not zero or zero in graph.constants:
        return _codes(graph, [name, "", zero])
    return replace(_codes(graph, [name]), late=zero)


def _product_of(a: _Codes, b: _Codes, factor: Any) -> np.ndarray:
    """Multiply scales; in float32, as onnxruntime does."""
    if not isinstance(factor, float | int):
        raise Unsupported(f"alpha must be a number, not {factor!r}")
    with np.errstate(all="ignore"):
        steps: np.ndarray = a.step * b.step * np.float32(factor)
    if not np.isfinite(steps).all():
        raise Unsupported("the product of scales must be finite")
    return steps


def row(values: np.ndarray) -> np.ndarray:
    """Return a bias as a row, one for each column."""
    if any(size != 1 for size in values.shape[:-1]):
        raise Unsupported(f"bias must be a row, not {' x '.join(map(str, values.shape))}")
    return values.reshape(-1)


def constant(graph: Graph, name: str, what: str) -> np.ndarray:
    """Return a constant, if it is one."""
    if name not in graph.constants:
        raise Unsupported(f"{what} {quoted(name)} must be a constant")
    return graph.constants[name]


def _base(
    graph: Graph, node: NodeProto, a: _Codes, b: _Codes, bias: np.ndarray | None
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
    weights, windows = arranged(node, codes)
    if bias is not None and weights is not None:
        columns = weights.size // weights.shape[-2]
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
    )


def _zeros(b: _Codes) -> int | np.ndarray:
    """Return the zero points of a B that is computed: one, or one for each column."""
    if b.zero.size == 1:
        return b.number
    if b.scale is not None:
        raise Unsupported("B that is computed must have one zero point")
    return b.zero.astype(np.int64)


def _check_columns(node: NodeProto, b: _Codes) -> None:
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
        "name": key(node), "operator": node.op_type, "a": a, "b": "" if weights is not None else b,
        "y": node.output[0], "weights": weights, "windows": windows,
        "transposed": bool(attributes(node).get("transA")),
    }  # fmt: skip


def _scaled(product: QuantisedProduct, steps: np.ndarray, y: _Codes) -> QuantisedProduct:
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
        product,
        scale=scale,
        y_zero=number,
        y_codes=y.zero.dtype,
        low=ends[0],
        high=ends[1],
    )


def _between(graph: Graph, node: NodeProto) -> Match | None:
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
        if node.op_type == TRANSPOSED and values.get("group", 1) > 1:
            raise Unsupported("with groups, scales of B must be one")
        if b.axis is None or b.axis % rank != columns:
            raise Unsupported("scales of B must be one, or one for each column")
    steps = _product_of(a, b, values.get("alpha", 1))
    given = node.input[2] if len(node.input) > 2 else ""
    bias = _sums(graph, given, steps) if given else None
    product = _base(graph, node, a, b, bias)
    if given and bias is None:
        return _floats(graph, node, product, steps, given)
    y, low, high, behind = _follow(graph, node.output[0])
    if y is None:
        return _floats(graph, node, product, steps, "")
    return Match(product=_limited(product, steps, y, low, high), node=node, behind=behind)


def _limited(
    product: QuantisedProduct, steps: np.ndarray, y: _Codes, low: float, high: float
) -> QuantisedProduct:
    """Make a product output codes within limits."""
    product = _scaled(replace(product, y=y.name), steps, y)
    with np.errstate(over="ignore"):
        codes = [np.rint(np.float32(limit) / y.step[0]) + y.number for limit in (low, high)]
    limits = [int(np.clip(code, product.low, product.high)) for code in codes]
    return replace(product, low=limits[0], high=limits[1])


def _mean(graph: Graph, node: NodeProto) -> Match | None:
    """Find means of dequantised codes, and the quantiser that is their only reader."""
    a = dequantised(graph, node.input[0])
    if a is None or a.values is not None or a.scale is None or {a.scale.size, a.zero.size} != {1}:
        return None
    y, low, high, behind = _follow(graph, node.output[0])
    if y is None:
        return None
    product = MeanProduct(
        **places(node, a.name, "", None, None), a_zero=a.number, a_type=a.zero.dtype
    )
    return Match(product=_limited(product, a.step, y, low, high), node=node, behind=behind)


def _gate(graph: Graph, node: NodeProto) -> Match | None:
    """Find channels times a number each, both dequantised codes, and their only quantiser."""
    a, b = (graph.shapes.get(name, []) for name in node.input)
    ends = [bool(shape) and all(size == 1 for size in shape[2:]) for shape in (a, b)]
    if len(a) != len(b) or len(a) < 3 or ends[0] == ends[1]:
        return None
    found = [dequantised(graph, name) for name in node.input[:: -1 if ends[0] else 1]]
    for one in found:
        if one is None or one.values is not None or one.late or one.scale is None:
            return None
        if {one.scale.size, one.zero.size} != {1}:
            return None
    left, right = (one for one in found if one is not None)
    y, low, high, behind = _follow(graph, node.output[0])
    if y is None:
        return None
    product = GateProduct(
        **places(node, left.name, right.name, None, None),
        a_zero=left.number, a_type=left.zero.dtype, b_zero=right.number, b_type=right.zero.dtype,
    )  # fmt: skip
    steps = _product_of(left, right, 1)
    return Match(product=_limited(product, steps, y, low, high), node=node, behind=behind)


def dequantised(graph: Graph, name: str) -> _Codes | None:
    """Return the codes of a DequantizeLinear's output, if they are integers with no blocks."""
    maker = graph.makers.get(name)
    if maker is None or maker.domain or maker.op_type != "DequantizeLinear":
        return None
    values = attributes(maker)
    codes = graph.constants.get(maker.input[0])
    kind = graph.types.get(maker.input[0]) if codes is None else codes.dtype
    # Of floats, or with a scale for each block, it is no product of integers as a whole.
    if values.get("block_size") or (kind is not None and limits(kind) is None):
        return None
    return _codes(graph, list(maker.input), values.get("axis", 1))


def _sums(graph: Graph, name: str, steps: np.ndarray) -> np.ndarray | None:
    """Return a bias as sums, if its codes have the product's scale."""
    codes = dequantised(graph, name)
    if codes is None or codes.values is None or codes.zero.any():
        return None
    if codes.step.size not in (1, steps.size) or any(size != 1 for size in codes.values.shape[:-1]):
        return None
    return codes.values.reshape(-1) if np.allclose(codes.step, steps, rtol=1e-5, atol=0) else None


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
        if node.domain:
            break
        known = all(one in graph.constants for one in node.input[1:] if one)
        if node.op_type == "QuantizeLinear" and known and node.input[0] == name:
            y = _codes(graph, [node.output[0], *node.input[1:]])
            if y.step.size == 1:
                return y, low, high, passed
            break
        if node.op_type == "Relu":
            low, high = (max(end, 0.0) for end in (low, high))
        elif node.op_type == "Clip" and known and len(node.input) > 1:
            ends = [graph.constants[name] if name else None for name in [*node.input[1:], "", ""]]
            if any(end is not None and not _is_number(end) for end in ends):
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


def _is_number(values: np.ndarray) -> bool:
    """Tell whether a constant is one number."""
    return values.size == 1 and not np.isnan(values).any()


def _floats(
    graph: Graph, node: NodeProto, product: QuantisedProduct, steps: np.ndarray, bias: str
) -> Match:
    """Make a product output sums; the host converts them to floats and adds a float bias."""
    name = node.output[0]
    fresh = {end: graph.fresh(f"{name}/{end}")
             for end in ("sums", "float", "steps", "scaled", "bias")}  # fmt: skip
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
