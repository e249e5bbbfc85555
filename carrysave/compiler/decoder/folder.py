"""Language models and their vocabularies, from a model's file."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.front.assembled import assembled
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import ROUNDED_BITS, described
from carrysave.compiler.front.text import Characters, load_text
from carrysave.compiler.front.text_tokens import (
    Vocabulary,
    files_of,
    vocabulary_of,
    vocabulary_of_folder,
)
from carrysave.errors import needs
from carrysave.weights.gguf import read_gguf

__all__ = ["Loaded", "load_model", "stored_vocabulary"]

_TOKENIZER = "tokenizer."


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """What a model's file says.

    Members
    -------
    model, words : weights; and words to tokens, and back.
    rounded : for each kind of matrices in the file how many there are, and the largest error that
        their rounding made, relative to their values, as rms.
    """

    model: Model
    words: Vocabulary | Characters
    rounded: dict[str, tuple[int, float]] = field(default_factory=dict)


def load_model(path: Path, bits: int | str = ROUNDED_BITS) -> Loaded:
    """Read a model and its vocabulary.

    Parameters
    ----------
    path : .gguf, .npz of characters, or the folder of a checkpoint.
    bits : to which matrices of floats are rounded, 2 to 8; or a table.
    """
    if path.suffix == ".npz":
        model, characters = load_text(path)
        return Loaded(model=model, words=characters)
    needs("tokenizers")
    if path.is_dir():
        model, rounded = load_checkpoint(path, bits)
        words = vocabulary_of_folder(path, files_of(path), model.shape.words)
        return Loaded(model=model, words=words, rounded=rounded)
    file = read_gguf(path)
    description, source = described(file, bits)
    words = vocabulary_of(path, file.facts, description.shape.words)
    # A file's list of words takes as much memory as the vocabulary: it goes before weights come.
    del file
    model = assembled(description, source, set())
    return Loaded(model=model, words=words, rounded=source.rounded)


def stored_vocabulary(path: Path) -> dict[str, Any]:
    """Return what a program's folder has of a model's vocabulary; of :func:`load_model`'s path."""
    if path.suffix == ".npz":
        return {"characters": load_text(path)[1].characters}
    if path.is_dir():
        return {"files": files_of(path)}
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in read_gguf(path).facts.items()
        if name.startswith(_TOKENIZER)
    }
