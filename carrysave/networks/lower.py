"""From a model's nodes to products on the co-processor and operators on the host."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from .check_model import DOMAIN
from .code_table import CodeTable
from .encoded import Choice
from .expand import expand
from .fallback import Fallback, check_graphs, has_graphs
from .floats import match_float_codes, match_floats, read
from .fold import fold
from .gate_product import GateProduct
from .host_operators import OPERATORS
from .host_versions import refusal
from .match_blocked import MATMUL_N_BITS, match_blocked
from .match_products import FLOAT_PRODUCTS, Match, key, match
from .mean_product import MeanProduct
from .model import Graph, needed
from .names import place
from .product_base import Operands
from .recurrent import Recurrent, match_recurrent
from .target import Target
from .tensors import without_constants

__all__ = ["Lowered", "check_host", "lower"]

_FLOAT_PRODUCTS = (
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "Einsum",
    "LSTM",
    "GRU",
    "RNN",
    MATMUL_N_BITS,
)
_OWN = {(one.op_domain, one.__name__) for one in OPERATORS}
"""Operators that the host has besides those of ONNX's evaluator."""
_FALLBACK = "Fallback"
_SHOWN = 5
"""Maximum nodes named in one message."""


@dataclass(frozen=True)
class Lowered:
    """A model with its products extracted.

    Members
    -------
    graph : the original model.
    proto : the same with nodes of :data:`DOMAIN`.
    products : the products of these nodes.
    host : how often each operator runs on the host.
    recurrent : layers with several products, by the name of the node.
    fallbacks : nodes that onnxruntime runs.
    kept : products that the host runs, since the block cannot, with reasons.
    tables : of codes, in place of operators of the host.
    """

    graph: Graph
    proto: ModelProto
    products: list[Operands]
    host: Mapping[str, int]
    recurrent: Mapping[str, Recurrent] = field(default_factory=dict)
    fallbacks: Sequence[Fallback] = ()
    kept: Sequence[str] = ()
    tables: Sequence[CodeTable] = ()

    @property
    def floats(self) -> dict[str, int]:
        """Products that are not quantised, and run in floats on the host."""
        return {name: count for name, count in self.host.items() if name in _FLOAT_PRODUCTS}

    @property
    def why_floats(self) -> str:
        """Why products with quantised weights are among them; empty if none are."""
        if MATMUL_N_BITS in self.host:
            return f"{MATMUL_N_BITS} has activations in floats, without accuracy_level=4"
        read = {name for node in self.proto.graph.node for name in node.input[1:2]
                if not node.domain and node.op_type in FLOAT_PRODUCTS}  # fmt: skip
        for node in self.proto.graph.node:
            if node.op_type == "DequantizeLinear" and read.intersection(node.output):
                return "weights are dequantised, and its activations are floats, or of small floats"
        return ""


def lower(
    graph: Graph,
    target: Target,
    choices: Mapping[str, Choice] | None = None,
    *,
    fallback: bool = False,
    without: Mapping[str, str] | None = None,
) -> Lowered:
    """Find the products of a model, and check that the whole model can run.

    Parameters
    ----------
    graph : the model.
    target : the co-processor.
    choices : formats of float products, by node; None: those in the model.
    fallback : nodes that can run neither on the block nor on the host go to onnxruntime.
    without : products that go there, too, by name, with reasons: a run has shown that the block
        cannot run them.

    Raises
    ------
    ValueError
        Nodes that cannot run, each with its reason; a model without quantised products.
    """
    fallbacks: list[Fallback] = []
    whole = fold(expand(graph))
    whole = _without_graphs(whole, fallbacks) if fallback else whole
    choices = read(graph) if choices is None else choices
    matches: list[Match] = []
    recurrent: dict[str, Recurrent] = {}
    wrong = []
    for node in whole.nodes:
        if without and key(node) in without:
            wrong.append(without[key(node)])
            continue
        choice = choices.get(key(node))
        try:
            layer = match_recurrent(whole, node)
            for one in layer.products if layer else ():
                one.check(target)
            if layer is not None:
                recurrent[key(node)] = layer
                continue
            found = (
                match_floats(whole, node, target, choice)
                if choice
                else match_blocked(whole, node)
                or match_float_codes(whole, node, target)
                or match(whole, node)
            )
        except ValueError as error:
            wrong.append(f"{place(node)}: {error}")
            continue
        if found is None:
            continue
        try:
            found.product.check(target)
        except ValueError as error:
            if isinstance(found.product, GateProduct | MeanProduct):
                continue  # The host has gates and means.
            wrong.append(str(error))
            if fallback:
                continue
        matches.append(found)
    proto = _replace(whole, matches, recurrent)
    kept = wrong if fallback else []
    if fallback:
        _fall_back(proto, fallbacks)
    else:
        _refuse(wrong + _refused_nodes(proto))
    host = Counter(node.op_type for node in proto.graph.node if node.domain != DOMAIN)
    products = [found.product for found in matches]
    inner = [one for layer in recurrent.values() for one in layer.products]
    lowered = Lowered(graph, proto, [*products, *inner], host, recurrent, fallbacks, kept)
    if not any(node.domain == DOMAIN and node.op_type != _FALLBACK for node in proto.graph.node):
        floats = f"; its {lowered.why_floats}" if lowered.why_floats else ""
        raise ValueError(
            "the model has no quantised product that its outputs need; quantise it first, such as"
            " by onnxruntime.quantization.quantize_static, or choose formats by carrysave precision"
            + floats
        )
    return lowered


