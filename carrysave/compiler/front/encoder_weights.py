"""Weights of text encoders as BERT has them, from ``config.json`` and ``model.safetensors``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.weights import tensor_files
from carrysave.weights.array_files import check_all_used
from hw.emit.user_files import FileError, read_text, shown

__all__ = ["ACTIVATIONS", "EPSILON", "Block", "Dense", "Encoder", "Norm", "read_encoder"]

ACTIVATIONS = ("gelu", "silu")
EPSILON = 1e-12
"""Added to mean squares in norms."""
_PLACES = "embeddings.position_ids"
_HARMLESS = frozenset({_PLACES, "pooler.dense.weight", "pooler.dense.bias"})
"""The numbers of positions, which are checked; and what is of the first row alone."""
"""Of the feed-forward."""
_SIZES = {
    "hidden_size": 1 << 14,
    "num_hidden_layers": 256,
    "num_attention_heads": 1 << 10,
    "intermediate_size": 1 << 16,
    "vocab_size": 1 << 24,
    "max_position_embeddings": 1 << 16,
    "type_vocab_size": 1 << 10,
}
"""Sizes that are read from the configuration, 1 to this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense:
    """y = x W + b.

    Members
    -------
    weights : K x N floats.
    bias : N floats.
    """

    weights: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Norm:
    """y = (x - mean) / deviation * gamma + beta, over rows.

    Members
    -------
    gamma, beta : floats, one for each value of a row.
    """

    gamma: np.ndarray
    beta: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """A layer: attention and feed-forward, each added to what it takes, and normalised.

    Members
    -------
    qkv : queries, keys and values side by side.
    out : after attention.
    up, down : of the feed-forward.
    attention, feed : norms of their sums.
    """

    qkv: Dense
    out: Dense
    attention: Norm
    up: Dense
    down: Dense
    feed: Norm


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoder:
    """A text encoder; the vector of a sentence is the mean of its tokens', of length 1.

    Members
    -------
    words : vocabulary x width floats.
    positions : length x width floats; with the type of the first segment.
    norm : of their sums.
    blocks : its layers.
    heads : of attention.
    activation : one of :data:`ACTIVATIONS`.
    """

    words: np.ndarray
    positions: np.ndarray
    norm: Norm
    blocks: tuple[Block, ...]
    heads: int
    activation: str

    @property
    def width(self) -> int:
        """Values of a token."""
        return self.words.shape[1]

    def check(self, sentences: list[np.ndarray]) -> None:
        """Refuse sentences that it cannot take.

        Parameters
        ----------
        sentences : numbers of the tokens of each.

        Raises
        ------
        ValueError
            Names the sentence.
        """
        if not sentences:
            raise ValueError("sentences must be one or more, not none")
        most, words = len(self.positions), len(self.words)
        for number, one in enumerate(sentences, 1):
            if one.ndim != 1 or one.dtype.kind not in "iu":
                raise ValueError(f"sentence {number}: tokens must be integers in a row")
            if not 1 <= one.size <= most:
                raise ValueError(f"sentence {number}: must be of 1..{most} tokens, not {one.size}")
            wrong = one[(one < 0) | (one >= words)]
            if wrong.size:
                raise ValueError(
                    f"sentence {number}: tokens must be 0..{words - 1}, not {int(wrong[0])}"
                )


def read_encoder(folder: Path) -> Encoder:
    """Read a model.

    Parameters
    ----------
    folder : with ``config.json`` and ``model.safetensors``.

    Raises
    ------
    FileNotFoundError
        If one is missing.
    FileError
        If one is damaged, or the model is not one that can be compiled; names the place.
    """
    path = folder / "config.json"
    sizes, activation = _configuration(path, read_text(path))
    path = folder / "model.safetensors"
    tensors = _Tensors(path, tensor_files.read(path))
    width, wide = sizes["hidden_size"], sizes["intermediate_size"]

    def block(number: int) -> Block:
        prefix = f"encoder.layer.{number}"
        parts = [
            tensors.dense(f"{prefix}.attention.self.{name}", width, width)
            for name in ("query", "key", "value")
        ]
        return Block(
            qkv=Dense(
                weights=np.concatenate([one.weights for one in parts], axis=1),
                bias=np.concatenate([one.bias for one in parts]),
            ),
            out=tensors.dense(f"{prefix}.attention.output.dense", width, width),
            attention=tensors.norm(f"{prefix}.attention.output.LayerNorm", width),
            up=tensors.dense(f"{prefix}.intermediate.dense", width, wide),
            down=tensors.dense(f"{prefix}.output.dense", wide, width),
            feed=tensors.norm(f"{prefix}.output.LayerNorm", width),
        )

    def table(name: str, size: str) -> np.ndarray:
        return tensors.take(f"embeddings.{name}_embeddings.weight", sizes[size], width)

    encoder = Encoder(
        words=table("word", "vocab_size"),
        positions=table("position", "max_position_embeddings")
        + table("token_type", "type_vocab_size")[0],
        norm=tensors.norm("embeddings.LayerNorm", width),
        blocks=tuple(map(block, range(sizes["num_hidden_layers"]))),
        heads=sizes["num_attention_heads"],
        activation=activation,
    )
    tensors.check_rest()
    return encoder


