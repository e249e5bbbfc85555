"""``carrysave run``: what its options ask for, checked before anything runs, and what it writes."""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import paths, synth
from carrysave.liberty import Library
from carrysave.progress import Steps
from carrysave.settings import UsageError
from hw.catalog import Design

from . import view
from .lower import lower
from .model import Graph, load
from .run import SIMULATIONS, run
from .target import Target

__all__ = ["REQUANTISERS", "Request", "execute"]

REQUANTISERS = ("hardware", "host")
_BATCH = 8


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be run.

    Parameters
    ----------
    model, data, labels : files.
    design : a co-processor.
    simulate : one of :data:`carrysave.network.run.SIMULATIONS`.
    requantise : one of :data:`REQUANTISERS`.
    batch : inputs at once; None: the model's, or 8.
    library : for energy; None: none.
    """

    model: Path
    data: Path
    labels: Path | None
    design: Design
    simulate: str
    requantise: str
    batch: int | None
    library: "str | Library | None"

    def __post_init__(self) -> None:
        """Check the choices."""
        for option, value, legal in (
            ("--simulate", self.simulate, SIMULATIONS),
            ("--requantise", self.requantise, REQUANTISERS),
        ):
            if value not in legal:
                raise UsageError(f"{option} must be one of {', '.join(legal)}, not {value!r}")
        if self.batch is not None and self.batch < 1:
            raise UsageError(f"--batch must be 1 or more, not {self.batch}")


def execute(request: Request, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Run a model, and write outputs, figures, table and picture.

    Returns
    -------
    The facts of :func:`carrysave.network.view.facts`, with ``model``, ``command``, ``versions`` and
    ``files``.
    """
    steps.step(f"read {request.model.name}")
    graph = load(request.model)
    inputs = _inputs(request.data, graph)
    graph.check_inputs(inputs)
    batch = _batch(request, graph, inputs)
    labels = _labels(request.labels, len(next(iter(inputs.values()))))
    target = Target(request.design)
    lowered = lower(graph, target)
    found = run(
        lowered,
        target,
        inputs,
        batch=batch,
        simulation=request.simulate,
        in_hardware=request.requantise == "hardware",
        folder=folder / "runs",
        steps=steps,
    )
    energy = _energy(request, target, steps)
    facts: dict[str, Any] = {
        "model": request.model.name,
        "command": command,
        **view.facts(found, lowered, target, labels, energy),
    }
    own = folder / "run" / request.model.stem
    outputs = io.BytesIO()
    arrays: dict[str, Any] = found.outputs
    np.savez(outputs, **arrays)
    contents = {"outputs.npz": outputs.getvalue(), "layers.svg": view.draw(facts),
                "layers.md": view.markdown(facts).encode()}  # fmt: skip
    files = [paths.write(own / name, content) for name, content in contents.items()]
    facts["files"] = [str(path) for path in (*files, own / "run.json")]
    paths.write(own / "run.json", json.dumps(facts, indent=2) + "\n")
    return facts


def _inputs(path: Path, graph: Graph) -> dict[str, np.ndarray]:
    """Read inputs: an array for the only one, or an archive with all by name."""
    found = _read(path, "--input")
    if not isinstance(found, dict):
        if len(graph.inputs) != 1:
            raise UsageError(
                f"--input must be an .npz with {', '.join(graph.inputs)}, not one array"
            )
        found = {next(iter(graph.inputs)): found}
    sizes = {array.shape[:1] for array in found.values()}
    if len(sizes) != 1 or sizes == {()} or sizes == {(0,)}:
        raise UsageError("--input must hold as many inputs, one or more, in each array")
    return found


def _read(path: Path, option: str) -> Any:
    try:
        found = np.load(path)
        return dict(found) if isinstance(found, np.lib.npyio.NpzFile) else found
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise UsageError(f"{option} {path}: no .npy or .npz of numbers") from None


def _batch(request: Request, graph: Graph, inputs: dict[str, np.ndarray]) -> int:
    """Return how many inputs run at once."""
    count = len(next(iter(inputs.values())))
    fixed = {shape[0] for _, shape in graph.inputs.values() if isinstance(shape[0], int)}
    if not fixed:
        return request.batch or _BATCH
    (size,) = fixed if len(fixed) == 1 else (0,)
    if request.batch not in (None, size):
        raise UsageError(f"--batch must be {size}, as in the model, not {request.batch}")
    if not size or count % size:
        raise UsageError(f"--input must be a multiple of {size} inputs, not {count}")
    return size


def _labels(path: Path | None, count: int) -> np.ndarray | None:
    if path is None:
        return None
    labels = _read(path, "--labels")
    if (
        not isinstance(labels, np.ndarray)
        or labels.shape != (count,)
        or labels.dtype.kind not in "iu"
    ):
        raise UsageError(f"--labels must be {count} integers, one for each input")
    return labels


def _energy(request: Request, target: Target, steps: Steps) -> dict[str, Any] | None:
    """Synthesise the engine, for what a product costs in it."""
    engine = target.design.engine
    if request.library is None or engine is None:
        return None
    steps.step(f"synthesise {engine.module}, for its energy")
    result = synth.synthesise_design(engine, request.library, progress=steps.step)
    return {"pj_per_mac": result["pj_per_mac"], "library": result["target"],
            "period_ns": result["period_ns"], "activity": result["activity"]}  # fmt: skip
