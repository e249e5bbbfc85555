"""``carrysave embed``: vectors, figures, and output files."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.encoder import view
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.evaluate import (
    Taken,
    batches,
    normalised,
    rank_correlation,
    taken,
    vectors,
)
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.request import EmbedOptions, EmbedRequest, asked, unit_of
from carrysave.compiler.front.encoder_weights import Encoder, read_encoder
from carrysave.compiler.front.sentences import read_tokens
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.outputs import folder_name, npy
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.errors import needs
from carrysave.progress import Steps
from golden.npe.vector import VectorUnitSpec
from hw.emit.user_files import FileError, read_text

__all__ = ["execute", "lines_of", "sample_of"]

_LAYER = "0"


def execute(request: EmbedRequest, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Compute vectors, and write them, figures and a table.

    Returns
    -------
    ``model``, ``command``, ``design``, ``sentences``, ``tokens``, ``cut`` (sentences that are
    longer than the encoder or the vector unit takes), ``calibration`` (sentences),
    ``cosine_mean`` and ``cosine_least`` with the vectors in floats, ``rank_correlation`` of all
    pairs' cosines, ``batch`` (sentences in the first program), the figures of
    :func:`carrysave.compiler.encoder.view.figures` for that list, ``simulate``; ``simulated``
    (jobs of the first sentence), ``whole_cycles`` and ``whole_modelled`` (cycles of whole ones,
    counted and by models), ``simulated_cycles`` that the hardware counts, and ``wrong``,
    layers with other results than golden's; ``seconds``, ``files``.
    """
    needs("tokenizers", "safetensors", "scipy")
    target, options = Target(request.design), request.options
    steps.step(f"read {request.model.name}")
    encoder, sentences, chosen, cut = _read(request, unit_of(target))
    steps.step(f"choose steps by {len(chosen)} sentences")
    began = time.monotonic()
    integers = quantise(encoder, ranges(encoder, chosen), unit_of(target))
    middle = time.monotonic()
    made, counted = _vectors(integers, sentences, options, target, steps)
    ended = time.monotonic()
    steps.step("compute them in floats")
    wanted = np.concatenate([encode(encoder, part) for part in batches(sentences, options.batch)])
    near = (made * wanted).sum(axis=1)  # both are of length 1
    facts: dict[str, Any] = {
        "model": folder_name(request.model),
        "command": command,
        "design": request.design.module,
        "sentences": len(sentences),
        "tokens": sum(one.size for one in sentences),
        "cut": cut,
        "calibration": len(chosen),
        "cosine_mean": float(near.mean()),
        "cosine_least": float(near.min()),
        "rank_correlation": rank_correlation(made, wanted),
        "batch": min(len(sentences), options.batch),
        **view.figures(counted),
        "simulate": options.simulate,
        **_simulated(request, integers, sentences[:1], folder / "runs", steps),
        "seconds": {"calibration": round(middle - began, 1), "golden": round(ended - middle, 1)},
    }
    facts["files"] = _write(folder / "embed" / facts["model"], made, facts)
    return facts


def _read(
    request: EmbedRequest, unit: VectorUnitSpec
) -> tuple[Encoder, list[np.ndarray], list[np.ndarray], int]:
    """Return the encoder, tokens of sentences and of those of calibration, and how many are cut."""
    encoder = read_encoder(request.model)
    if encoder.width > unit.length:
        raise ValueError(
            f"length of the vector unit must be {encoder.width} or more, not {unit.length}"
        )
    most = min(len(encoder.positions), unit.length)
    sentences, cut = read_tokens(request.model, lines_of(request.text), most)
    encoder.check(sentences)
    chosen = sentences
    if request.options.calibration is not None:
        chosen, _ = read_tokens(request.model, lines_of(request.options.calibration), most)
        encoder.check(chosen)
    return encoder, sentences, chosen, cut


def _vectors(
    integers: IntegerEncoder,
    sentences: list[np.ndarray],
    options: EmbedOptions,
    target: Target,
    steps: Steps,
) -> tuple[np.ndarray, Taken]:
    """Return all vectors, and what the first program takes."""
    (first, *rest), way = batches(sentences, options.batch), asked(options)
    steps.step(f"compute sentences 1 to {len(first)} of {len(sentences)}, and count cycles")
    program = compiled(integers, first, target, attention=way)
    counted = taken(program)
    made = [normalised(vectors(program))]
    for part in rest:
        done = sum(map(len, made))
        steps.step(f"compute sentences {done + 1} to {done + len(part)} of {len(sentences)}")
        made.append(normalised(vectors(compiled(integers, part, target, attention=way))))
    return np.concatenate(made), counted


def _simulated(
    request: EmbedRequest,
    integers: IntegerEncoder,
    sentence: list[np.ndarray],
    runs: Path,
    steps: Steps,
) -> dict[str, Any]:
    """Run jobs of a sentence on the block, if that is asked for; return what it counts."""
    names = ("simulated", "simulated_cycles", "whole_cycles", "whole_modelled")
    if request.options.simulate == "none":
        return {**dict.fromkeys(names, 0), "wrong": []}
    target, way = Target(request.design), asked(request.options)
    program = compiled(integers, sentence, target, attention=way)
    sample = sample_of(program, request.options.simulate, runs, steps.step)
    sample.execute(program.memory.copy(), program.sections[0].start)
    sample.run()
    counted = sum(sample.jobs.values()), sample.counted
    whole = sample.whole_counted, sample.whole_modelled
    return {**dict(zip(names, counted + whole, strict=True)), "wrong": list(sample.wrong)}


def sample_of(program: Program, simulate: str, folder: Path, tell: Callable[[str], None]) -> Sample:
    """Return what takes a job of each kind of each layer; of the first layer all, if asked for.

    Parameters
    ----------
    simulate : of :data:`carrysave.compiler.encoder.request.SIMULATIONS`.
    folder, tell : of :class:`Sample`.
    """

    def whole(step: Start) -> bool:
        return simulate == "layer" and step.node.partition(".")[0] == _LAYER

    return Sample(
        program, every=whole, seed=0, folder=folder, tell=tell, each=1,
        kind=lambda step, job: f"{step.node} {step.operator}",
    )  # fmt: skip


def _write(folder: Path, made: np.ndarray, facts: dict[str, Any]) -> list[str]:
    """Write vectors, a table and JSON; return the names of the files."""
    contents = {"vectors.npy": npy(made.astype(np.float32))}
    contents["jobs.md"] = view.markdown(facts).encode()
    files = [cache.write(folder / name, content) for name, content in contents.items()]
    names = [str(path) for path in (*files, folder / "embed.json")]
    cache.write(folder / "embed.json", json.dumps(facts | {"files": names}, indent=2) + "\n")
    return names


def lines_of(path: Path) -> list[str]:
    """Read a file's lines; those without letters are left out."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FileError(path, "must have a sentence in a line, or more")
    return lines
