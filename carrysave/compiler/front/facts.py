"""What a GGUF file says beside its weights: each fact is used, changes nothing, or is refused."""

from collections.abc import Callable, Mapping
from typing import Any

from carrysave.weights.gguf import GgufFile
from hw.emit.user_files import FileError, shown

__all__ = ["check_facts", "judged"]

USED = frozenset({
    "general.architecture", "general.alignment",
    "llama.block_count", "llama.context_length", "llama.embedding_length",
    "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.head_count_kv",
    "llama.attention.layer_norm_rms_epsilon", "llama.rope.dimension_count",
    "llama.rope.freq_base", "llama.rope.scaling.type", "llama.rope.scaling.factor",
    "llama.rope.scale_linear",
    "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
    "tokenizer.ggml.merges", "tokenizer.ggml.token_type", "tokenizer.ggml.eos_token_id",
    "tokenizer.chat_template",
})  # fmt: skip
"""Facts that are read, of a decoder of the LLaMA kind and its vocabulary."""
HARMLESS = frozenset({
    # How the file came about.
    "llama.rope.scaling.finetuned",
    # Read by those scalings alone that are refused.
    "llama.rope.scaling.original_context_length", "llama.rope.scaling.yarn_beta_fast",
    "llama.rope.scaling.yarn_beta_slow", "llama.rope.scaling.yarn_log_multiplier",
    # Of vocabularies that are refused: pairs of bytes have neither scores nor kinds of sentences,
    # and cut at spaces by themselves.
    "tokenizer.ggml.scores", "tokenizer.ggml.token_type_count",
    # Names of tokens that nothing here puts in: a template has its own text.
    "tokenizer.ggml.bos_token_id", "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
    "tokenizer.ggml.prefix_token_id", "tokenizer.ggml.suffix_token_id",
    "tokenizer.ggml.middle_token_id",
    # The same vocabulary in another program's form, and names of templates for other purposes.
    "tokenizer.huggingface.json", "tokenizer.chat_templates",
})  # fmt: skip
"""Facts that change nothing of what is computed here."""
NAMESPACES = ("llama.", "tokenizer.", "split.", "adapter.", "clip.", "diffusion.", "xielu.")
"""Beginnings of names whose facts say what is computed; others tell who made the file, and how."""


def _only(*values: Any) -> Callable[[Any, Mapping[str, int]], str | None]:
    return lambda value, _: None if value in values else " or ".join(map(repr, values))


def _size(name: str) -> Callable[[Any, Mapping[str, int]], str | None]:
    return lambda value, sizes: None if value == sizes[name] else str(sizes[name])


CHECKED: dict[str, Callable[[Any, Mapping[str, int]], str | None]] = {
    "general.type": _only("model"),
    "llama.vocab_size": _size("words"),
    "llama.attention.key_length": _size("head"),
    "llama.attention.value_length": _size("head"),
    "llama.attention.causal": _only(True),
    "llama.attention.sliding_window": _only(0),
    "llama.attention.clamp_kqv": _only(0.0),
    "llama.attention.max_alibi_bias": _only(0.0),
    "llama.expert_count": _only(0),
    "llama.expert_used_count": _only(0),
    "llama.use_parallel_residual": _only(False),
    "llama.tensor_data_layout": _only("Meta AI original pth"),
    "llama.logit_scale": _only(1.0),
    "llama.embedding_scale": _only(1.0),
    "llama.residual_scale": _only(1.0),
    "llama.rope.scaling.attn_factor": _only(1.0),
    "split.no": _only(0),
    "split.count": _only(0, 1),
    "split.tensors.count": _size("tensors"),
    "tokenizer.ggml.add_bos_token": _only(False),
    "tokenizer.ggml.add_eos_token": _only(False),
    "tokenizer.ggml.add_sep_token": _only(False),
    "tokenizer.ggml.add_space_prefix": _only(False),
    "tokenizer.ggml.remove_extra_whitespaces": _only(False),
    "tokenizer.ggml.eot_token_id": _size("end"),
    "tokenizer.ggml.eom_token_id": _size("end"),
}
"""Facts of which one value changes nothing; each returns what else would be legal."""


def judged(name: str) -> str:
    """Return what becomes of a fact: ``used``, ``harmless``, ``checked`` or ``refused``."""
    if name in USED:
        return "used"
    if name in CHECKED:
        return "checked"
    harmless = name in HARMLESS or name.startswith("tokenizer.chat_template.")
    return "harmless" if harmless or not name.startswith(NAMESPACES) else "refused"


def check_facts(file: GgufFile, sizes: Mapping[str, int]) -> None:
    """Refuse a model of which a fact changes what is computed and is not known here.

    Parameters
    ----------
    sizes : ``words``, ``head`` and ``tensors``, that facts may repeat; and ``end``, the last token.

    Raises
    ------
    FileError
        With the fact's name and value.
    """
    for name, value in file.facts.items():
        where = f"fact '{shown(name)}'"
        kind = judged(name)
        if kind == "refused":
            raise FileError(
                file.path, f"is not known here and may not be left out: {value!r}", where
            )
        if kind == "checked" and (legal := CHECKED[name](value, sizes)) is not None:
            raise FileError(file.path, f"must be {legal}, not {value!r}", where)
