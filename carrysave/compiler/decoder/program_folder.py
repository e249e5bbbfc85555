"""Language models as programs, compiled from a model's file, or read from a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.compile import LOGITS, ProgramDecoder, compile_decoder
from carrysave.compiler.decoder.cores import NF4
from carrysave.compiler.decoder.folder import load_model, stored_vocabulary
from carrysave.compiler.decoder.skip import with_skips
from carrysave.compiler.decoder.units import VECTOR
from carrysave.compiler.front.decoder import CACHE_BITS
from carrysave.compiler.front.gguf import ROUNDED_BITS
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import (
    FILES,
    Vocabulary,
    vocabulary_of,
    vocabulary_of_folder,
)
from carrysave.compiler.program.names import MANIFEST
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.run.network import Runner, by_golden
from carrysave.compiler.target.target import Target
from carrysave.errors import needs, refusal
from hw.emit.user_files import FileError, parsing

__all__ = ["compile_file", "load_program", "tokens_of", "words_of"]


def tokens_of(path: Path, cache: int) -> int:
    """Return how many tokens a cache of a model's file has: at most the model's context.

    Of few tokens, for which any vector unit is long enough, the file is not asked.
    """
    if cache <= VECTOR.length:
        return cache
    return min(cache, load_model(path).model.shape.context)


def compile_file(
    path: Path,
    target: Target,
    *,
    cache: int,
    bits: int | None,
    skip: float = 0.0,
    text: Path | None = None,
) -> tuple[Program, dict[str, Any]]:
    """Compile a model's file.

    Parameters
    ----------
    path : of :func:`load_model`.
    target : the co-processor.
    cache, bits : of :func:`carrysave.compiler.decoder.compile.compile_decoder`; `cache` is at most
        the model's context.
    skip, text : of :func:`with_skips`: a share of inputs of feed-forwards counts as zero; rows of
        weights are not read where the co-processor has lists.

    Returns
    -------
    The program, and what its manifest has besides, for :func:`load_program`.
    """
    table = target.mode.expander.name == NF4
    loaded = load_model(path, NF4 if table else ROUNDED_BITS)
    model = loaded.model
    if bits is not None and model.form != "attention":
        raise refusal("kv", "left out, as the model has no cache", str(bits))
    if bits not in (None, *CACHE_BITS):
        raise refusal("kv", "8 or 4 bits", str(bits))
    if not 0 <= skip < 1:
        raise refusal("skip", "0 or more, and below 1", str(skip))
    model, _ = with_skips(model, loaded.words, skip, text)
    most = min(cache, model.shape.context)
    program = compile_decoder(model, target, cache=most, bits=bits)
    return program, {"decoder": {"cache": most, "vocabulary": stored_vocabulary(path)}}


def _on_golden(program: Program) -> tuple[np.ndarray, Runner]:
    memory = program.memory
    return memory, by_golden(program, memory)


def load_program(
    folder: Path, most: int, on: Callable[[Program], tuple[np.ndarray, Runner]] = _on_golden
) -> tuple[ProgramDecoder, Vocabulary | Characters]:
    """Read the program of a decoder.

    Parameters
    ----------
    most : tokens that are taken, if the program can.
    on : returns the memory of a program, and what runs it: golden by default.

    Raises
    ------
    FileError
        It is no decoder's.
    """
    program = read(folder)
    cache, words = words_of(program, folder)
    return ProgramDecoder(program, *on(program), min(cache, most)), words


def words_of(program: Program, folder: Path) -> tuple[int, Vocabulary | Characters]:
    """Return how many tokens the program of a decoder takes, and its vocabulary.

    Parameters
    ----------
    folder : that it was read from, or the model's file, for errors.

    Raises
    ------
    FileError
        It is no decoder's.
    """
    path = folder / MANIFEST
    with parsing(path, "decoder"):
        facts_ = program.more["decoder"]
        cache, vocabulary = int(facts_["cache"]), dict(facts_["vocabulary"])
        _first, *_more = program.sections
        count = program.results[LOGITS].columns
    if "characters" in vocabulary:
        with parsing(path, "characters"):
            words: Vocabulary | Characters = Characters(str(vocabulary["characters"]))
            size = len(vocabulary["characters"])
    else:
        needs("tokenizers")
        size = count
        if "files" in vocabulary:
            with parsing(path, "files"):
                files = {name: str(vocabulary["files"].get(name, "")) for name in FILES}
            there = {name: text for name, text in files.items() if text}
            words = vocabulary_of_folder(folder, there, size)
        else:
            numbers = ("token_type", "scores")
            listed = {
                name: np.array(value) if name.endswith(numbers) else value
                for name, value in vocabulary.items()
            }
            words = vocabulary_of(path, listed, size)
    if size != count:
        raise FileError(path, f"vocabulary must be of {count} words, not {size}")
    return cache, words
