"""Makes products of codes, and of floats in chosen formats, nodes of the block."""

from collections.abc import Mapping
from dataclasses import replace

from onnx import ModelProto, NodeProto, helper, numpy_helper

from carrysave.compiler.graph.graph import DOMAIN, Graph, with_nodes
from carrysave.compiler.graph.names import key, label
from carrysave.compiler.lowered.gate import GateProduct
from carrysave.compiler.lowered.layer import Layer
from carrysave.compiler.lowered.lowered import FALLBACK, PRODUCT, RECURRENT, Lowered
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.passes.experts import why_no_experts
from carrysave.compiler.passes.fall_back import with_fallbacks
from carrysave.compiler.passes.floats import match_float_codes, match_floats
from carrysave.compiler.passes.match_attention import match_attention
from carrysave.compiler.passes.match_blocked import match_blocked
from carrysave.compiler.passes.match_products import match
from carrysave.compiler.passes.match_recurrent import match_recurrent
from carrysave.compiler.passes.match_state import match_state
from carrysave.compiler.passes.product_of_codes import Match
from carrysave.compiler.passes.refusals import Refusal, RefusedError, refused_nodes
from carrysave.compiler.passes.setting import Setting
from carrysave.compiler.target.target import Target

__all__ = ["products"]

_NONE = (
    "the model has no quantised product that its outputs need; quantise it first, such as"
    " by onnxruntime.quantization.quantize_static, or choose formats by carrysave precision"
)


def products(lowered: Lowered, setting: Setting) -> Lowered:
    """Return a model whose products are nodes of the block.

    Raises
    ------
    RefusedError
        Nodes that cannot run, each with its reason; a model without quantised products.
    """
    matches: list[Match] = []
    recurrent: dict[str, Layer] = {}
    wrong: list[Refusal] = []
    for node in lowered.now.nodes:
        try:
            match_ = _matched(lowered.now, node, setting)
        except ValueError as error:
            wrong.append(Refusal("", str(error)))
            continue
        if isinstance(match_, Layer):
            recurrent[key(node)] = match_
        elif isinstance(match_, Match):
            matches.append(match_)
            if reason := _unsupported(match_, setting.target):
                if isinstance(match_.product, GateProduct | MeanProduct):
                    matches.pop()  # The host has gates and means.
                    continue
                wrong.append(Refusal("", reason))
                if setting.fallback:
                    matches.pop()
    inner = [one for layer in recurrent.values() for one in layer.products]
    made = replace(
        lowered,
        proto=_replaced(lowered.now, matches, recurrent),
        products=[*(match_.product for match_ in matches), *inner],
        recurrent=recurrent,
    )
    if setting.fallback:
        made = replace(with_fallbacks(made), refused=[str(one) for one in wrong])
    else:
        known = {key(node): why_no_experts(lowered.now, node) for node in lowered.now.nodes}
        wrong += refused_nodes(made.proto, known)
        if wrong:
            raise RefusedError(wrong)
    nodes = made.proto.graph.node
    if not any(one.domain == DOMAIN and one.op_type != FALLBACK for one in nodes):
        floats = f"; its {made.why_floats}" if made.why_floats else ""
        raise RefusedError([Refusal("", _NONE + floats)])
    return made


def _matched(graph: Graph, node: NodeProto, setting: Setting) -> Match | Layer | None:
    """Return the product or the layer that a node is; None: neither."""
    if setting.without and key(node) in setting.without:
        raise ValueError(setting.without[key(node)])
    try:
        layer: Layer | None = match_recurrent(graph, node)
        if layer is None and not setting.program:
            layer = match_state(graph, node, setting.target)
        if layer is None:
            layer = match_attention(graph, node, setting)
        if layer is not None:
            for one in layer.products:
                one.check(setting.target)
            return layer
        choice = setting.choices.get(key(node))
        if choice:
            return match_floats(graph, node, setting.target, choice)
        return (
            match_blocked(graph, node, setting.target)
            or match_float_codes(graph, node, setting.target)
            or match(graph, node)
        )
    except ValueError as error:
        raise ValueError(f"{label(node)}: {error}") from None


def _unsupported(match_: Match, target: Target) -> str:
    """Return why the block cannot run a product; empty if it can."""
    try:
        match_.product.check(target)
    except ValueError as error:
        return str(error)
    return ""


def _replaced(graph: Graph, matches: list[Match], recurrent: Mapping[str, Layer]) -> ModelProto:
    """Replace each product by a node, and remove unused nodes."""
    at = {id(match_.node): (index, match_) for index, match_ in enumerate(matches)}
    dropped = {id(node) for match_ in matches for node in (match_.node, *match_.behind)}
    nodes: list[NodeProto] = []
    constants = []
    for node in graph.nodes:
        if id(node) in at:
            index, match_ = at[id(node)]
            product = match_.product
            inputs = [product.a]
            if product.b or product.late:
                inputs += [product.b, *product.late]
            nodes.append(
                helper.make_node(
                    PRODUCT, inputs, [product.y], product.name, domain=DOMAIN, index=index
                )
            )
            nodes += match_.after
            constants += [numpy_helper.from_array(*one) for one in match_.constants]
        elif key(node) in recurrent:
            inputs = [*recurrent[key(node)].inputs]
            nodes.append(helper.make_node(RECURRENT, inputs, node.output, key(node), domain=DOMAIN))
        elif id(node) not in dropped:
            nodes.append(node)
    return with_nodes(graph.proto, nodes, graph.outputs, constants)
