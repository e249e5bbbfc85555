"""Texts in twenty scripts, and a vocabulary of pieces with scores, for tests of vocabularies."""

from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["merged", "scored", "strings"]

SCRIPTS = {
    "Latin": 0x41,
    "Latin-1": 0xE0,
    "Greek": 0x3B1,
    "Cyrillic": 0x430,
    "Armenian": 0x561,
    "Hebrew": 0x5D0,
    "Arabic": 0x628,
    "Devanagari": 0x905,
    "Bengali": 0x985,
    "Tamil": 0xB85,
    "Telugu": 0xC05,
    "Thai": 0xE01,
    "Georgian": 0x10D0,
    "Ethiopic": 0x1200,
    "Hiragana": 0x3042,
    "Katakana": 0x30A2,
    "Han": 0x4E00,
    "Hangul": 0xAC00,
    "digits": 0x30,
    "pictures": 0x1F600,
}
"""First letters of some."""


def strings(count: int) -> list[str]:
    """Return texts of words in all scripts, with spaces, marks and ends of lines."""
    rng, made = np.random.default_rng(6), []
    scripts = list(SCRIPTS.values())
    for _ in range(count):
        words = []
        for _ in range(rng.integers(1, 6)):
            first = scripts[rng.integers(len(scripts))]
            words.append(
                "".join(chr(first + one) for one in rng.integers(0, 9, rng.integers(1, 7)))
            )
        between = [" ", "  ", "\n", ", ", "'s ", ""][rng.integers(6)]
        made.append(between.join(words))
    return made


def scored() -> dict[str, Any]:
    """Return facts of a vocabulary of pieces, with bytes for what is no piece."""
    rng = np.random.default_rng(7)
    texts = strings(40)
    grams = sorted({
        text[at : at + size]
        for text in (one.replace(" ", "\u2581") for one in texts)
        for size in (1, 2, 3, 4)
        for at in range(len(text) - size + 1)
    })
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{one:02X}>" for one in range(256)), *grams]
    scores = np.concatenate([np.zeros(259), -rng.permutation(len(grams)).astype(np.float32)])
    kinds = np.array([2, 3, 3, *[6] * 256, *[1] * len(grams)], np.int32)
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores.astype(np.float32),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def merged(facts: dict[str, Any], text: str) -> list[int]:
    """Merge pieces as SentencePiece says: the best score of a pair, the first of equal ones."""
    tokens = {one: at for at, one in enumerate(facts["tokenizer.ggml.tokens"])}
    scores = facts["tokenizer.ggml.scores"]
    parts = list("\u2581" + text.replace(" ", "\u2581"))
    while True:
        pairs = [
            (-float(scores[tokens[first + second]]), at)
            for at, (first, second) in enumerate(pairwise(parts))
            if first + second in tokens
        ]
        if not pairs:
            break
        _, at = min(pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    made: list[int] = []
    for part in parts:
        bytes_ = [tokens[f"<0x{one:02X}>"] for one in part.encode()]
        made += [tokens[part]] if part in tokens else bytes_
    return made
