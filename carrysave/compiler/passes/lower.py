"""From a model's nodes to products on the co-processor and operators on the host."""

from collections import Counter
from collections.abc import Mapping, Sequence

import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from carrysave.compiler.graph.expand import expand
from carrysave.compiler.graph.fallback import Fallback, check_graphs, has_graphs
from carrysave.compiler.graph.graph import DOMAIN, Graph, needed
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_versions import refusal
from carrysave.compiler.graph.names import place
from carrysave.compiler.graph.tensors import without_constants
from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.recurrent import Recurrent
from carrysave.compiler.passes.floats import match_float_codes, match_floats, read
from carrysave.compiler.passes.fold import fold
from carrysave.compiler.passes.match_blocked import match_blocked
from carrysave.compiler.passes.match_products import Match, key, match
from carrysave.compiler.passes.match_recurrent import match_recurrent
from carrysave.compiler.target.target import Target

__all__ = ["check_host", "lower"]

_OWN = {(one.op_domain, one.__name__) for one in OPERATORS}
"""Operators that the host has besides those of ONNX's evaluator."""
_FALLBACK = "Fallback"
_SHOWN = 5
"""Maximum nodes named in one message."""


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
