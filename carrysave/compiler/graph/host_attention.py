"""Attention of onnxruntime, which its kernels run for the host, and what a node may have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import NodeProto
from onnx.reference.op_run import OpRun

from carrysave.compiler.graph.graph import MICROSOFT
from carrysave.compiler.graph.host_runtime import run
from carrysave.compiler.graph.kernels import attributes
from carrysave.errors import installed, remedy
from hw.emit.user_files import shown

__all__ = ["ATTENTIONS", "GROUP_QUERY", "MULTI_HEAD", "attention_refusal"]

MULTI_HEAD, GROUP_QUERY = "MultiHeadAttention", "GroupQueryAttention"


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What a node of an operator may have.

    Members
    -------
    attributes : names of those that the host's kernel obeys.
    fixed : others, with the value that changes nothing.
    inputs : names, in their order.
    refused : those that must be left out.
    """

    attributes: Sequence[str]
    fixed: Mapping[str, Any]
    inputs: Sequence[str]
    refused: Sequence[str]


_FACTS = {
    MULTI_HEAD: _Facts(
        attributes=["mask_filter_value", "num_heads", "scale", "unidirectional"],
        fixed={},
        inputs=[
            "query",
            "key",
            "value",
            "bias",
            "key_padding_mask",
            "attention_bias",
            "past_key",
            "past_value",
            "past_sequence_length",
            "cache_indirection",
        ],
        refused=["past_sequence_length", "cache_indirection"],
    ),
    GROUP_QUERY: _Facts(
        attributes=[
            "do_rotary",
            "kv_num_heads",
            "local_window_size",
            "num_heads",
            "rotary_interleaved",
            "scale",
            "smooth_softmax",
            "softcap",
        ],
        fixed={
            "causal": 1,
            "k_quant_type": b"NONE",
            "v_quant_type": b"NONE",
            "kv_cache_bit_width": 0,
            "qk_output": 0,
            "sliding_window_cache": 0,
        },
        inputs=[
            "query",
            "key",
            "value",
            "past_key",
            "past_value",
            "seqlens_k",
            "total_sequence_length",
            "cos_cache",
            "sin_cache",
            "position_ids",
            "attention_bias",
            "head_sink",
            "k_scale",
            "v_scale",
            "q_norm_weight",
            "k_norm_weight",
            "query_seqlens",
        ],
        refused=["k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens"],
    ),
}
_OUTPUTS = 3
"""The result, and keys and values for the next step; more shows scores."""


def attention_refusal(node: NodeProto) -> str:
    """Return why the host does not run a node of these operators; empty if it does."""
    facts = _FACTS[node.op_type]
    if not installed("onnxruntime"):
        return f"the host needs {remedy('onnxruntime')}"
    for name, value in attributes(node).items():
        if name in facts.fixed and value != facts.fixed[name]:
            legal = facts.fixed[name]
            plain = legal.decode() if isinstance(legal, bytes) else legal
            actual = value.decode(errors="replace") if isinstance(value, bytes) else value
            return f"{name} must be {plain}, not {shown(str(actual), 100)}"
        if name not in facts.attributes and name not in facts.fixed:
            return f"its attribute {shown(name, 100)} is not supported"
    for place, name in enumerate(node.input):
        if name and place >= len(facts.inputs):
            return f"it must have at most {len(facts.inputs)} inputs, not {len(node.input)}"
        if name and facts.inputs[place] in facts.refused:
            return f"its input {facts.inputs[place]} is not supported"
    if any(node.output[_OUTPUTS:]):
        return "its output of scores is not supported"
    return ""


class _Attention(OpRun):
    """Runs a node by onnxruntime."""

    op_domain = MICROSOFT

    def _run(self, *given: Any, **values: Any) -> tuple[Any, ...]:
        return tuple(run(self.onnx_node, 1, given))


class MultiHeadAttention(_Attention):
    """Heads of queries with as many of keys and values."""


class GroupQueryAttention(_Attention):
    """Heads of queries in groups that share keys and values, which may be those of past steps."""


ATTENTIONS = (MultiHeadAttention, GroupQueryAttention)
"""Classes that implement the operators of their names."""
