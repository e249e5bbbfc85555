"""A text encoder with weights and activations in formats."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from carrysave.compiler.encoder.evaluate import rank_correlation
from carrysave.compiler.encoder.floats import encode, multiplied
from carrysave.compiler.front.encoder_weights import Dense, read_encoder
from carrysave.compiler.front.sentences import read_tokens
from carrysave.precision.intervals import around
from carrysave.precision.options import Pair
from golden.formats.names import parse
from scripts.figures.precision_text import Figure, Text
from scripts.language.rounded_products import Rounded
from verif.support.sentences import CALIBRATION, EVALUATION, sayings, unpacked

__all__ = ["encoder"]

PARTS = 32
"""Groups of sentences that are left out in turn, for the interval of a rank correlation."""


def encoder(count: int, few: int, names: Sequence[str]) -> Text:
    """all-MiniLM-L6-v2: the rank correlation of sentences' cosines with those in floats."""
    with TemporaryDirectory() as folder:
        path = unpacked(Path(folder))
        model = read_encoder(path)
        tokens = [
            read_tokens(path, sayings(files, most), 512)[0]
            for files, most in ((EVALUATION, count), (CALIBRATION, few))
        ]
    sentences, calibration = tokens
    known: Any = {name: parse(name) for name in names}
    blocks = {
        f"{number}.{part}": getattr(block, part)
        for number, block in enumerate(model.blocks)
        for part in ("qkv", "out", "up", "down")
    }
    rows: dict[str, np.ndarray] = {}

    def keep(name: str, layer: Dense, x: np.ndarray) -> np.ndarray:
        rows[name] = x
        return multiplied(name, layer, x)

    encode(model, calibration, multiply=keep)
    rounded = Rounded(
        {name: layer.weights.astype(np.float32) for name, layer in blocks.items()}, rows, known
    )

    def vectors(given: list[np.ndarray], picks: Sequence[Pair] | None) -> np.ndarray:
        given_pairs: Sequence[Pair | None] = picks or [None] * len(blocks)
        pair_of = dict(zip(blocks, given_pairs, strict=True))

        def multiply(name: str, layer: Dense, x: np.ndarray) -> np.ndarray:
            pair = pair_of[name]
            if pair is None:
                return multiplied(name, layer, x)
            return rounded.product(name, pair, x) + layer.bias

        return encode(model, given, multiply=multiply)

    wanted = vectors(sentences, None)

    def judge(picks: Sequence[Pair] | None) -> Figure:
        return ranked(wanted if picks is None else vectors(sentences, picks), wanted)

    return Text(
        f"{count} sentences",
        [[name] for name in blocks],
        rounded,
        lambda picks: vectors(calibration[:8], picks),
        judge,
    )


def ranked(ranks: np.ndarray, wanted: np.ndarray) -> Figure:
    """Return the rank correlation, and its interval by leaving out groups in turn (jackknife)."""
    value = rank_correlation(ranks, wanted) or 0.0
    groups = np.arange(len(ranks)) * PARTS // len(ranks)
    left = np.array([
        rank_correlation(ranks[groups != one], wanted[groups != one]) for one in range(PARTS)
    ])
    error = float(((PARTS - 1) / PARTS * ((left - left.mean()) ** 2).sum()) ** 0.5)
    low, high = around(value, error)
    return Figure(value, (low, min(high, 1.0)), None, None)
