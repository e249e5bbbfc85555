"""``carrysave embed``: its options, checked before anything runs, and its output files."""

import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.encoder import view
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.evaluate import (
    batches,
    cosines,
    normalised,
    rank_correlation,
    taken,
    vectors,
)
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.simulate import SIMULATIONS, Part, parts, simulated
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.front.sentences import read_tokens
from carrysave.compiler.run.outputs import folder_name
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, check_choice, needs
from carrysave.progress import Steps
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design
from hw.emit.user_files import FileError, read_text

__all__ = ["PARAMETERS", "UNIT", "EmbedRequest", "execute", "lines_of", "parameters", "unit_of"]

UNIT = (
    "vector_unit(width=16,scale_width=8,out_width=16,signed=true,norm_fraction=8,length=1024,"
    "quotient_bits=4,operations=softmax,layer_norm,gelu,add,multiply,scale)"
)
"""The vector unit, if the design has none."""
PARAMETERS = {"vector": UNIT, "code_bytes": "2", "transpose": "true", "gather": "true"}
"""Of the co-processor, unless given."""


def parameters(given: Mapping[str, str]) -> dict[str, str]:
    """Return the co-processor's parameters: those given, and of the others an encoder's."""
    # Without a unit there is nothing of it either, and it is the unit that is missing.
    missing = {}
    if given.get("vector") == "none":
        missing = {"transpose": "false", "gather": "false"}
    return {**PARAMETERS, **missing, **given}


@dataclass(frozen=True, kw_only=True)
class EmbedRequest:
    """A request for vectors of sentences.

    Parameters
    ----------
    model : folder of a text encoder.
    text : file, a sentence in each line.
    calibration : the same, of sentences that steps are chosen for; None: those of `text`.
    design : a co-processor with a vector unit.
    batch : sentences in a program.
    simulate : one of :data:`carrysave.compiler.encoder.simulate.SIMULATIONS`.
    """

    model: Path
    text: Path
    calibration: Path | None
    design: Design
    batch: int
    simulate: str = "none"

    def __post_init__(self) -> None:
        """Check the numbers, the choice, and the unit."""
        check_choice("--simulate", self.simulate, SIMULATIONS)
        if not 1 <= self.batch <= 4096:
            raise UsageError(f"--batch must be 1..4096 sentences, not {self.batch}")
        unit_of(Target(self.design))


def unit_of(target: Target) -> VectorUnitSpec:
    """Return the vector unit of a design; ValueError if encoders cannot run on it."""
    unit = target.spec.vector
    if unit is None:
        raise ValueError("vector must be a vector unit, not none")
    if unit.width != 16:
        raise ValueError(f"width of the vector unit must be 16, not {unit.width}")
    if not unit.signed:
        raise ValueError("signed of the vector unit must be true: shares are signed operands")
    if not target.spec.sizes:
        raise ValueError("code_bytes must be 2, not 1: most products make codes of 16 bits")
    return unit


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
    target = Target(request.design)
    steps.step(f"read {request.model.name}")
    encoder = read_encoder(request.model)
    unit = unit_of(target)
    if encoder.width > unit.length:
        raise ValueError(
            f"length of the vector unit must be {encoder.width} or more, not {unit.length}"
        )
    most = min(len(encoder.positions), unit.length)
    texts = lines_of(request.text)
    sentences, cut = read_tokens(request.model, texts, most)
    encoder.check(sentences)
    chosen = sentences
    if request.calibration is not None:
        chosen, _ = read_tokens(request.model, lines_of(request.calibration), most)
        encoder.check(chosen)
    steps.step(f"choose steps by {len(chosen)} sentences")
    began = time.monotonic()
    integers = quantise(encoder, ranges(encoder, chosen), unit)
    middle = time.monotonic()
    first, *rest = batches(sentences, request.batch)
    steps.step(f"compute sentences 1 to {len(first)} of {len(sentences)}, and count cycles")
    program = compiled(integers, first, target)
    counted = taken(program)
    parts_made = [normalised(vectors(program))]
    for part in rest:
        done = sum(map(len, parts_made))
        steps.step(f"compute sentences {done + 1} to {done + len(part)} of {len(sentences)}")
        parts_made.append(normalised(vectors(compiled(integers, part, target))))
    made = np.concatenate(parts_made)
    ended = time.monotonic()
    steps.step("compute them in floats")
    wanted = np.concatenate([encode(encoder, part) for part in batches(sentences, request.batch)])
    near = cosines(made, wanted)
    chosen_jobs: list[Part] = []
    counters: list[dict[str, int]] = []
    apart: list[str] = []
    if request.simulate != "none":
        some, chosen_jobs = parts(compiled(integers, first[:1], target), request.simulate)
        steps.step(f"run {len(chosen_jobs)} jobs on {request.design.module}")
        counters, apart = simulated(some, chosen_jobs, folder / "runs")
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
        "batch": len(first),
        **view.figures(counted),
        "simulate": request.simulate,
        "simulated": len(chosen_jobs),
        "simulated_cycles": sum(one["cycles"] for one in counters),
        "whole_cycles": sum(
            counted["cycles"]
            for one, counted in zip(chosen_jobs, counters, strict=True)
            if one.modelled is not None
        ),
        "whole_modelled": sum(one.modelled or 0 for one in chosen_jobs),
        "wrong": apart,
        "seconds": {"calibration": round(middle - began, 1), "golden": round(ended - middle, 1)},
    }
    here = folder / "embed" / facts["model"]
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, made.astype(np.float32), allow_pickle=False)
    contents = {"vectors.npy": buffer.getvalue(), "jobs.md": view.markdown(facts).encode()}
    files = [cache.write(here / name, content) for name, content in contents.items()]
    facts["files"] = [str(path) for path in (*files, here / "embed.json")]
    cache.write(here / "embed.json", json.dumps(facts, indent=2) + "\n")
    return facts


def lines_of(path: Path) -> list[str]:
    """Read a file's lines; those without letters are left out."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise FileError(path, "must have a sentence in a line, or more")
    return lines
