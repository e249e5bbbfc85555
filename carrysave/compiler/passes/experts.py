"""Experts of onnxruntime, in ONNX's own operators: a search, and products of those that it found.

`com.microsoft.MoE` takes for each row the k experts of the greatest scores, and adds up what their
two layers make, each times its share: the softmax of all scores, or of those k, with
`normalize_routing_weights`. Here weights are int8 behind a DequantizeLinear of constants,
and what meets them are codes: those of the model, or, of floats, by a DynamicQuantizeLinear, as
between the layers.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto

from carrysave.compiler.graph.graph import MICROSOFT, Graph, with_nodes
from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.lowered.chosen import ChosenProduct
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.passes.made import Made
from carrysave.compiler.passes.quantised_tensor import codes_of_one_scale
from hw.emit.user_files import shown

__all__ = ["by_place", "experts", "why_no_experts"]

_MOE = "MoE"
_ACTIVATIONS = ("gelu", "identity", "relu", "silu")
_FIXED = {"use_sparse_mixer": 0}
_KNOWN = ("activation_type", "k", "normalize_routing_weights")
_INPUTS = 6
"""Rows, scores, weights and biases of a first layer, and those of a second one."""
_LAYER = "weights must be int8 constants of one scale, dequantised, and biases float32 constants"
_GELU = 0.7978845608028654, 0.044715


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """A layer of all experts: names of its codes and biases, and a scale for each or for all."""

    codes: str
    scale: np.ndarray
    bias: str


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What a node is, of so many experts and rows, whose shapes are known."""

    rows: int
    width: int
    count: int
    used: int
    activation: str
    normalised: bool
    layers: tuple[_Layer, _Layer]


def experts(graph: Graph) -> Graph:
    """Replace experts of codes; others stay. Without any, returns the model itself."""
    if not any(_is_moe(node) for node in graph.nodes):
        return graph
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    for node in graph.nodes:
        facts = _read(graph, node) if _is_moe(node) else node.op_type
        if not isinstance(facts, _Facts):
            nodes.append(node)
            continue
        made = _expanded(graph, node, facts)
        nodes += made.nodes
        constants += made.constants
    return Graph(with_nodes(graph.proto, nodes, graph.outputs, constants))


def why_no_experts(graph: Graph, node: NodeProto) -> str:
    """Return why experts stay as they are; empty if they do not, or the node is none."""
    facts = _read(graph, node) if _is_moe(node) else ""
    return facts if isinstance(facts, str) else ""


def _is_moe(node: NodeProto) -> bool:
    return node.domain == MICROSOFT and node.op_type == _MOE


def _read(graph: Graph, node: NodeProto) -> _Facts | str:
    """Read a node, or say what it must be."""
    values, given = attributes(node), [*node.input, *[""] * _INPUTS]
    for name, value in values.items():
        if value != _FIXED.get(name, value) or name not in (*_FIXED, *_KNOWN):
            return f"its attribute {name} must be left out, not {value}"
    activation, used = values.get("activation_type", b"relu"), values.get("k", 1)
    activation = activation.decode(errors="replace") if type(activation) is bytes else ""
    if activation not in _ACTIVATIONS:
        return f"activation_type must be {', '.join(_ACTIVATIONS)}, not {shown(activation, 40)}"
    if any(given[_INPUTS:]):
        return "a third layer, or more inputs, must be left out"
    shapes = [graph.shapes.get(name) or [] for name in given[:2]]
    rows_of, of = ([size for size in one if size] for one in shapes)
    if [len(rows_of), len(of)] != [*map(len, shapes)] or len(of) != 2 or not rows_of:
        return "shapes of its rows and scores must be known"
    (*outer, width), (rows, count) = rows_of, of
    layers = []
    for weights, bias, sizes in (
        (given[2], given[3], (count, None, width)),
        (given[4], given[5], (count, width, None)),
    ):
        layer = _layer(graph, weights, bias, sizes)
        if layer is None:
            return _LAYER
        layers.append(layer)
    if int(np.prod(outer)) != rows:
        return f"scores must have a row for each of its {int(np.prod(outer))} rows, not {rows}"
    if used not in range(1, count + 1):
        return f"k must be 1..{count}, its experts, not {used}"
    return _Facts(
        rows=rows,
        width=width,
        count=count,
        used=used,
        activation=activation,
        normalised=bool(values.get("normalize_routing_weights", 0)),
        layers=(layers[0], layers[1]),
    )


