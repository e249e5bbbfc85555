"""Language models in GGUF: what their facts say, checked before anything runs."""

import math
from typing import Any

import numpy as np

from carrysave.compiler.front.assembled import assembled
from carrysave.compiler.front.decoder import ACTIVATIONS, Model, Rope, Shape
from carrysave.compiler.front.facts import Facts, check_vocabulary
from carrysave.compiler.front.families import (
    FAMILIES,
    Description,
    Family,
    Mixture,
    check_sizes,
)
from carrysave.compiler.front.rope import Scaling, rope_of
from carrysave.compiler.front.sources import GgufSource
from carrysave.weights.gguf import GgufFile
from hw.emit.user_files import FileError

__all__ = ["ROUNDED_BITS", "described", "load", "load_rounded"]

ROUNDED_BITS = 8
"""To which matrices of floats are rounded, if nobody says."""
_FACTORS = "rope_freqs.weight"
_OF_LENGTHS = ("rope_factors_short.weight", "rope_factors_long.weight")
_HARMLESS = (
    # How the file came about.
    "rope.scaling.finetuned",
    # Of yarn in other architectures than those read here.
    "rope.scaling.yarn_log_multiplier",
)
_LARGEST_GEMMAS = {"gemma2": 46, "gemma3": 62}
"""Layers of those whose scores are scaled by the width of a row's share, not by the head's."""


def load(file: GgufFile) -> Model:
    """Take a model's weights out of its file; see :func:`load_rounded`."""
    return load_rounded(file, ROUNDED_BITS)[0]


def load_rounded(file: GgufFile, bits: int | str) -> tuple[Model, dict[str, tuple[int, float]]]:
    """Take a model's weights out of its file.

    Parameters
    ----------
    file : what it says.
    bits : to which matrices of floats are rounded, 2 to 8; or a table.

    Returns
    -------
    The model; and for each kind of matrices in the file how many there are, and the largest error
    of their rounding.

    Raises
    ------
    FileError
        It is of another kind, or tensors are missing or of other shapes than its facts say; or it
        has a tensor or a fact that would change what is computed and is not known here.
    """
    description, source = described(file, bits)
    return assembled(description, source, set()), source.rounded


def described(file: GgufFile, bits: int | str) -> tuple[Description, GgufSource]:
    """Return what a file says of its model, and its tensors; as :func:`load_rounded`."""
    kind = file.facts.get("general.architecture")
    if not isinstance(kind, str) or kind not in FAMILIES:
        text = f"architecture must be one of {', '.join(FAMILIES)}, not {kind!r}"
        raise FileError(file.path, text)
    check_vocabulary(file.path, file.facts, len(file.tensors))
    source = GgufSource(file, bits)
    facts = Facts(file.path, file.facts, f"{kind}.")
    description = _Describer(kind, facts, source).description()
    facts.check_rest(_HARMLESS)
    return description, source


