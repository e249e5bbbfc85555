"""Decoders in doubles, from the definitions of papers and of transformers: a reference.

It takes a configuration and tensors by transformers' names, and knows nothing of carrysave.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["logits"]

Weights = Mapping[str, np.ndarray]
GEMMAS = ("gemma", "gemma2", "gemma3_text")


def logits(config: Mapping[str, Any], weights: Weights, tokens: np.ndarray) -> np.ndarray:
    """Return the logits after each token, tokens x words."""
    return _Decoder(config, weights).logits(tokens)


def _inverse_frequencies(config: Mapping[str, Any], local: bool) -> tuple[np.ndarray, float]:
    """Return angles of a position, and what cosines and sines are multiplied by."""
    size = _head(config)
    dim = int(size * config.get("partial_rotary_factor", 1.0))
    base = config["rope_theta"]
    scaling = config.get("rope_scaling") or {"rope_type": "default"}
    if local and "rope_local_base_freq" in config:
        base, scaling = config["rope_local_base_freq"], {"rope_type": "default"}
    plain = np.array([base ** (-2 * i / dim) for i in range(dim // 2)])
    factor, kind = scaling.get("factor", 1.0), scaling["rope_type"]
    if kind == "default":
        return plain, 1.0
    if kind == "linear":
        return plain / factor, 1.0
    if kind == "llama3":
        old = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        made = []
        for one in plain:
            length = 2 * math.pi / one
            if length < old / high:
                made.append(one)
            elif length > old / low:
                made.append(one / factor)
            else:
                smooth = (old / length - low) / (high - low)
                made.append((1 - smooth) * one / factor + smooth * one)
        return np.array(made), 1.0
    if kind == "yarn":
        old = scaling["original_max_position_embeddings"]

        def correction(turns: float) -> float:
            return dim * math.log(old / (turns * 2 * math.pi)) / (2 * math.log(base))

        low = max(math.floor(correction(scaling.get("beta_fast", 32))), 0)
        high = min(math.ceil(correction(scaling.get("beta_slow", 1))), dim - 1)
        ramp = np.clip((np.arange(dim // 2) - low) / (high - low or 0.001), 0, 1)
        attention = scaling.get("attention_factor", 0.1 * math.log(factor) + 1)
        return plain / factor * ramp + plain * (1 - ramp), attention
    assert kind == "longrope", kind
    old, new = config["original_max_position_embeddings"], config["max_position_embeddings"]
    attention = math.sqrt(1 + math.log(new / old) / math.log(old)) if new > old else 1.0
    return plain / np.array(scaling["short_factor"]), attention


def _head(config: Mapping[str, Any]) -> int:
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


class _Decoder:
    def __init__(self, config: Mapping[str, Any], weights: Weights) -> None:
        self.config, self.kind = config, config["model_type"]
        self.w = {name: np.asarray(value, np.float64) for name, value in weights.items()}

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        config = self.config
        x = self.w["model.embed_tokens.weight"][tokens]
        if self.kind in GEMMAS:
            x = x * config["hidden_size"] ** 0.5
        x = x * config.get("embedding_multiplier", 1.0)
        for number in range(config["num_hidden_layers"]):
            x = self.layer(number, x)
        x = self.norm(x, "model.norm")
        head = self.w.get("lm_head.weight", self.w["model.embed_tokens.weight"])
        made = x @ head.T / config.get("logits_scaling", 1.0)
        cap = config.get("final_logit_softcapping")
        return cap * np.tanh(made / cap) if cap else made

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        gain = self.w[f"{name}.weight"] + (1.0 if self.kind in GEMMAS else 0.0)
        variance = (x**2).mean(axis=-1, keepdims=True)
        return x / np.sqrt(variance + self.config["rms_norm_eps"]) * gain

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.w[f"{name}.weight"].T + self.w.get(f"{name}.bias", 0.0)

    def layer(self, number: int, x: np.ndarray) -> np.ndarray:
        base = f"model.layers.{number}"
        scale = self.config.get("residual_multiplier", 1.0)
        if self.kind == "olmo2":
            y = self.attention(number, x)
            x = x + self.norm(y, f"{base}.post_attention_layernorm")
            return x + self.norm(self.feed(base, x), f"{base}.post_feedforward_layernorm")
        y = self.attention(number, self.norm(x, f"{base}.input_layernorm"))
        if self.kind in ("gemma2", "gemma3_text"):
            x = x + self.norm(y, f"{base}.post_attention_layernorm")
            h = self.norm(x, f"{base}.pre_feedforward_layernorm")
            return x + self.norm(self.feed(base, h), f"{base}.post_feedforward_layernorm")
        x = x + y * scale
        return x + self.feed(base, self.norm(x, f"{base}.post_attention_layernorm")) * scale

    def feed(self, base: str, h: np.ndarray) -> np.ndarray:
        if self.kind == "mixtral":
            return self.experts(f"{base}.block_sparse_moe", h, ("w1", "w3", "w2"))
        if self.kind == "qwen3_moe":
            return self.experts(f"{base}.mlp", h, ("gate_proj", "up_proj", "down_proj"))
        base = f"{base}.mlp"
        if self.kind == "phi3":
            gate, up = np.split(self.linear(h, f"{base}.gate_up_proj"), 2, axis=-1)
        else:
            gate, up = self.linear(h, f"{base}.gate_proj"), self.linear(h, f"{base}.up_proj")
        inner = self.act(gate) * up
        if self.kind == "bitnet":
            inner = self.norm(inner, f"{base}.ffn_sub_norm")
        return self.linear(inner, f"{base}.down_proj")

    def act(self, x: np.ndarray) -> np.ndarray:
        name = self.config.get("hidden_activation") or self.config["hidden_act"]
        if name == "gelu_pytorch_tanh":
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        if name == "relu2":
            return np.maximum(x, 0) ** 2
        assert name == "silu", name
        return x / (1 + np.exp(-x))

    def experts(self, base: str, h: np.ndarray, names: tuple[str, str, str]) -> np.ndarray:
        scores = self.linear(h, f"{base}.gate")
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        made = np.zeros_like(h)
        for row, share in enumerate(shares):
            chosen = sorted(range(share.size), key=lambda one: -share[one])
            chosen = chosen[: self.config["num_experts_per_tok"]]
            norm = self.kind == "mixtral" or self.config["norm_topk_prob"]
            total = share[chosen].sum() if norm else 1.0
            for one in chosen:
                gate, up, down = (f"{base}.experts.{one}.{name}" for name in names)
                inner = self.act(self.linear(h[row], gate)) * self.linear(h[row], up)
                made[row] += share[one] / total * self.linear(inner, down)
        return made

    def attention(self, number: int, h: np.ndarray) -> np.ndarray:
        config, base = self.config, f"model.layers.{number}.self_attn"
        heads, size, count = config["num_attention_heads"], _head(config), len(h)
        shared = config["num_key_value_heads"]
        if self.kind == "phi3":
            ends = [heads * size, (heads + shared) * size]
            q, k, v = np.split(self.linear(h, f"{base}.qkv_proj"), ends, axis=-1)
        else:
            q, k, v = (self.linear(h, f"{base}.{one}_proj") for one in "qkv")
        if self.kind == "olmo2":
            q, k = self.norm(q, f"{base}.q_norm"), self.norm(k, f"{base}.k_norm")
        q, k, v = (x.reshape(count, -1, size).transpose(1, 0, 2) for x in (q, k, v))
        if self.kind in ("qwen3", "qwen3_moe", "gemma3_text"):
            q, k = self.norm(q, f"{base}.q_norm"), self.norm(k, f"{base}.k_norm")
        window = self.window(number)
        if self.turned(number):
            q, k = self.rotate(q, bool(window)), self.rotate(k, bool(window))
        k, v = (np.repeat(x, heads // shared, axis=0) for x in (k, v))
        scale = size**-0.5
        if self.kind in ("gemma2", "gemma3_text"):
            scale = config["query_pre_attn_scalar"] ** -0.5
        scores = q @ k.transpose(0, 2, 1) * config.get("attention_multiplier", scale)
        cap = config.get("attn_logit_softcapping")
        if cap:
            scores = cap * np.tanh(scores / cap)
        for i in range(count):
            for j in range(count):
                if j > i or (window and i - j >= window):
                    scores[:, i, j] = -np.inf
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        made = (shares @ v).transpose(1, 0, 2).reshape(count, -1)
        if self.kind == "bitnet":
            made = self.norm(made, f"{base}.attn_sub_norm")
        return self.linear(made, f"{base}.o_proj")

    def window(self, number: int) -> int:
        """Return the keys that a layer's query sees; 0: all."""
        config, window = self.config, self.config.get("sliding_window") or 0
        if not config.get("use_sliding_window", True):
            return 0
        if "layer_types" in config:
            return window if config["layer_types"][number] == "sliding_attention" else 0
        if self.kind == "gemma2":
            return window if number % 2 == 0 else 0
        if self.kind == "gemma3_text":
            return window if (number + 1) % config["sliding_window_pattern"] else 0
        return window

    def turned(self, number: int) -> bool:
        """Return whether a layer has rotary positions."""
        if self.kind != "smollm3":
            return True
        listed = self.config.get("no_rope_layers")
        return bool(listed[number]) if listed else (number + 1) % 4 != 0

    def rotate(self, x: np.ndarray, local: bool) -> np.ndarray:
        frequencies, factor = _inverse_frequencies(self.config, local)
        angles = np.arange(x.shape[1])[:, None] * np.concatenate([frequencies, frequencies])
        dim = angles.shape[1]
        part, rest = x[..., :dim], x[..., dim:]
        first, second = part[..., : dim // 2], part[..., dim // 2 :]
        half = np.concatenate([-second, first], axis=-1)
        turned = (part * np.cos(angles) + half * np.sin(angles)) * factor
        return np.concatenate([turned, rest], axis=-1)
