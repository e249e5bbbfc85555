"""A language model: its shape and weights; those of GGUF, checked before anything runs."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from carrysave.compiler.front.facts import check_facts
from carrysave.errors import UsageError
from carrysave.weights.array_files import check_all_used
from carrysave.weights.gguf import GgufFile
from golden.elementary import power
from golden.lut.grouped import FastWeights
from hw.emit.user_files import FileError

__all__ = ["CACHE_BITS", "FEED", "FORMS", "Layer", "Model", "Shape", "load"]

FORMS = {
    "attention": ("attn_q", "attn_k", "attn_v", "attn_output"),
    "recurrent": ("mix_forget", "mix_candidate", "mix_gate", "mix_output"),
}
"""What mixes tokens, and its matrices."""
FEED = ("ffn_gate", "ffn_up", "ffn_down")
"""Matrices of the feed-forward."""
CACHE_BITS = (8, 4)
"""Of a key or value in the cache."""
_FACTORS = "rope_freqs.weight"
_MOST = 4096
"""Values of a row of the vector unit, and so the most that a model is wide, or a cache long."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a decoder of the LLaMA kind.

    Members
    -------
    layers, width, hidden : blocks; values of a row; values inside of the feed-forward.
    heads, shared : heads of queries, and of keys and values.
    head : values of a head.
    words : tokens of the vocabulary.
    context : tokens for which the model was made.
    base : of the rotary positions.
    epsilon : added to mean squares in norms.
    """

    layers: int
    width: int
    hidden: int
    heads: int
    shared: int
    head: int
    words: int
    context: int
    base: float
    epsilon: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A block's matrices by name, inputs x outputs, and the gains of its norms.

    Two, before what mixes tokens and before the feed-forward; maybe two more, before the last
    matrix of each. Some matrices may have a bias, float32, that is added to their products.
    """

    matrices: dict[str, FastWeights]
    attention_gain: np.ndarray
    feed_gain: np.ndarray
    output_gain: np.ndarray | None = None
    down_gain: np.ndarray | None = None
    biases: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A decoder.

    Members
    -------
    embedding : words x width, float32.
    layers : blocks.
    gain : of the last norm.
    head : matrix to the words.
    form : of :data:`FORMS`; "recurrent" has no cache.
    bits : of activations that meet weights.
    cache_bits : for which the cache was made, 8 or 4.
    weight_format : width and kind of all weights, which a core must have; None: any, as digits.
    factors : by which the angles of each pair of a head's values are divided.
    """

    shape: Shape
    embedding: np.ndarray
    layers: list[Layer]
    gain: np.ndarray
    head: FastWeights
    form: str = "attention"
    bits: int = 8
    cache_bits: int = 8
    weight_format: tuple[int, str] | None = None
    factors: np.ndarray | None = None

    @property
    def frequencies(self) -> np.ndarray:
        """Angles of a position, one for each pair of a head's values."""
        size = self.shape.head
        plain = power(self.shape.base, -np.arange(0, size, 2) / size)
        return plain if self.factors is None else plain / self.factors

    def longest(self, tokens: int) -> int:
        """Return the largest K of a product, of so many tokens at most.

        By weights; by keys and values, too, where there are any.
        """
        every = [one for layer in self.layers for one in layer.matrices.values()]
        cached = (self.shape.head, tokens) if self.form == "attention" else ()
        return max(*(one.group for one in (*every, self.head)), *cached)


def load(file: GgufFile) -> Model:
    """Take a model's weights out of its file.

    Raises
    ------
    FileError
        It is of another kind, or tensors are missing or of other shapes than its facts say; or it
        has a tensor or a fact that would change what is computed and is not known here.
    """
    shape = _shape(file)
    end = file.facts.get("tokenizer.ggml.eos_token_id", -1)
    check_facts(file, {
        "words": shape.words, "head": shape.head, "tensors": len(file.tensors), "end": end,
    })  # fmt: skip
    s, inner = shape, shape.heads * shape.head
    sizes = {
        "attn_q": (inner, s.width),
        "attn_k": (s.shared * s.head, s.width),
        "attn_v": (s.shared * s.head, s.width),
        "attn_output": (s.width, inner),
        "ffn_gate": (s.hidden, s.width),
        "ffn_up": (s.hidden, s.width),
        "ffn_down": (s.width, s.hidden),
    }
    layers = [
        Layer(
            matrices={
                name: _matrix(file, f"blk.{number}.{name}.weight", sizes[name])
                for name in (*FORMS["attention"], *FEED)
            },
            attention_gain=_floats(file, f"blk.{number}.attn_norm.weight", (s.width,)),
            feed_gain=_floats(file, f"blk.{number}.ffn_norm.weight", (s.width,)),
            biases={
                name: _floats(file, bias, (sizes[name][0],))
                for name in (*FORMS["attention"], *FEED)
                if (bias := f"blk.{number}.{name}.bias") in file.tensors
            },
        )
        for number in range(s.layers)
    ]
    head_name = "output.weight" if "output.weight" in file.tensors else "token_embd.weight"
    parts = [f"{name}.weight" for name in (*FORMS["attention"], *FEED, "attn_norm", "ffn_norm")]
    parts += [f"{name}.bias" for name in (*FORMS["attention"], *FEED)]
    every = {f"blk.{number}.{part}" for number in range(s.layers) for part in parts}
    used = every | {"token_embd.weight", "output_norm.weight", head_name, _FACTORS}
    check_all_used(file.path, "tensor", file.tensors, used)
    return Model(
        shape=shape,
        embedding=_floats(file, "token_embd.weight", (s.words, s.width)),
        layers=layers,
        gain=_floats(file, "output_norm.weight", (s.width,)),
        head=_matrix(file, head_name, (s.words, s.width)),
        factors=_factors(file, s.head),
    )