def _layer(graph: Graph, weights: str, bias: str, sizes: tuple[Any, ...]) -> _Layer | None:
    """Read a layer; None: it is not of codes, or of other sizes."""
    maker = graph.makers.get(weights)
    if maker is None or maker.domain or maker.op_type != "DequantizeLinear":
        return None
    codes, scale, zero = (graph.constants.get(name) for name in [*maker.input, "", ""][:3])
    if codes is None or scale is None or codes.dtype != np.int8 or codes.ndim != len(sizes):
        return None
    if any(size not in (None, there) for size, there in zip(sizes, codes.shape, strict=True)):
        return None
    if scale.size != 1 or (zero is not None and zero.any()):
        return None
    added = graph.constants.get(bias, np.zeros(codes.shape[:2], np.float32) if not bias else None)
    if added is None or added.dtype != np.float32 or added.shape != codes.shape[:2]:
        return None
    return _Layer(codes=maker.input[0], scale=scale.reshape(()), bias=bias)


def _expanded(graph: Graph, node: NodeProto, facts: _Facts) -> Made:
    """Return the nodes of a search, of two layers, and of their sum."""
    made = Made(graph=graph, node=node)
    places, shares = _chosen(made, facts)
    x = _codes(made, node.input[0])
    shape = made.constant(np.array([facts.rows, 1, 1, facts.width], np.int64), "rows/sizes")
    codes = made.add("Reshape", [x[0], shape], "rows")
    if facts.used > 1:
        codes = made.add("Concat", [codes] * facts.used, "rows/each", axis=1)
    hidden = _product(made, (codes, *x[1:]), facts.layers[0], places, "first")
    hidden = _activated(made, facts.activation, hidden)
    y = _product(made, _codes(made, hidden, "hidden"), facts.layers[1], places, "second")
    y = made.add("Mul", [y, shares], "shared")
    axes = made.constant(np.array([1], np.int64), "axes")
    y = made.add("ReduceSum", [y, axes], "sum", keepdims=0)
    sizes = made.constant(np.array(graph.shapes[node.input[0]], np.int64), "result/sizes")
    made.add("Reshape", [y, sizes], "result")
    made.nodes[-1].output[0] = node.output[0]
    return made


def _chosen(made: Made, facts: _Facts) -> tuple[str, str]:
    """Add the search of scores; return places, rows x k, and shares, rows x k x 1 x 1."""
    count = made.constant(np.array([facts.used], np.int64), "count")
    best = made.add("TopK", [made.node.input[1], count], "best", axis=-1)
    places = made.graph.fresh(f"{made.node.output[0]}/places")
    made.nodes[-1].output.append(places)
    if facts.normalised:
        shares = made.add("Softmax", [best], "shares", axis=-1)
    else:
        ends = [made.constant(np.array([one], np.int64), f"shares/end{one}") for one in (0, 1)]
        top = made.add("Slice", [best, *ends, ends[1]], "shares/top")
        every = made.add(
            "Exp", [made.add("Sub", [made.node.input[1], top], "shares/less")], "shares/every"
        )
        whole = made.add("ReduceSum", [every, ends[1]], "shares/whole", keepdims=1)
        some = made.add(
            "Exp", [made.add("Sub", [best, top], "shares/differences")], "shares/powers"
        )
        shares = made.add("Div", [some, whole], "shares")
    sizes = made.constant(np.array([facts.rows, facts.used, 1, 1], np.int64), "shares/sizes")
    return places, made.add("Reshape", [shares, sizes], "shares/each")