class _Describer:
    """Reads facts."""

    def __init__(self, kind: str, facts: Facts, source: GgufSource) -> None:
        self.kind, self.facts, self.source = kind, facts, source
        self.family: Family = FAMILIES[kind]

    def description(self) -> Description:
        """Return what facts say."""
        facts, family = self.facts, self.family
        mixture = self._mixture()
        shape, rotary = self._shape(mixture)
        facts.only("attention.causal", True)
        facts.only("attention.clamp_kqv", 0.0)
        facts.only("attention.max_alibi_bias", 0.0)
        facts.only("use_parallel_residual", False)
        facts.only("tensor_data_layout", "Meta AI original pth")
        windows = self._windows(shape.layers)
        scale = facts.positive("embedding_scale", 1.0)
        return Description(
            shape=shape,
            family=family,
            ropes=self._ropes(shape, rotary, windows),
            windows=windows,
            halves=rotary if family.halves else 0,
            embedding_scale=math.sqrt(shape.width) if family.rooted else scale,
            mixture=mixture,
        )

    def _shape(self, mixture: Mixture | None) -> tuple[Shape, int]:
        """Return sizes, and the values of a head that are turned."""
        facts, source = self.facts, self.source
        width, heads = facts.integer("embedding_length"), facts.integer("attention.head_count")
        shared = facts.integer("attention.head_count_kv", heads)
        head = facts.integer("attention.key_length", width // heads or None)
        facts.only("attention.value_length", head)
        rotary = facts.integer("rope.dimension_count", head)
        if not source.has("token_embd.weight") or len(source.shape("token_embd.weight")) != 2:
            raise FileError(source.path, "must have a matrix token_embd.weight")
        words = source.shape("token_embd.weight")[0]
        facts.only("vocab_size", words)
        hidden = facts.integer("feed_forward_length", mixture.hidden if mixture else None)
        check_sizes(source.path, width, (heads, shared, head, rotary))
        layers = facts.integer("block_count")
        if layers > len(source):
            raise facts.refused("block_count", f"at most {len(source)}, the tensors", layers)
        score_scale = facts.number("attention.scale", 0.0)
        if _LARGEST_GEMMAS.get(self.kind) == layers:
            score_scale = 1 / math.sqrt(width // heads)
        logit_scale = facts.positive("logit_scale", 1.0)
        activation = self.family.activation
        if self.kind == "bitnet":
            activation = facts.choice("hidden_act", ACTIVATIONS, activation)
        shape = Shape(
            layers=layers,
            width=width,
            hidden=hidden,
            heads=heads,
            shared=shared,
            head=head,
            words=words,
            context=self._context(),
            epsilon=facts.number("attention.layer_norm_rms_epsilon", 0.0, high=1.0),
            activation=activation,
            score_scale=score_scale,
            score_cap=facts.number("attn_logit_softcapping", 0.0),
            logit_cap=facts.number("final_logit_softcapping", 0.0),
            residual_scale=facts.positive("residual_scale", 1.0),
            logit_scale=1 / logit_scale,
        )
        return shape, rotary

    def _context(self) -> int:
        """Return the longest text; with two lists of factors, that of the first."""
        context = self.facts.integer("context_length")
        if self.source.has(_OF_LENGTHS[0]):
            context = min(context, self.facts.integer("rope.scaling.original_context_length"))
        return context

    def _mixture(self) -> Mixture | None:
        """Return the experts."""
        facts = self.facts
        if not self.family.experts:
            facts.only("expert_count", 0)
            facts.only("expert_used_count", 0)
            return None
        count = facts.integer("expert_count", 0, low=0)
        used = facts.integer("expert_used_count", 0, low=0)
        if not count:
            facts.only("expert_used_count", 0)
            return None
        if not 1 <= used <= count:
            raise facts.refused("expert_used_count", f"1..{count}", used)
        hidden = facts.integer("feed_forward_length")
        hidden = facts.integer("expert_feed_forward_length", hidden)
        facts.only("expert_weights_norm", True)
        facts.only("expert_gating_func", 1)
        return Mixture(count=count, used=used, hidden=hidden, renormalised=True)

    def _windows(self, layers: int) -> list[int]:
        """Return the window of each layer."""
        window = self.facts.integer("attention.sliding_window", 0, low=0)
        pattern: Any = self.facts.take("attention.sliding_window_pattern", self.family.windows)
        if isinstance(pattern, np.ndarray) and pattern.dtype == bool and len(pattern) == layers:
            return [window * int(one) for one in pattern]
        if not isinstance(pattern, int) or isinstance(pattern, bool) or pattern < 1:
            legal = f"1 or more, or {layers} truths"
            raise self.facts.refused("attention.sliding_window_pattern", legal, pattern)
        return [
            window if pattern == 1 or number % pattern < pattern - 1 else 0
            for number in range(layers)
        ]

    def _ropes(self, shape: Shape, rotary: int, windows: list[int]) -> list[Rope | None]:
        """Return rotary positions of each layer."""
        facts, family = self.facts, self.family
        base = facts.number("rope.freq_base", 10000.0, low=1.0, high=1e9)
        local_base = facts.number(
            "rope.freq_base_swa", 10000.0 if self.kind == "gemma3" else base, low=1.0, high=1e9
        )
        if self.kind == "granite" and not facts.flag("rope.scaling.finetuned", True):
            return [None] * shape.layers
        scaling = self._scaling(rotary)
        whole = rope_of(base, rotary, shape.head, scaling)
        # Layers with a window see so little that nothing of them was changed for longer texts.
        apart = self.kind in ("gemma3", "olmo2")
        local = rope_of(local_base, rotary, shape.head, Scaling() if apart else scaling)
        ropes = [local if window else whole for window in windows]
        return [
            None if family.no_rope and not (number + 1) % family.no_rope else rope
            for number, rope in enumerate(ropes)
        ]

    def _scaling(self, rotary: int) -> Scaling:
        """Return how angles are scaled: as facts say, and a tensor."""
        facts, source = self.facts, self.source
        # A file that names no kind means linear ones.
        kinds = ("none", "linear", "yarn", "longrope")
        kind = facts.choice("rope.scaling.type", kinds, "linear")
        factor = facts.positive("rope.scaling.factor", facts.positive("rope.scale_linear", 1.0))
        context = facts.integer("context_length")
        original = facts.integer("rope.scaling.original_context_length", context)
        attention = facts.positive("rope.scaling.attn_factor", 1.0)
        fast = facts.positive("rope.scaling.yarn_beta_fast", 32.0)
        slow = facts.positive("rope.scaling.yarn_beta_slow", 1.0)
        facts.only("rope.scaling.yarn_ext_factor", 1.0)
        facts.only("rope.scaling.yarn_attn_factor", 1.0)
        divisors, name = None, _OF_LENGTHS[0]
        if source.has(name):
            source.floats(_OF_LENGTHS[1], rotary // 2)
            kind = "longrope"
        else:
            name = _FACTORS
        if source.has(name):
            divisors = source.floats(name, rotary // 2).astype(np.float64)
            if not (divisors > 0).all():
                raise FileError(source.path, "must be above 0", f"tensor '{name}'")
        if kind == "longrope" and divisors is None:
            raise FileError(source.path, "must be there", f"tensor '{_OF_LENGTHS[0]}'")
        plain = Scaling(kind=kind, factor=factor, original=original, fast=fast, slow=slow)
        if kind in ("none", "linear") and attention != 1:
            raise facts.refused("rope.scaling.attn_factor", "1.0", attention)
        if kind == "longrope":
            return Scaling(kind=kind, attention=attention, divisors=divisors)
        if kind == "yarn" and attention != 1:
            attention *= rope_of(10000.0, rotary, rotary, plain).factor
            return Scaling(**{**vars(plain), "attention": attention, "divisors": divisors})
        return Scaling(**{**vars(plain), "divisors": divisors})
