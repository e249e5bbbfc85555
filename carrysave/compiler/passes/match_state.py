"""Finds linear attention whose queries, keys and values are codes."""

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported, attributes
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.digits import digit_count
from carrysave.compiler.lowered.linear_chunks import Chunks
from carrysave.compiler.lowered.linear_state import Codes, LinearState
from carrysave.compiler.lowered.linear_tokens import SPREAD, Digits
from carrysave.compiler.lowered.state_product import StateProduct
from carrysave.compiler.passes.quantised_tensor import codes_of_one_scale
from carrysave.compiler.target.target import Target
from carrysave.driver.number import Number

__all__ = ["match_state"]

_OPERATOR = "LinearAttention"
_RULES = (b"linear", b"gated")
_CHUNK = 64
"""Tokens of a chunk, where the node says none."""


def match_state(graph: Graph, node: NodeProto, target: Target) -> LinearState | None:
    """Return the layer of a node; None: it is another, or not one of codes.

    Raises
    ------
    Unsupported
        One that cannot be compiled.
    """
    if (node.domain, node.op_type) != ("", _OPERATOR):
        return None
    codes = [_codes(graph, name) for name in node.input[:3]]
    if any(one is None for one in codes) or len(codes) < 3:
        return None
    values = attributes(node)
    rule = values.get("update_rule", b"gated_delta")
    if rule not in _RULES:
        text = rule.decode(errors="replace") if isinstance(rule, bytes) else str(rule)
        raise Unsupported(f"update_rule must be linear or gated, not {text}")
    given = [*node.input, *[""] * 6][:6]
    gated = rule == b"gated"
    if bool(given[4]) != gated or given[5]:
        raise Unsupported(
            "decay must be given if update_rule is gated, else left out; so must beta"
        )
    heads, key_heads = (values.get(f"{name}_num_heads", 0) for name in ("q", "kv"))
    if min(heads, key_heads) < 1 or heads % key_heads:
        raise Unsupported(
            f"q_num_heads must be a multiple of kv_num_heads, at least 1, not {heads}, {key_heads}"
        )
    scale, chunk = values.get("scale", 0.0), values.get("chunk_size", 0) or _CHUNK
    if not np.isfinite(scale):
        raise Unsupported(f"scale must be finite, not {scale}")
    if chunk < 1:
        raise Unsupported(f"chunk_size must be 0 or more, not {chunk}")
    queries, keys, its_values = (one for one in codes if one is not None)
    return LinearState(
        node=node,
        codes=(queries, keys, its_values),
        heads=heads,
        key_heads=key_heads,
        scale=scale,
        chunk=min(chunk, target.mode.k_max),
        gated=gated,
        chunks=_chunks(graph, node, (queries, keys, its_values), gated, target),
    )


def _codes(graph: Graph, name: str) -> Codes | None:
    """Return the codes that a tensor's floats are; None: they are none of one scale."""
    codes = codes_of_one_scale(graph, name)
    if codes is None or codes.scale is None or codes.scale.dtype != np.float32:
        return None
    ends = limits(codes.zero.dtype)
    assert ends is not None
    zero = codes.number
    least, most = (end - zero for end in ends)
    return Codes(name=codes.name, zero=zero, step=float(codes.step[0]), ends=(least, most))


def _chunks(
    graph: Graph, node: NodeProto, codes: tuple[Codes, ...], gated: bool, target: Target
) -> Chunks:
    """Return how chunks are multiplied on the engine."""
    parts = {
        name: StateProduct(
            name=f"{key(node)} {name}",
            operator=node.op_type,
            a=node.input[0],
            b=node.input[1],
            y=graph.fresh(f"{key(node)}/{name}"),
            weights=None,
        )
        for name in ("state", "read", "scores", "context")
    }
    (queries, keys, _), (a, b) = (one.ends for one in codes), (target.mode.a, target.mode.b)
    weighted = Digits.weighted(keys, a) if gated else Digits(digit_count(*keys, a))
    least, most = codes[2].ends
    offset = _offset(least, most, b)
    return Chunks(
        ends=(codes[0].ends, codes[1].ends, (least - offset, most - offset)),
        offset=offset,
        a=a,
        b=b,
        weighted=weighted,
        spread=(Digits.weighted(queries, a, SPREAD), Digits.weighted(keys, b, SPREAD)),
        **parts,
    )


def _offset(least: int, most: int, number: Number) -> int:
    """Return what brings integers into the range of one digit; 0: they are, or none does."""
    if most - least > number.high - number.low:
        return 0
    return max(min(0, least - number.low), most - number.high)
