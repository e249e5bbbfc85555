"""The table of families by features: what each is, and what it would be without."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["CELLS", "LLAMA3", "YARN", "Cell", "scaled"]

LONG = list(np.linspace(2, 9, 12).tolist())


@dataclass(frozen=True)
class Cell:
    """A family with a feature.

    Members
    -------
    kind, feature : of it.
    config : what its configuration has besides; None: left out.
    without : what a configuration without the feature has instead.
    like : what weights without the feature are, by a part of their names.
    forms : kinds of files.
    """

    kind: str
    feature: str
    config: Mapping[str, Any] = field(default_factory=dict)
    without: Mapping[str, Any] = field(default_factory=dict)
    like: Mapping[str, float] = field(default_factory=dict)
    forms: tuple[str, ...] = ("gguf", "checkpoint")


def scaled(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_scaling": {"rope_type": kind, "factor": 4.0, **more}}


LLAMA3 = scaled(
    "llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32
)
YARN = scaled("yarn", original_max_position_embeddings=16, beta_fast=1.0, beta_slow=0.1)
PLAIN = {"rope_scaling": None}
BIASES = {"attention_bias": True, "mlp_bias": True}
CELLS = [
    Cell("llama", "grouped heads", like={"layers.1.self_attn.v_proj": 0.0}),
    Cell("llama", "tied words", {"tie_word_embeddings": True}),
    Cell("llama", "biases", BIASES, like={".bias": 0.0}),
    Cell("llama", "base", {"rope_theta": 5e5}, {"rope_theta": 1e4}),
    Cell("llama", "linear", scaled("linear"), PLAIN),
    Cell("llama", "llama3", LLAMA3, PLAIN),
    Cell("llama", "yarn", YARN, PLAIN),
    Cell("llama", "epsilon", {"rms_norm_eps": 0.3}, {"rms_norm_eps": 0.0}),
    Cell("mistral", "head of its own", {"head_dim": 48}),
    Cell("mistral", "window", {}, {"sliding_window": None}),
    Cell("mixtral", "experts", {}, {"num_experts_per_tok": 1}),
    Cell("qwen2", "biases", {}, like={".bias": 0.0}),
    Cell("qwen2", "yarn", YARN, PLAIN),
    Cell(
        "qwen2",
        "some windows",
        {
            "use_sliding_window": True,
            "sliding_window": 5,
            "layer_types": ["full_attention", "sliding_attention"],
        },
        {"use_sliding_window": False},
        forms=("checkpoint",),
    ),
    Cell("qwen3", "norms of heads", {}, like={"q_norm": 1.0, "k_norm": 1.0}),
    Cell("qwen3", "linear", scaled("linear"), PLAIN),
    Cell("qwen3_moe", "experts", {}, {"num_experts_per_tok": 1}),
    Cell(
        "qwen3_moe",
        "shares as they are",
        {"norm_topk_prob": False},
        {"norm_topk_prob": True},
        forms=("checkpoint",),
    ),
    Cell("gemma", "gelu", {}, {"hidden_activation": "silu"}),
    Cell("gemma2", "caps of scores", {}, {"attn_logit_softcapping": None}),
    Cell("gemma2", "cap of logits", {}, {"final_logit_softcapping": None}),
    Cell("gemma2", "every other window", {}, {"sliding_window": None}),
    Cell("gemma2", "norms behind", {}, like={"post_": 0.7}),
    Cell(
        "gemma2",
        "scale of scores",
        {"query_pre_attn_scalar": 8},
        {"query_pre_attn_scalar": 32},
        forms=("checkpoint",),
    ),
    Cell("gemma3_text", "windows", {}, {"sliding_window": None, "rope_local_base_freq": 1e6}),
    Cell("gemma3_text", "base of windows", {}, {"rope_local_base_freq": 1e6}),
    Cell("gemma3_text", "linear outside of windows", scaled("linear"), PLAIN),
    Cell("gemma3_text", "norms of heads", {}, like={"q_norm": 0.0, "k_norm": 0.0}),
    Cell("phi3", "part of a head turned", {}, {"partial_rotary_factor": 1.0}),
    Cell(
        "phi3",
        "longrope",
        {
            "max_position_embeddings": 256,
            "partial_rotary_factor": 0.75,
            "rope_scaling": {"rope_type": "longrope", "short_factor": LONG, "long_factor": LONG},
        },
        {"rope_scaling": None},
    ),
    Cell("phi3", "window", {"sliding_window": 6}, {"sliding_window": None}),
    Cell("smollm3", "layers not turned", {}, {"no_rope_layers": [1, 1, 1, 1]}),
    Cell(
        "smollm3",
        "listed layers",
        {"no_rope_layers": [0, 1, 0, 1]},
        {"no_rope_layers": None},
        forms=("checkpoint",),
    ),
    Cell("granite", "multiplier of embeddings", {}, {"embedding_multiplier": 1.0}),
    Cell(
        "granite",
        "multiplier of scores",
        {"attention_multiplier": 0.5},
        {"attention_multiplier": 0.1},
    ),
    Cell("granite", "multiplier of residuals", {}, {"residual_multiplier": 1.0}),
    Cell("granite", "multiplier of logits", {}, {"logits_scaling": 1.0}),
    Cell("olmo2", "norms behind", {}, like={"post_": 1.0}),
    Cell("olmo2", "norms of all heads", {}, like={"q_norm": 3.0, "k_norm": 3.0}),
    Cell("bitnet", "norms inside", {}, like={"sub_norm": 1.0}),
    Cell("bitnet", "relu2", {}, {"hidden_act": "silu"}),
]
