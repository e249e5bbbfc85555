"""Tiny models as GGUF, by the format's own library."""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gguf
import numpy as np
from gguf.quants import quantize

from verif.language.tiny_models import GEMMAS, TOKENS, head_of

__all__ = ["write_gguf"]

_ARCH = {"mistral": "llama", "mixtral": "llama", "qwen3_moe": "qwen3moe", "gemma3_text": "gemma3"}
_ROTATED_IN_PAIRS = ("llama", "mistral", "mixtral", "smollm3", "granite")
"""Kinds whose queries and keys the format's converter reorders."""


def write_gguf(
    path: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    quantised: str = "Q8_0",
    *,
    blocks: Mapping[str, tuple[str, np.ndarray]] = MappingProxyType({}),
) -> Path:
    """Write GGUF by the format's own library, with what its converters do to a checkpoint.

    Parameters
    ----------
    quantised : kind of all matrices but those of `blocks`, which have their kinds and bytes.
    """
    kind = config["model_type"]
    arch = "bitnet" if kind == "bitnet" else _ARCH.get(kind, kind)
    writer = gguf.GGUFWriter(path, arch)
    _facts(writer, kind, config)
    (arch_number,) = [one for one, name in gguf.MODEL_ARCH_NAMES.items() if name == arch]
    names = gguf.get_tensor_name_map(arch_number, config["num_hidden_layers"])
    experts: dict[str, list[np.ndarray]] = {}
    for name, values in weights.items():
        if ".experts." in name:
            experts.setdefault(_expert(name), []).append(values)
            continue
        # Names that the library knows by those of the first models.
        old = name.replace("self_attn.attn_sub_norm", "self_attn.inner_attn_ln")
        old = old.replace("mlp.ffn_sub_norm", "mlp.ffn_layernorm")
        own = names.get_name(old, try_suffixes=(".weight", ".bias"))
        assert own is not None, name
        if name in blocks:
            number, data = gguf.GGMLQuantizationType[blocks[name][0]], blocks[name][1]
            writer.add_tensor(own, _converted(config, name, data), raw_dtype=number)
            continue
        _add(writer, own, _converted(config, name, values), quantised, name)
    for own, listed in experts.items():
        _add(writer, own, np.stack(listed), quantised, own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _expert(name: str) -> str:
    """Return the tensor that has the matrices of all experts of a layer."""
    before, _, after = name.partition(".experts.")
    end = {"w1": "gate", "w3": "up", "w2": "down"}.get(after.split(".")[1])
    return f"blk.{before.split('.')[2]}.ffn_{end or after.split('.')[1][:-5]}_exps.weight"


def _converted(config: Mapping[str, Any], name: str, values: np.ndarray) -> np.ndarray:
    """Return what the format's converter makes of a tensor."""
    kind = config["model_type"]
    if kind in _ROTATED_IN_PAIRS and ("q_proj" in name or "k_proj" in name):
        count = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
        parts = values.reshape(count, 2, -1, *values.shape[1:])
        return parts.swapaxes(1, 2).reshape(values.shape)
    if kind in GEMMAS and name.endswith("norm.weight"):
        return values + np.float32(1)
    return values


def _add(writer: gguf.GGUFWriter, own: str, values: np.ndarray, quantised: str, name: str) -> None:
    """Add a tensor; trits as floats."""
    if values.ndim < 2 or own.endswith("ffn_gate_inp.weight"):
        writer.add_tensor(own, values.astype(np.float32))
        return
    trits = writer.arch == "bitnet" and "layers" in name
    number = gguf.GGMLQuantizationType["F32" if trits else quantised]
    writer.add_tensor(own, quantize(values.astype(np.float32), number), raw_dtype=number)


def _facts(writer: gguf.GGUFWriter, kind: str, config: Mapping[str, Any]) -> None:
    """Add facts by the library's own methods."""
    head, layers = head_of(config), config["num_hidden_layers"]
    rotary = int(head * config.get("partial_rotary_factor", 1.0))
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_block_count(layers)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(rotary)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(7)
    if "head_dim" in config:
        writer.add_key_length(head)
        writer.add_value_length(head)
    window = config.get("sliding_window")
    if window and config.get("use_sliding_window", True):
        writer.add_sliding_window(window)
    for name, adder in (
        ("attn_logit_softcapping", writer.add_attn_logit_softcapping),
        ("final_logit_softcapping", writer.add_final_logit_softcapping),
        ("attention_multiplier", writer.add_attention_scale),
        ("embedding_multiplier", writer.add_embedding_scale),
        ("residual_multiplier", writer.add_residual_scale),
        ("logits_scaling", writer.add_logit_scale),
        ("num_local_experts", writer.add_expert_count),
        ("num_experts", writer.add_expert_count),
        ("num_experts_per_tok", writer.add_expert_used_count),
        ("moe_intermediate_size", writer.add_expert_feed_forward_length),
    ):
        if config.get(name):
            adder(config[name])
    if kind == "bitnet":
        writer.add_string("bitnet.hidden_act", config["hidden_act"])
    _vocabulary(writer)
    if scaling := config.get("rope_scaling"):
        _scale(writer, config, scaling, rotary)


def _scale(
    writer: gguf.GGUFWriter, config: Mapping[str, Any], scaling: Mapping[str, Any], rotary: int
) -> None:
    """Add how rotary positions are scaled."""
    match scaling["rope_type"]:
        case "linear":
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(scaling["factor"])
        case "yarn":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(scaling["factor"])
            writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
            writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
            writer.add_rope_scaling_yarn_beta_slow(scaling["beta_slow"])
        case "llama3":
            writer.add_tensor("rope_freqs.weight", _llama3(config, scaling, rotary))
        case "longrope":
            old, new = config["original_max_position_embeddings"], config["max_position_embeddings"]
            writer.add_rope_scaling_orig_ctx_len(old)
            writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(new / old) / math.log(old)))
            for name in ("short", "long"):
                values = np.array(scaling[f"{name}_factor"], np.float32)
                writer.add_tensor(f"rope_factors_{name}.weight", values)


def _vocabulary(writer: gguf.GGUFWriter) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_merges(["h e", "l l", "he ll"])
    writer.add_token_types([1] * (len(TOKENS) - 1) + [3])
    writer.add_eos_token_id(len(TOKENS) - 1)


def _llama3(config: Mapping[str, Any], scaling: Mapping[str, Any], rotary: int) -> np.ndarray:
    """Return divisors as the format's converter writes them."""
    old, made = scaling["original_max_position_embeddings"], []
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    for i in range(0, rotary, 2):
        length = 2 * math.pi * config["rope_theta"] ** (i / rotary)
        if length < old / high:
            made.append(1.0)
        elif length > old / low:
            made.append(scaling["factor"])
        else:
            smooth = (old / length - low) / (high - low)
            made.append(1 / ((1 - smooth) / scaling["factor"] + smooth))
    return np.array(made, np.float32)
