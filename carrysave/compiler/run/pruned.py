"""A run of a network whose weights are pruned, with the dense one beside."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.front.pruning import Pruned, prune
from carrysave.compiler.run import request as as_read
from carrysave.compiler.run.request import RunRequest
from carrysave.errors import ArgumentError
from carrysave.progress import Steps
from golden.formats.sparse import DENSE, SparseFormat
from hw.catalog import Design
from hw.emit.user_files import shown

__all__ = ["execute"]


def execute(
    request: RunRequest, runs: Path, steps: Steps
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Run a model as :func:`carrysave.compiler.run.request.execute` does, pruned if that is asked.

    Then it also runs as it is, by the golden model.

    Returns
    -------
    The facts and outputs; of a pruned model ``pruning`` of the facts has what was pruned, and how
    outputs differ from the dense model's. Its weights are in a file beside the runs.
    """
    if request.reading.prune == DENSE:
        return as_read.execute(request, runs, steps)
    reading = replace(request.reading, prune=DENSE)
    dense = replace(
        request,
        design=_without_masks(request.design),
        reading=reading,
        simulate="none",
        compare=False,
        block=None,
        library=lambda: None,
    )
    graph, _ = reading.read(request.model, subgraphs=request.fallback)
    _, rows = prune(graph, SparseFormat.parse(request.reading.prune))
    if not rows:
        raise ArgumentError("{prune} needs products with constant weights; the model has none")
    before, wanted = as_read.execute(dense, runs, steps)
    facts, outputs = as_read.execute(request, runs, steps)
    path = runs / f"{request.model.stem}.{request.reading.prune.replace(':', '_')}.bin"
    cache.write(path, b"".join(row.image or b"" for row in rows))
    facts["pruning"] = {
        "sparsity": request.reading.prune,
        "image": str(path),
        "tensors": list(_described(rows)),
        "outputs": [
            _apart(one, other, outputs[one["name"]], wanted[one["name"]])
            for one, other in zip(facts["outputs"], before["outputs"], strict=True)
        ],
    }
    facts["notes"] += _sentences(facts["pruning"], rows)
    return facts, outputs


def _without_masks(design: Design) -> Design:
    """Return the design with an engine that takes all weights, by which the dense model runs."""
    kind, engine = design.entry.engine, design.engine
    if kind is None or engine is None or engine.parameters.get("sparsity", DENSE) == DENSE:
        return design
    text = kind.extended("engine", design.parameters["engine"], {"sparsity": DENSE})
    return Design(design.name, {**design.changed, "engine": text})


def _described(rows: list[Pruned]) -> Iterator[dict[str, Any]]:
    """Yield what is known of each tensor, and where it is in the image."""
    offset = 0
    for row in rows:
        stored = None if row.image is None else len(row.image)
        where = {"offset": None if stored is None else offset, "stored": stored}
        yield {key: value for key, value in vars(row).items() if key != "image"} | where
        offset += stored or 0


def _apart(
    row: Mapping[str, Any], dense: Mapping[str, Any], ours: np.ndarray, theirs: np.ndarray
) -> dict[str, Any]:
    """Compare an output with the dense model's."""
    difference = ours.astype(np.float64) - theirs.astype(np.float64)
    size = float(np.sqrt(np.mean(np.square(theirs.astype(np.float64)))))
    same = None
    if ours.ndim == 2 and ours.shape[1] > 1:
        same = float(np.mean(ours.argmax(axis=1) == theirs.argmax(axis=1)))
    return {
        "name": row["name"],
        "accuracy": row["accuracy"],
        "accuracy_dense": dense["accuracy"],
        "top1_equal": same,
        "rms_ratio": float(np.sqrt(np.mean(np.square(difference)))) / size if size else None,
    }


def _sentences(pruning: Mapping[str, Any], rows: list[Pruned]) -> list[str]:
    """Say what was pruned, and what it does to outputs."""
    weights, zeros = sum(row.k * row.n for row in rows), sum(row.zeros for row in rows)
    before = sum(row.zeros_before for row in rows)
    lines = [
        f"pruned {pruning['sparsity']}: {zeros:,} of {weights:,} weights are 0, {before:,} before"
    ]
    images = [(row.image, row.k * row.n) for row in rows if row.image is not None]
    if images:
        stored, dense = sum(len(image) for image, _ in images), sum(size for _, size in images)
        lines[0] += f"; without zeros {stored:,} bytes, of {dense:,}: {pruning['image']}"
    for row in pruning["outputs"]:
        parts = []
        if row["accuracy"] is not None:
            parts.append(f"right {row['accuracy']:.2%}, dense {row['accuracy_dense']:.2%}")
        if row["top1_equal"] is not None:
            parts.append(f"the dense model's class for {row['top1_equal']:.2%}")
        if row["rms_ratio"] is not None:
            parts.append(f"rms difference {row['rms_ratio']:.3g} of the dense output's")
        lines.append(f"{shown(row['name'])}: pruned, {'; '.join(parts)}")
    return lines