def _shape(file: GgufFile) -> Shape:
    """Return the sizes that a file's facts say."""
    kind = file.facts.get("general.architecture")
    if kind != "llama":
        raise FileError(file.path, f"architecture must be llama, not {kind!r}")

    def number(name: str, default: Any = None) -> int:
        value = file.facts.get(f"llama.{name}", default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1 << 24:
            raise FileError(file.path, f"llama.{name} must be 1..{1 << 24}, not {value!r}")
        return value

    width, heads = number("embedding_length"), number("attention.head_count")
    shared = number("attention.head_count_kv", heads)
    hidden, head = number("feed_forward_length"), number("rope.dimension_count", width // heads)
    if width > _MOST or head * heads != width or heads % shared or head % 32 or head & head - 1:
        raise FileError(
            file.path,
            f"width must be 32..{_MOST}, heads of 32, 64, ... values, not {width} in {heads} heads "
            f"of {head}, of which {shared} have keys",
        )
    words = file.tensors.get("token_embd.weight")
    if words is None or len(words.shape) != 2:
        raise FileError(file.path, "must have a matrix token_embd.weight")
    base = file.facts.get("llama.rope.freq_base", 10000.0)
    if not isinstance(base, float) or not 1 <= base <= 1e9:
        raise FileError(file.path, f"llama.rope.freq_base must be 1..1e9, not {base!r}")
    epsilon = file.facts.get("llama.attention.layer_norm_rms_epsilon", 0.0)
    if not isinstance(epsilon, float) or not 0 <= epsilon <= 1:
        text = f"llama.attention.layer_norm_rms_epsilon must be 0..1, not {epsilon!r}"
        raise FileError(file.path, text)
    return Shape(
        layers=number("block_count"), width=width, hidden=hidden, heads=heads, shared=shared,
        head=head, words=words.shape[0], context=number("context_length"), base=base,
        epsilon=epsilon,
    )  # fmt: skip


def _factors(file: GgufFile, head: int) -> np.ndarray | None:
    """Return by what angles of rotary positions are divided: as facts say, and a tensor."""
    # A file that names no kind means linear ones.
    kind, factor = file.facts.get("llama.rope.scaling.type", "linear"), 1.0
    if kind not in ("none", "linear"):
        raise FileError(file.path, f"llama.rope.scaling.type must be none or linear, not {kind!r}")
    if kind == "linear":
        factor = file.facts.get("llama.rope.scale_linear", 1.0)
        factor = file.facts.get("llama.rope.scaling.factor", factor)
    if not isinstance(factor, float) or not (math.isfinite(factor) and factor > 0):
        raise FileError(file.path, f"llama.rope.scaling.factor must be above 0, not {factor!r}")
    if _FACTORS not in file.tensors:
        return None if factor == 1 else np.full(head // 2, factor)
    factors = _floats(file, _FACTORS, (head // 2,)).astype(np.float64)
    if not (factors > 0).all():
        raise FileError(file.path, "must be above 0", f"tensor '{_FACTORS}'")
    return factors * factor


def _floats(file: GgufFile, name: str, shape: tuple[int, ...]) -> np.ndarray:
    tensor = file.tensors.get(name)
    if tensor is None or tensor.shape != shape:
        what = "not there" if tensor is None else f"not {tensor.shape}"
        raise FileError(file.path, f"must be of {shape}, {what}", f"tensor '{name}'")
    values = tensor.floats()
    if not np.isfinite(values).all():
        raise FileError(file.path, "must be finite", f"tensor '{name}'")
    return values


def _matrix(file: GgufFile, name: str, shape: tuple[int, int]) -> FastWeights:
    _floats(file, name, shape)
    try:
        return FastWeights(file.tensors[name].weights())
    except (UsageError, ValueError) as error:
        raise FileError(file.path, error, f"tensor '{name}'") from None
