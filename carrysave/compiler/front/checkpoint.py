"""Language models as ``config.json`` and ``.safetensors``, as transformers has them."""

import json
import math
from pathlib import Path
from typing import Any

from carrysave.compiler.front.assembled import assembled
from carrysave.compiler.front.checkpoint_coding import coding_of
from carrysave.compiler.front.checkpoint_rope import ropes_of
from carrysave.compiler.front.checkpoint_tensors import CheckpointSource
from carrysave.compiler.front.decoder import Model, Shape
from carrysave.compiler.front.facts import Facts
from carrysave.compiler.front.families import (
    FAMILIES,
    Description,
    Family,
    Mixture,
    check_sizes,
)
from hw.emit.user_files import FileError, read_text

__all__ = ["MODEL_TYPES", "is_decoder", "load_checkpoint"]

MODEL_TYPES: dict[str, str] = {
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "phi3": "phi3",
    "smollm3": "smollm3",
    "granite": "granite",
    "olmo2": "olmo2",
    "bitnet": "bitnet-b1.58",
}
"""Families by a configuration's ``model_type``."""
_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu", "relu2": "relu2"}
_HARMLESS = frozenset(
    # How the model came about, and what it runs on; what is of training alone; and tokens that
    # nothing here puts in: the tokenizer's files say which end a text.
    [
        "architectures",
        "auto_map",
        "dtype",
        "torch_dtype",
        "transformers_version",
        "_name_or_path",
        "_attn_implementation",
        "attn_implementation",
        "initializer_range",
        "use_cache",
        "cache_implementation",
        "unsloth_version",
        "unsloth_fixed",
        "pretraining_tp",
        "attention_dropout",
        "resid_pdrop",
        "embd_pdrop",
        "output_router_logits",
        "router_aux_loss_coef",
        "router_jitter_noise",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "unk_token_id",
        "sep_token_id",
    ]
)
"""Entries that change nothing of what is computed here."""


def is_decoder(folder: Path) -> bool:
    """Return whether a folder's configuration is of a decoder that is read here."""
    try:
        kind = json.loads((folder / "config.json").read_text()).get("model_type")
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
    return kind != "bert"


def load_checkpoint(folder: Path, bits: int | str) -> tuple[Model, dict[str, tuple[int, float]]]:
    """Read a model.

    Parameters
    ----------
    folder : with ``config.json`` and ``model.safetensors``, or the files of its index.
    bits : to which matrices are rounded, 2 to 8; ternary ones stay.

    Returns
    -------
    The model; and for each kind of matrices in the files how many there are, and the largest error
    of their rounding.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    FileError
        If one is damaged, or the model is not one that is read here: by the name of an entry, a
        tensor.
    """
    path = folder / "config.json"
    try:
        values: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"no valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise FileError(path, "must be an object")
    facts = Facts(path, values)
    kind = facts.choice("model_type", tuple(MODEL_TYPES))
    coding = coding_of(kind, facts)
    description = _Describer(kind, facts).description()
    facts.check_rest(_HARMLESS)
    source = CheckpointSource(folder, bits, kind, coding)
    return assembled(description, source, source.harmless), source.rounded


