"""Text encoders as programs in folders: for a sentence of any length, and vectors from them."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.encoder.command import lines_of
from carrysave.compiler.encoder.compile import TOKENS, VECTORS, compiled_for
from carrysave.compiler.encoder.evaluate import normalised
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.request import parameters, unit_of
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.front.sentences import read_tokens
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.read import read
from carrysave.compiler.program.write import write
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps
from hw.catalog import Design
from hw.emit.user_files import read_text

__all__ = ["compile_folder", "embed_by_program", "is_encoder"]

_TOKENIZER = "tokenizer.json"
_ROWS = "words.rows"
"""Input with the numbers of tokens."""


def is_encoder(path: Path) -> bool:
    """Tell whether a path is the folder of a text encoder."""
    return path.is_dir() and (path / "config.json").exists()


def compile_folder(
    model: Path,
    calibration: Path,
    given: Mapping[str, str],
    folder: Path,
    command: str,
    *,
    tokens: int,
) -> dict[str, Any]:
    """Compile an encoder for one sentence.

    Parameters
    ----------
    model : its folder.
    calibration : text of sentences that steps are chosen for.
    given : parameters of the co-processor.
    folder, command : for the files, and what the user called.
    tokens : of a sentence, at most.

    Returns
    -------
    What :func:`carrysave.compiler.program.facts.facts` says, and ``files``.
    """
    needs("tokenizers", "safetensors")
    target = Target(Design.parse("coprocessor", parameters(given)))
    unit, encoder = unit_of(target), read_encoder(model)
    chosen, _ = read_tokens(model, lines_of(calibration), min(len(encoder.positions), unit.length))
    encoder.check(chosen)
    program = compiled_for(quantise(encoder, ranges(encoder, chosen), unit), tokens, target)
    described = facts(program, command, model.name)
    files = write(program, folder, described)
    # Text to numbers is the host's.
    files.append(cache.write(folder / _TOKENIZER, read_text(model / _TOKENIZER)))
    return described | {"files": [str(file) for file in files]}


def embed_by_program(
    folder: Path, text: Path, output: Path, command: str, steps: Steps
) -> dict[str, Any]:
    """Make vectors of sentences by a program, which golden runs.

    Returns
    -------
    ``command program design sentences tokens cut cycles files``: `cycles` of a sentence of the most
    tokens, by the cost model.
    """
    needs("tokenizers")
    steps.step(f"read {folder.name}")
    program = read(folder)
    most = next((one.high for one in program.parameters if one.name == TOKENS), 0)
    if program.inputs != (_ROWS,) or not most:
        raise UsageError(f"{folder} must be the program of a text encoder")
    sentences, cut = read_tokens(folder, lines_of(text), most)
    memory = program.memory.copy()
    run, words = by_golden(program, memory), program.buffers["words.table"].rows
    made = []
    for number, tokens in enumerate(sentences, 1):
        steps.step(f"compute sentence {number} of {len(sentences)}")
        if tokens.max() >= words:
            raise UsageError(
                f"tokens must be 0..{words - 1}, as of the program, not {tokens.max()}"
            )
        rows = np.zeros((most, 1), np.int64)
        rows[: len(tokens), 0] = tokens
        results = network.run(program, {_ROWS: rows}, memory, run, {TOKENS: len(tokens)})
        made.append(results[VECTORS])
    buffer = io.BytesIO()
    values = normalised(np.concatenate(made)).astype(np.float32)
    np.lib.format.write_array(buffer, values, allow_pickle=False)
    file = cache.write(output / "embed" / folder.name / "vectors.npy", buffer.getvalue())
    own = facts(program, command, folder.name)
    return {
        "command": command,
        "program": str(folder),
        "design": own["design"],
        "sentences": len(sentences),
        "tokens": sum(map(len, sentences)),
        "cut": cut,
        "cycles": own["cycles"],
        "files": [str(file)],
    }
