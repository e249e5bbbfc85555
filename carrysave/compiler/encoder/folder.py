"""Text encoders as programs in folders: for a sentence of any length, and vectors from them."""

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
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.outputs import npy
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design
from hw.emit.user_files import read_text

__all__ = ["compile_folder", "embed_by_program"]

_TOKENIZER = "tokenizer.json"
_ROWS = "words.rows"
"""Input with the numbers of tokens."""


def compile_folder(
    model: Path,
    calibration: Path,
    given: Mapping[str, str],
    *,
    tokens: int,
    timing: MemoryTiming | None = None,
) -> tuple[Program, dict[str, str]]:
    """Compile an encoder for one sentence.

    Parameters
    ----------
    model : its folder.
    calibration : text of sentences that steps are chosen for.
    given : parameters of the co-processor.
    tokens : of a sentence, at most.
    timing : of the co-processor's memory; None: nothing is known of it.

    Returns
    -------
    The program, and files that its folder has besides: text to numbers is the host's.
    """
    needs("tokenizers", "safetensors")
    target = Target(Design.parse("coprocessor", parameters(given)), timing=timing)
    unit, encoder = unit_of(target), read_encoder(model)
    chosen, _ = read_tokens(model, lines_of(calibration), min(len(encoder.positions), unit.length))
    encoder.check(chosen)
    program = compiled_for(quantise(encoder, ranges(encoder, chosen), unit), tokens, target)
    return program, {_TOKENIZER: read_text(model / _TOKENIZER)}


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
    values = normalised(np.concatenate(made)).astype(np.float32)
    file = cache.write(output / "embed" / folder.name / "vectors.npy", npy(values))
    program_facts = facts(program, command, folder.name)
    return {
        "command": command,
        "program": str(folder),
        "design": program_facts["design"],
        "sentences": len(sentences),
        "tokens": sum(map(len, sentences)),
        "cut": cut,
        "cycles": program_facts["cycles"],
        "files": [str(file)],
    }