class _Describer:
    """Reads a configuration."""

    def __init__(self, kind: str, facts: Facts) -> None:
        self.kind, self.facts = kind, facts
        self.family: Family = FAMILIES[MODEL_TYPES[kind]]

    def description(self) -> Description:
        """Return what it says."""
        facts, family = self.facts, self.family
        width, heads = facts.integer("hidden_size"), facts.integer("num_attention_heads")
        shared = facts.integer("num_key_value_heads", heads)
        # Some kinds have a default of their own, which no file would show.
        hidden = self.kind in ("qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text")
        head = facts.integer("head_dim", None if hidden else width // heads or None)
        partial = facts.number("partial_rotary_factor", 1.0, high=1.0)
        rotary = int(head * partial)
        check_sizes(facts.path, width, (heads, shared, head, rotary))
        layers = facts.integer("num_hidden_layers")
        mixture = self._mixture()
        windows = self._windows(layers)
        context, ropes = ropes_of(facts, family, windows, (rotary, head))
        scale, logits = math.sqrt(width), 1.0
        if not family.rooted:
            scale, logits = self._factor("embedding_multiplier"), self._factor("logits_scaling")
        shape = Shape(
            layers=layers,
            width=width,
            hidden=facts.integer("intermediate_size"),
            heads=heads,
            shared=shared,
            head=head,
            words=facts.integer("vocab_size"),
            context=context,
            epsilon=facts.number("rms_norm_eps", high=1.0),
            activation=self._activation(),
            score_scale=self._score_scale(),
            score_cap=facts.number("attn_logit_softcapping", 0.0),
            logit_cap=facts.number("final_logit_softcapping", 0.0),
            residual_scale=self._factor("residual_multiplier"),
            logit_scale=1 / logits,
        )
        tied = facts.take("tie_word_embeddings")
        if tied is not None and not isinstance(tied, bool):
            raise facts.refused("tie_word_embeddings", "true or false", tied)
        return Description(
            shape=shape,
            family=family,
            ropes=ropes,
            windows=windows,
            halves=rotary,
            embedding_scale=scale,
            gain_more=1.0 if family.rooted else 0.0,
            mixture=mixture,
            tied=tied,
            biases=self._biases(),
        )

    def _activation(self) -> str:
        """Return the activation of gates."""
        names = ("hidden_activation", "hidden_act") if self.family.rooted else ("hidden_act",)
        value, *others = [one for name in names if (one := self.facts.take(name)) is not None] or [
            None
        ]
        if self.kind == "gemma" and value == "gelu" and not others:
            value = "gelu_pytorch_tanh"  # the first files' name of what they were trained with
        if not isinstance(value, str) or value not in _ACTIVATIONS:
            raise self.facts.refused(names[0], f"one of {', '.join(_ACTIVATIONS)}", value)
        return _ACTIVATIONS[value]

    def _score_scale(self) -> float:
        """Return by what queries times keys are multiplied; 0: as the head says."""
        if self.kind in ("gemma2", "gemma3_text"):
            return 1 / math.sqrt(self.facts.positive("query_pre_attn_scalar"))
        return self.facts.number("attention_multiplier", 0.0) if self.kind == "granite" else 0.0

    def _factor(self, name: str) -> float:
        """Return a factor of Granite's models, which no other kind has."""
        return self.facts.positive(name, 1.0) if self.kind == "granite" else 1.0

    def _biases(self) -> frozenset[str]:
        """Return the matrices that have one."""
        names: tuple[str, ...] = ()
        if self.kind == "qwen2":
            names = ("attn_q", "attn_k", "attn_v")
        if self.facts.flag("attention_bias", False):
            names = ("attn_q", "attn_k", "attn_v", "attn_output")
        if self.facts.flag("mlp_bias", False):
            names += ("ffn_gate", "ffn_up", "ffn_down")
        return frozenset(names)

    def _mixture(self) -> Mixture | None:
        """Return the experts."""
        facts = self.facts
        if self.kind == "mixtral":
            count, hidden = facts.integer("num_local_experts"), facts.integer("intermediate_size")
            norm = True
        elif self.kind == "qwen3_moe":
            count, hidden = facts.integer("num_experts"), facts.integer("moe_intermediate_size")
            norm = facts.flag("norm_topk_prob", False)
            facts.only("decoder_sparse_step", 1)
            facts.only("mlp_only_layers", [])
        else:
            return None
        used = facts.integer("num_experts_per_tok")
        if used > count:
            raise facts.refused("num_experts_per_tok", f"1..{count}", used)
        return Mixture(count=count, used=used, hidden=hidden, renormalised=norm)

    def _windows(self, layers: int) -> list[int]:
        """Return the window of each layer."""
        facts = self.facts
        window = facts.integer("sliding_window", 0, low=0)
        first = facts.integer("max_window_layers", 0, low=0)
        if not facts.flag("use_sliding_window", self.kind not in ("qwen2", "qwen3", "qwen3_moe")):
            window = 0
        pattern = facts.integer("sliding_window_pattern", self.family.windows)
        kinds = facts.take("layer_types")
        if kinds is None:
            return [
                window if number >= first and (pattern == 1 or (number + 1) % pattern) else 0
                for number in range(layers)
            ]
        legal = ("full_attention", "sliding_attention")
        right = isinstance(kinds, list) and len(kinds) == layers
        if not right or not all(isinstance(one, str) and one in legal for one in kinds):
            raise facts.refused("layer_types", f"{layers} of {', '.join(legal)}", kinds)
        return [window if kind == legal[1] else 0 for kind in kinds]
