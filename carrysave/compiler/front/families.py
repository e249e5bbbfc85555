"""Kinds of decoders that files name: which norms a layer has, and what no fact of a file says."""

from dataclasses import dataclass, replace
from pathlib import Path

from carrysave.compiler.front.decoder import Rope, Shape
from hw.emit.user_files import FileError

__all__ = ["FAMILIES", "NORMS", "Description", "Family", "Mixture", "check_sizes"]

_MOST, _MOST_OF_HEAD = 4096, 512
"""Values of a row of the vector unit, and so the most that a model is wide; those of a head."""
NORMS = {
    "attn_norm": "attention_gain",
    "ffn_norm": "feed_gain",
    "attn_sub_norm": "output_gain",
    "ffn_sub_norm": "down_gain",
    "post_attention_norm": "mixed_gain",
    "post_ffw_norm": "fed_gain",
    "attn_q_norm": "query_gain",
    "attn_k_norm": "key_gain",
}
"""Gains of a layer, by their names in GGUF."""
_BEFORE = ("attn_norm", "ffn_norm")
_BEHIND = ("post_attention_norm", "post_ffw_norm")
_INSIDE = ("attn_sub_norm", "ffn_sub_norm")
_OF_KEYS = ("attn_q_norm", "attn_k_norm")


@dataclass(frozen=True, kw_only=True)
class Family:
    """What decoders of a name have in common.

    Members
    -------
    norms : of a layer, of :data:`NORMS`.
    activation : of :data:`carrysave.compiler.front.decoder.ACTIVATIONS`.
    halves : in GGUF, a pair that is turned lies half of what is turned apart, not side by side.
    rooted : embeddings are multiplied by the root of the width.
    whole : norms of queries and keys are of all heads together, not of each.
    windows : of so many layers, one behind the other, all but the last have a window, if there is
        one; 1: all.
    no_rope : every so-manieth layer does not turn queries and keys; 0: all do.
    experts : there may be experts.
    fused : queries, keys and values are of one matrix, if nothing else is there; so are gates and
        what they multiply.
    """

    norms: tuple[str, ...] = _BEFORE
    activation: str = "silu"
    halves: bool = True
    rooted: bool = False
    whole: bool = False
    windows: int = 1
    no_rope: int = 0
    experts: bool = False
    fused: bool = False


_GEMMA = Family(activation="gelu", rooted=True)
FAMILIES: dict[str, Family] = {
    "llama": Family(halves=False, experts=True),
    "qwen2": Family(),
    "qwen3": Family(norms=(*_BEFORE, *_OF_KEYS)),
    "qwen3moe": Family(norms=(*_BEFORE, *_OF_KEYS), experts=True),
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, norms=(*_BEFORE, *_BEHIND), windows=2),
    "gemma3": replace(_GEMMA, norms=(*_BEFORE, *_BEHIND, *_OF_KEYS), windows=6),
    "phi3": Family(fused=True),
    "smollm3": Family(halves=False, no_rope=4),
    "granite": Family(halves=False),
    "olmo2": Family(norms=(*_BEHIND, *_OF_KEYS), whole=True, windows=4),
    "bitnet": Family(norms=(*_BEFORE, *_INSIDE)),
    "bitnet-b1.58": Family(norms=(*_BEFORE, *_INSIDE), activation="relu2"),
}
"""By their names in GGUF."""


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Experts of a layer.

    Members
    -------
    count, used : of them; of a token.
    hidden : values inside of each.
    renormalised : shares of those used add up to 1.
    """

    count: int
    used: int
    hidden: int
    renormalised: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Description:
    """All that a file says of a decoder, beside its weights.

    Members
    -------
    shape : sizes, and what is the same in all layers.
    family : what else is known by the name.
    ropes, windows : of each layer.
    halves : values of a head whose pairs lie half of them apart; 0: pairs are side by side.
    embedding_scale : by which embeddings are multiplied.
    gain_more : what is added to gains of norms.
    mixture : experts; None: there are none.
    tied : the matrix to the words is the embedding; None: if there is no other.
    biases : matrices that must have one, and no other may; None: as there are.
    """

    shape: Shape
    family: Family
    ropes: list[Rope | None]
    windows: list[int]
    halves: int = 0
    embedding_scale: float = 1.0
    gain_more: float = 0.0
    mixture: Mixture | None = None
    tied: bool | None = None
    biases: frozenset[str] | None = None


def check_sizes(path: Path, width: int, heads: tuple[int, int, int, int]) -> None:
    """Refuse sizes that the arithmetic does not have.

    Parameters
    ----------
    path : of the file, for the message.
    width : of a row.
    heads : of queries, of keys; values of each; and how many of these are turned.
    """
    count, shared, head, rotary = heads
    if not 32 <= width <= _MOST or count % shared or head % 2 or not 2 <= head <= _MOST_OF_HEAD:
        raise FileError(
            path,
            f"width must be 32..{_MOST}, heads of 2, 4, ... {_MOST_OF_HEAD} values, not {width} in "
            f"{count} heads of {head}, of which {shared} have keys",
        )
    if rotary % 2 or rotary > head:
        raise FileError(path, f"values of a head that are turned must be 2..{head}, not {rotary}")