def _codes(made: Made, name: str, what: str = "input") -> tuple[str, str, str]:
    """Return codes, their scale and their zero point: the model's, or such as floats have."""
    known = codes_of_one_scale(made.graph, name) if what == "input" else None
    if known is not None and known.scale is not None:
        step = made.constant(known.step.reshape(()), f"{what}/step")
        return known.name, step, made.constant(known.zero.reshape(()), f"{what}/zero")
    codes = made.add("DynamicQuantizeLinear", [name], f"{what}/codes")
    more = [made.graph.fresh(f"{made.node.output[0]}/{what}/{one}") for one in ("step", "zero")]
    made.nodes[-1].output.extend(more)
    return codes, more[0], more[1]


def _product(made: Made, x: tuple[str, str, str], layer: _Layer, places: str, what: str) -> str:
    """Add the product of rows by a layer of the experts at places, in floats, and its bias."""
    codes, step, zero = x
    weights = made.add("Gather", [layer.codes, places], f"{what}/weights", axis=0)
    weights = made.add("Transpose", [weights], f"{what}/turned", perm=[0, 1, 3, 2])
    sums = made.add("MatMulInteger", [codes, weights, zero], f"{what}/sums")
    y = made.add("Cast", [sums], f"{what}/floats", to=TensorProto.FLOAT)
    scale = made.add("Mul", [step, made.constant(layer.scale, f"{what}/scale")], f"{what}/step")
    y = made.add("Mul", [y, scale], f"{what}/scaled")
    if layer.bias:
        bias = made.add("Gather", [layer.bias, places], f"{what}/biases", axis=0)
        axes = made.constant(np.array([2], np.int64), f"{what}/axes")
        bias = made.add("Unsqueeze", [bias, axes], f"{what}/bias")
        y = made.add("Add", [y, bias], f"{what}/result")
    return y


def by_place(graph: Graph, product: QuantisedProduct) -> QuantisedProduct:
    """Return a product with the weights of experts by their places; others as they are."""
    turned = graph.makers.get(product.b)
    if turned is None or turned.op_type != "Transpose" or product.b_late or np.any(product.b_zero):
        return product
    chosen = graph.makers.get(turned.input[0])
    if chosen is None or chosen.op_type != "Gather" or attributes(chosen).get("axis", 0):
        return product
    codes, kinds = graph.constants.get(chosen.input[0]), attributes(turned).get("perm")
    if codes is None or codes.dtype != np.int8 or codes.ndim != 3 or kinds != [0, 1, 3, 2]:
        return product
    values = {one.name: getattr(product, one.name) for one in fields(product)}
    values |= {"b": chosen.input[1], "choices": codes.transpose(0, 2, 1)}
    return ChosenProduct(**values)


def _activated(made: Made, activation: str, x: str) -> str:
    """Add an activation; GELU is that by a tangent, as onnxruntime's."""
    if activation == "relu":
        return made.add("Relu", [x], "relu")
    if activation == "silu":
        return made.add("Mul", [x, made.add("Sigmoid", [x], "sigmoid")], "silu")
    if activation == "gelu":
        one, half, *factors = (
            made.constant(np.float32(value), f"gelu/{at}")
            for at, value in enumerate((1, 0.5, *_GELU))
        )
        cube = made.add("Mul", [made.add("Mul", [x, x], "gelu/square"), x], "gelu/cube")
        inner = made.add("Add", [x, made.add("Mul", [cube, factors[1]], "gelu/part")], "gelu/sum")
        inner = made.add("Tanh", [made.add("Mul", [inner, factors[0]], "gelu/in")], "gelu/tanh")
        outer = made.add("Mul", [made.add("Add", [inner, one], "gelu/up"), half], "gelu/half")
        return made.add("Mul", [x, outer], "gelu")
    return x