class _Tensors:
    """Tensors of a file, each with the shape that it must have."""

    def __init__(self, path: Path, tensors: Mapping[str, tensor_files.Tensor]) -> None:
        self._path, self._tensors = path, tensors
        self._taken: set[str] = set()

    def take(self, name: str, *shape: int) -> np.ndarray:
        """Return a tensor as floats."""
        where = f"tensor '{shown(name)}'"
        self._taken.add(name)
        tensor = self._tensors.get(name)
        if tensor is None:
            raise FileError(self._path, "is missing", where)
        if not tensor.is_float or tensor.array.shape != shape:
            wanted = " x ".join(map(str, shape))
            actual = " x ".join(map(str, tensor.array.shape)) or "a number"
            kind = "floats" if tensor.is_float else "integers"
            raise FileError(self._path, f"must be {wanted} floats, not {actual} {kind}", where)
        values = tensor.values()
        if not np.isfinite(values).all():
            raise FileError(self._path, "must be of finite numbers", where)
        return values

    def check_rest(self) -> None:
        """Refuse what nothing took, but for what means nothing to a mean of all rows."""
        check_all_used(self._path, "tensor", self._tensors, self._taken | _HARMLESS)
        places = self._tensors.get(_PLACES)
        if places is not None:
            numbers = np.ravel(places.array)
            if places.is_float or not np.array_equal(numbers, np.arange(numbers.size)):
                raise FileError(self._path, "must be 0, 1, 2, ...", f"tensor '{_PLACES}'")

    def dense(self, name: str, depth: int, columns: int) -> Dense:
        """Return weights, which files have as N x K, and a bias."""
        weights = self.take(f"{name}.weight", columns, depth)
        return Dense(weights=weights.T, bias=self.take(f"{name}.bias", columns))

    def norm(self, name: str, width: int) -> Norm:
        """Return a norm."""
        gamma, beta = (self.take(f"{name}.{part}", width) for part in ("weight", "bias"))
        return Norm(gamma=gamma, beta=beta)


def _configuration(path: Path, text: str) -> tuple[dict[str, int], str]:
    """Read the sizes of a model, and its activation."""
    try:
        facts: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"no valid JSON: {error}") from None
    if not isinstance(facts, dict):
        raise FileError(path, "must be an object")
    sizes = {}
    for name, most in _SIZES.items():
        value = facts.get(name)
        if type(value) is not int or not 1 <= value <= most:
            raise FileError(path, f"must be 1..{most}, not {shown(repr(value), 40)}", name)
        sizes[name] = value
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        raise FileError(
            path,
            f"must divide hidden_size, {sizes['hidden_size']}, not be"
            f" {sizes['num_attention_heads']}",
            "num_attention_heads",
        )
    for name, legal in (
        ("model_type", ("bert",)),
        ("hidden_act", ACTIVATIONS),
        ("position_embedding_type", ("absolute",)),
        ("layer_norm_eps", (EPSILON,)),
        ("is_decoder", (False,)),
        ("add_cross_attention", (False,)),
    ):
        value = facts.get(name, legal[0])
        if value not in legal:
            raise FileError(
                path,
                f"must be one of {', '.join(map(str, legal))}, not {shown(repr(value), 40)}",
                name,
            )
    return sizes, facts.get("hidden_act", ACTIVATIONS[0])
