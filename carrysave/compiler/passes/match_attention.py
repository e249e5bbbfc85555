"""Finds attention of codes whose heads are jobs: in one pass over scores, or by whole rows."""

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.lowered.heads import HOST, AttentionLayer, Heads, HeadSizes
from carrysave.compiler.lowered.linear_state import Codes
from carrysave.compiler.passes.attention_facts import Facts, read
from carrysave.compiler.passes.quantised_tensor import QuantisedTensor, codes_of_one_scale
from carrysave.compiler.passes.setting import Setting

__all__ = ["attention_layer", "match_attention"]


def match_attention(graph: Graph, node: NodeProto, setting: Setting) -> AttentionLayer | None:
    """Return the layer of a node whose inputs are codes; None: it is another, or its way another.

    Raises
    ------
    Unsupported
        One that cannot have the way that is asked for.
    """
    facts = None if setting.attention is None else read(graph, node)
    if facts is None:
        return None
    codes = [codes_of_one_scale(graph, name) for name in node.input[:3]]
    tensors = [one for one in codes if one is not None]
    return attention_layer(graph, node, facts, tensors, setting)


def attention_layer(
    graph: Graph,
    node: NodeProto,
    facts: Facts,
    tensors: Sequence[QuantisedTensor],
    setting: Setting,
) -> AttentionLayer | None:
    """Return the layer of a node; see :func:`match_attention`.

    Parameters
    ----------
    tensors : codes of queries, keys and values, if all are codes.
    """
    choose, target = setting.attention, setting.target
    sizes = _sizes(graph, node, facts)
    if choose is None or len(tensors) < 3 or sizes is None:
        return None
    queries, keys, values = (_codes(one) for one in tensors[:3])
    kinds = [one.zero.dtype for one in tensors]
    of_engine = target.mode.a, target.mode.b, target.mode.b
    offsets = [
        code_offset(name, kind, number)
        for name, kind, number in zip("ABB", kinds, of_engine, strict=True)
    ]
    scale = float(facts.scale) * queries.step * keys.step
    heads = Heads(
        name=key(node),
        operator=node.op_type,
        a=node.input[0],
        b=node.input[1],
        y=graph.fresh(f"{key(node)}/heads"),
        weights=None,
        way=HOST,
        key_heads=facts.key_heads,
        scale=scale,
        more=offsets[0] - queries.zero,
        mask=None if facts.mask is None else _by_head(facts.mask),
        cap=facts.cap,
        far=scale * sizes.width * queries.most * abs(offsets[1] - keys.zero),
        fraction=0,
    )
    heads = choose(heads, sizes)
    if heads.way == HOST:
        return None
    return AttentionLayer(
        node=node,
        codes=(queries, keys, values),
        offsets=(offsets[0], offsets[1], offsets[2]),
        flat=facts.flat,
        counts=(facts.heads, facts.key_heads),
        heads=heads,
    )


def _sizes(graph: Graph, node: NodeProto, facts: Facts) -> HeadSizes | None:
    """Return the sizes of a head; None: they are not known before it runs."""
    rows, keys = (graph.shapes.get(name, [None, None])[-2] for name in node.input[:2])
    if not rows or not keys:
        return None
    return HeadSizes(rows=rows, keys=keys, width=facts.width, value_width=facts.value_width)


def _codes(tensor: QuantisedTensor) -> Codes:
    """Return what codes of one scale stand for."""
    ends = limits(tensor.zero.dtype)
    assert ends is not None
    zero = tensor.number
    least, most = (end - zero for end in ends)
    return Codes(name=tensor.name, zero=zero, step=float(tensor.step[0]), ends=(least, most))


def _by_head(mask: np.ndarray) -> np.ndarray:
    """Return a mask with axes of the batch and of heads."""
    return mask.reshape(*[1] * (4 - mask.ndim), *mask.shape)