def _without_graphs(graph: Graph, fallbacks: list[Fallback]) -> Graph:
    """Replace nodes with subgraphs, so that they say all that they take."""
    proto = onnx.ModelProto()
    proto.CopyFrom(graph.proto)
    for node in proto.graph.node:
        if has_graphs(node):
            check_graphs(node)
            _fall(node, "subgraphs are not supported", proto, fallbacks)
    proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return Graph(proto)


def _fall_back(proto: ModelProto, fallbacks: list[Fallback]) -> None:
    """Replace the nodes that the host cannot run."""
    version = next(one.version for one in proto.opset_import if not one.domain)
    for node in proto.graph.node:
        if reason := _refused(node, version):
            _fall(node, reason, proto, fallbacks)


def _fall(node: NodeProto, reason: str, proto: ModelProto, fallbacks: list[Fallback]) -> None:
    own = NodeProto()
    own.CopyFrom(node)
    opsets = {one.domain: one.version for one in proto.opset_import if one.domain != DOMAIN}
    found = Fallback(own, reason, opsets)
    name = key(node)
    node.Clear()
    node.CopyFrom(
        helper.make_node(_FALLBACK, found.inputs, own.output, name, domain=DOMAIN,
                         index=len(fallbacks))
    )  # fmt: skip
    fallbacks.append(found)


def _replace(graph: Graph, matches: list[Match], recurrent: Mapping[str, Recurrent]) -> ModelProto:
    """Replace each product by a node, and remove unused nodes."""
    at = {id(found.node): (index, found) for index, found in enumerate(matches)}
    dropped = {id(node) for found in matches for node in (found.node, *found.behind)}
    nodes: list[NodeProto] = []
    constants = []
    for node in graph.nodes:
        if id(node) in at:
            index, found = at[id(node)]
            own = found.product
            inputs = [own.a, own.b, *own.late] if own.b or own.late else [own.a]
            nodes.append(
                helper.make_node("Product", inputs, [own.y], own.name, domain=DOMAIN, index=index)
            )
            nodes += found.after
            constants += [numpy_helper.from_array(*one) for one in found.constants]
        elif key(node) in recurrent:
            # X, sequence_lens, initial_h, initial_c: the others are constants.
            inputs = [[*node.input, *[""] * 7][at] for at in (0, 4, 5, 6)]
            nodes.append(
                helper.make_node("Recurrent", inputs, node.output, key(node), domain=DOMAIN)
            )
        elif id(node) not in dropped:
            nodes.append(node)
    kept, wanted = needed(nodes, graph.outputs)
    proto = without_constants(graph.proto)
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    tensors = [*graph.proto.graph.initializer, *constants]
    proto.graph.initializer.extend(one for one in tensors if one.name in wanted)
    if not any(one.domain == DOMAIN for one in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return proto


def check_host(graph: Graph) -> None:
    """Check that the host can run a whole model.

    Raises
    ------
    ValueError
        Nodes that it cannot run, each with its reason.
    """
    _refuse(_refused_nodes(expand(graph).proto))


def _refused_nodes(proto: ModelProto) -> list[str]:
    version = next(one.version for one in proto.opset_import if not one.domain)
    return [
        f"{place(node)}: {reason}"
        for node in proto.graph.node
        if (reason := _refused(node, version))
    ]


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise ValueError("; ".join(wrong[:_SHOWN]) + more)


def _refused(node: NodeProto, version: int) -> str:
    """Return why a node cannot run on the host; empty if it can."""
    if node.domain == DOMAIN:
        return ""
    if node.domain and (node.domain, node.op_type) in _OWN:
        return ""
    if node.domain:
        return f"operators of domain {node.domain!r} are not supported"
    return refusal(node, version)
