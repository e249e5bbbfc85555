"""Language models and their vocabularies, from a model's file or a program's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.front.gguf import Model, load
from carrysave.compiler.front.text import Characters, load_text
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.write import MANIFEST
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.errors import needs, refusal
from carrysave.weights.gguf import GgufFile, read_gguf
from golden.soc.memory_timing import MemoryTiming
from hw.emit.user_files import FileError, parsing

__all__ = ["compile_file", "load_model", "load_program"]

_TOKENIZER = "tokenizer."


def load_model(path: Path) -> tuple[Model, Vocabulary | Characters, dict[str, Any]]:
    """Read a model, its vocabulary, and what a program's folder has of the latter."""
    if path.suffix == ".npz":
        model, characters = load_text(path)
        return model, characters, {"characters": characters.characters}
    needs("tokenizers")
    file = read_gguf(path)
    model = load(file)
    stored = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in file.facts.items()
        if name.startswith(_TOKENIZER)
    }
    return model, Vocabulary(file, model.shape.words), stored


def compile_file(
    path: Path,
    parameters: Mapping[str, str],
    *,
    cache: int,
    bits: int | None,
    timing: MemoryTiming | None = None,
) -> tuple[Program, dict[str, Any]]:
    """Compile a model's file.

    Parameters
    ----------
    path : .gguf, or .npz of characters.
    parameters : of the co-processor.
    cache, bits : of :func:`carrysave.compiler.decoder.compile.compile_decoder`; `cache` is at most
        the model's context.
    timing : of the co-processor's memory; None: nothing is known of it.

    Returns
    -------
    The program, and what its manifest has besides, for :func:`load_program`.
    """
    model, _, vocabulary = load_model(path)
    if bits is not None and model.form != "attention":
        raise refusal("kv", "left out, as the model has no cache", str(bits))
    design = block_of(parameters)
    most = min(cache, model.shape.context)
    program = compile_decoder(model, Target(design, timing=timing), cache=most, bits=bits)
    return program, {"decoder": {"cache": most, "vocabulary": vocabulary}}


def load_program(folder: Path, most: int) -> tuple[ProgramDecoder, Vocabulary | Characters]:
    """Read the program of a decoder, which golden runs.

    Parameters
    ----------
    most : tokens that are taken, if the program can.

    Raises
    ------
    FileError
        It is no decoder's.
    """
    path, program = folder / MANIFEST, read(folder)
    with parsing(path, "decoder"):
        facts_ = program.more["decoder"]
        cache, vocabulary = int(facts_["cache"]), dict(facts_["vocabulary"])
        (_,) = program.sections
        runner = by_golden(program, program.memory)
        decoder = ProgramDecoder(program, program.memory, runner, min(cache, most))
    count = decoder.logits.shape[1]
    if "characters" in vocabulary:
        with parsing(path, "characters"):
            words: Vocabulary | Characters = Characters(str(vocabulary["characters"]))
            size = len(vocabulary["characters"])
    else:
        needs("tokenizers")
        listed = {
            name: np.array(value) if name.endswith("token_type") else value
            for name, value in vocabulary.items()
        }
        size = count
        words = Vocabulary(GgufFile(path=path, facts=listed, tensors={}), size)
    if size != count:
        raise FileError(path, f"vocabulary must be of {count} words, not {size}")
    return decoder, words
