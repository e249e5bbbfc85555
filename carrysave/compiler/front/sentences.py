"""Sentences to the numbers of their tokens, by a model's ``tokenizer.json``."""

from pathlib import Path

import numpy as np

from carrysave.errors import needs
from hw.emit.user_files import FileError, parsing, read_text

__all__ = ["read_tokens"]


def read_tokens(folder: Path, sentences: list[str], most: int) -> tuple[list[np.ndarray], int]:
    """Cut sentences into tokens, those of beginning and end included.

    Parameters
    ----------
    folder : with ``tokenizer.json``.
    sentences : texts.
    most : tokens of a sentence; the rest is cut off.

    Returns
    -------
    Numbers of the tokens of each, and how many sentences are cut.

    Raises
    ------
    FileNotFoundError, FileError
        The file is missing, or damaged.
    """
    needs("tokenizers")
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    text = read_text(path)
    with parsing(path, "tokenizer"):
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_padding()
        tokenizer.enable_truncation(most)
        encoded = tokenizer.encode_batch(sentences)
    for number, one in enumerate(encoded, 1):
        if not one.ids:
            raise FileError(path, f"must make a token of sentence {number}, or more")
    cut = sum(bool(one.overflowing) for one in encoded)
    return [np.array(one.ids, dtype=np.int64) for one in encoded], cut
