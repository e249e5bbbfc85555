"""Tiny models with random weights, of every family, as checkpoints."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize, quantize
from tokenizers.pre_tokenizers import ByteLevel

from carrysave.weights import tensor_files

__all__ = [
    "CONFIGS",
    "GEMMAS",
    "TOKENS",
    "config_of",
    "head_of",
    "weights_of",
    "write_checkpoint",
]

TOKENS = [*sorted(ByteLevel.alphabet()), "he", "ll", "hell", "<|end|>"]
WIDTH, HIDDEN, HEADS, SHARED = 64, 96, 2, 1
_PLAIN: dict[str, Any] = {
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "num_key_value_heads": SHARED,
    "vocab_size": len(TOKENS),
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
_GEMMA = {
    "hidden_act": None,
    "hidden_activation": "gelu_pytorch_tanh",
    "head_dim": 32,
    "tie_word_embeddings": True,
}
_CAPS = {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"sliding_window": 8},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen2": {"tie_word_embeddings": True, "use_sliding_window": False, "max_window_layers": 1},
    "qwen3": {"head_dim": 48, "use_sliding_window": False},
    "qwen3_moe": {
        "head_dim": 32,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 64,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    },
    "gemma": _GEMMA,
    "gemma2": {**_GEMMA, **_CAPS, "query_pre_attn_scalar": 32, "sliding_window": 8},
    "gemma3_text": {
        **_GEMMA,
        "query_pre_attn_scalar": 32,
        "sliding_window": 8,
        "sliding_window_pattern": 6,
        "num_hidden_layers": 6,
        "rope_theta": 1e6,
        "rope_local_base_freq": 10000.0,
    },
    "phi3": {"partial_rotary_factor": 0.75, "original_max_position_embeddings": 64},
    "smollm3": {"num_hidden_layers": 4, "attention_bias": False, "mlp_bias": False},
    "granite": {
        "attention_multiplier": 0.05,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "logits_scaling": 4.0,
    },
    "olmo2": {},
    "bitnet": {"hidden_act": "relu2", "tie_word_embeddings": True},
}
"""What a configuration has besides, by ``model_type``."""
GEMMAS = ("gemma", "gemma2", "gemma3_text")


def config_of(kind: str, **changes: Any) -> dict[str, Any]:
    """Return a configuration; a change that is None is left out."""
    whole = {"model_type": kind, **_PLAIN, **CONFIGS[kind], **changes}
    return {name: value for name, value in whole.items() if value is not None}


def head_of(config: Mapping[str, Any]) -> int:
    """Return the values of a head."""
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


class _Maker:
    """Makes the weights of a configuration."""

    def __init__(self, config: Mapping[str, Any], seed: int, quantised: str) -> None:
        self.config, self.kind, self.quantised = config, config["model_type"], quantised
        self.rng, self.made = np.random.default_rng(seed), dict[str, np.ndarray]()
        self.width, self.hidden = config["hidden_size"], config["intermediate_size"]
        self.inner = config["num_attention_heads"] * head_of(config)
        self.shared = config["num_key_value_heads"] * head_of(config)

    def matrix(self, name: str, outputs: int, inputs: int, scale: float = 0.1) -> None:
        values = self.rng.normal(0, scale, (outputs, inputs)).astype(np.float32)
        if self.kind == "bitnet" and "layers" in name:
            trits = np.clip(np.rint(values / np.abs(values).mean()), -1, 1)
            self.made[f"{name}.weight"] = (trits * np.float32(np.float16(0.06))).astype(np.float32)
            return
        number = gguf.GGMLQuantizationType[self.quantised]
        rounded = dequantize(quantize(values, number), number)
        self.made[f"{name}.weight"] = rounded.reshape(values.shape)

    def gain(self, name: str, size: int) -> None:
        behind = self.kind == "olmo2" and "post_" in name
        middle = 0.0 if self.kind in GEMMAS else 0.5 if behind else 1.0
        self.made[f"{name}.weight"] = self.rng.normal(middle, 0.3, size).astype(np.float32)

    def bias(self, name: str, size: int, there: bool) -> None:
        if there:
            self.made[f"{name}.bias"] = self.rng.normal(0, 0.5, size).astype(np.float32)

    def attention(self, base: str) -> None:
        attn, kind, more = f"{base}.self_attn", self.kind, bool(self.config.get("attention_bias"))
        sizes = {"q_proj": self.inner, "k_proj": self.shared, "v_proj": self.shared}
        if kind == "phi3":
            sizes = {"qkv_proj": self.inner + 2 * self.shared}
        for one, size in sizes.items():
            self.matrix(f"{attn}.{one}", size, self.width)
            self.bias(f"{attn}.{one}", size, kind == "qwen2" or more)
        self.matrix(f"{attn}.o_proj", self.width, self.inner)
        self.bias(f"{attn}.o_proj", self.width, more)
        if kind in ("qwen3", "qwen3_moe", "gemma3_text", "olmo2"):
            head, whole = head_of(self.config), kind == "olmo2"
            self.gain(f"{attn}.q_norm", self.inner if whole else head)
            self.gain(f"{attn}.k_norm", self.shared if whole else head)
        if kind == "bitnet":
            self.gain(f"{attn}.attn_sub_norm", self.inner)
            self.gain(f"{base}.mlp.ffn_sub_norm", self.hidden)

    def norms(self, base: str) -> None:
        names = {
            "olmo2": ("post_attention_layernorm", "post_feedforward_layernorm"),
            **dict.fromkeys(
                ("gemma2", "gemma3_text"),
                (
                    "input_layernorm",
                    "post_attention_layernorm",
                    "pre_feedforward_layernorm",
                    "post_feedforward_layernorm",
                ),
            ),
        }.get(self.kind, ("input_layernorm", "post_attention_layernorm"))
        for one in names:
            self.gain(f"{base}.{one}", self.width)

    def feed(self, base: str) -> None:
        config, width, mlp = self.config, self.width, f"{base}.mlp"
        if self.kind in ("mixtral", "qwen3_moe"):
            mixtral = self.kind == "mixtral"
            count = config["num_local_experts" if mixtral else "num_experts"]
            size = self.hidden if mixtral else config["moe_intermediate_size"]
            moe = f"{base}.block_sparse_moe" if mixtral else mlp
            names = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
            self.matrix(f"{moe}.gate", count, width)
            for one in range(count):
                for name in names[:2]:
                    self.matrix(f"{moe}.experts.{one}.{name}", size, width)
                self.matrix(f"{moe}.experts.{one}.{names[2]}", width, size)
            return
        sizes = {"gate_proj": self.hidden, "up_proj": self.hidden}
        if self.kind == "phi3":
            sizes = {"gate_up_proj": 2 * self.hidden}
        for name, outputs in sizes.items():
            self.matrix(f"{mlp}.{name}", outputs, width)
            self.bias(f"{mlp}.{name}", outputs, bool(config.get("mlp_bias")))
        self.matrix(f"{mlp}.down_proj", width, self.hidden)
        self.bias(f"{mlp}.down_proj", width, bool(config.get("mlp_bias")))


def weights_of(
    config: Mapping[str, Any], seed: int = 3, quantised: str = "Q8_0"
) -> dict[str, np.ndarray]:
    """Return weights by transformers' names, float32; matrices as a kind of blocks has them."""
    maker = _Maker(config, seed, quantised)
    maker.matrix("model.embed_tokens", config["vocab_size"], maker.width, 1.0)
    maker.gain("model.norm", maker.width)
    if not config["tie_word_embeddings"]:
        maker.matrix("lm_head", config["vocab_size"], maker.width)
    for number in range(config["num_hidden_layers"]):
        base = f"model.layers.{number}"
        maker.attention(base)
        maker.norms(base)
        maker.feed(base)
    return maker.made


def write_checkpoint(
    folder: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, np.ndarray | tensor_files.Tensor],
) -> Path:
    """Write ``config.json`` and ``model.safetensors``: floats, bytes, and tensors as they are."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {
        name: one
        if isinstance(one, tensor_files.Tensor)
        else tensor_files.Tensor(array=one)
        if one.dtype == np.uint8
        else tensor_files.Tensor(array=np.ascontiguousarray(one).view(np.uint32), format="fp32")
        for name, one in weights.items()
    }
    (folder / "model.safetensors").write_bytes(tensor_files.dump(tensors, ".safetensors"))
    return folder
