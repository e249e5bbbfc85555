"""A run of a network as it is asked for, checked before anything runs, and its output files."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.compiler.front.inputs import batch_of, read_inputs, read_labels
from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.names import label, within_file
from carrysave.compiler.lowered.evaluate import ProductError
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.split_product import shares_of
from carrysave.compiler.passes.arithmetic import arithmetic
from carrysave.compiler.passes.pipeline import lower, rest
from carrysave.compiler.program.head_ways import AUTO, WAYS, HeadWays, sentences
from carrysave.compiler.run import view
from carrysave.compiler.run.alone import Block, simulated
from carrysave.compiler.run.outputs import archive
from carrysave.compiler.run.products import SIMULATIONS, RunSettings, run
from carrysave.compiler.run.results import Run
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, check_choice, installed, refusal, remedy
from carrysave.progress import Steps
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design

__all__ = ["REQUANTISERS", "RunRequest", "execute", "write"]

REQUANTISERS = ("hardware", "host")


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A request for a run.

    Parameters
    ----------
    model : file.
    data, labels : files, or what they have.
    design : a co-processor.
    simulate : one of :data:`carrysave.compiler.run.products.SIMULATIONS`.
    requantise : one of :data:`REQUANTISERS`.
    batch : inputs at once; None: the model's, or 8.
    library : loads that of cells, for energy, after the model is read. None: no energy; nor for a
        text, which says why.
    block : what runs the part of the products that `simulate` says; None: the simulated design.
    fallback : onnxruntime runs the nodes that neither the block nor the host can run.
    compare : results are compared with onnxruntime's, if that is there.
    reading : how the model is read.
    timing : of the co-processor's memory; None: as the design says.
    attention : one of :data:`carrysave.compiler.program.head_ways.WAYS`.
    """

    model: Path
    data: Path | np.ndarray | Mapping[str, np.ndarray]
    labels: Path | np.ndarray | None
    design: Design
    simulate: str
    requantise: str
    batch: int | None
    library: Callable[[], Library | str | None]
    block: Block | None = None
    fallback: bool = False
    compare: bool = True
    reading: ReadOptions = field(default_factory=ReadOptions)
    timing: MemoryTiming | None = None
    attention: str = AUTO

    def __post_init__(self) -> None:
        """Check the choices."""
        check_choice("simulate", self.simulate, SIMULATIONS)
        check_choice("requantise", self.requantise, REQUANTISERS)
        check_choice("attention", self.attention, WAYS)
        if self.fallback and not installed("onnxruntime"):
            raise ArgumentError("{host_fallback} needs {_package}", _package=remedy("onnxruntime"))
        if self.batch is not None and self.batch < 1:
            raise refusal("batch", "1 or more", str(self.batch))


def execute(
    request: RunRequest, runs: Path, steps: Steps
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Run a model.

    Parameters
    ----------
    runs : each simulation gets a folder of its own there.

    Returns
    -------
    The facts of :func:`carrysave.compiler.run.view.facts`, with ``model``, ``command``, ``notes``
    on what is left out, and ``files``, none yet; and the outputs by name.
    """
    steps.step(f"read {request.model.name}")
    graph, samples = request.reading.read(request.model, subgraphs=request.fallback)
    inputs = read_inputs(request.data, graph, "x", samples)
    batch = batch_of(request.batch, graph, inputs, samples)
    if not samples.count(inputs) % batch:  # else the last batch has another size
        graph = sized(graph, samples.part(inputs, 0, batch))
    labels = read_labels(request.labels, samples.count(inputs))
    alone = request.simulate == "none" and request.block is None
    target = Target(request.design, golden=alone, timing=request.timing).checked()
    ways = HeadWays(target, request.attention)
    with within_file(request.model):
        whole = lower(graph, target, fallback=request.fallback, attention=ways)
    library = request.library()
    if isinstance(library, Library) and request.design.device is not None:
        library = f"the engine is of blocks of {request.design.device}, not of cells"
    notes = [f"no energy: {library}"] if isinstance(library, str) else []
    notes += library.notes if isinstance(library, Library) else []
    with within_file(request.model):
        lowered, outcome = _ran(request, ways, whole, inputs, samples, batch, runs, steps)
    for kind, count in Counter(lowered.quantised_on_reading.values()).items():
        notes.append(f"{count} {kind} in floats: weights became int8 when it was read")
    notes += [f"by onnxruntime: {label(one.node)}: {one.reason}" for one in lowered.fallbacks]
    notes += [f"not on the block: {text}" for text in lowered.refused]
    notes += sentences(ways.facts())
    energy = None
    if isinstance(library, Library):
        pairs = [pair for product in lowered.products for pair in shares_of(product)]
        from carrysave.compiler.target.energy import measure  # loads all of synthesis

        energy = measure(target, pairs, library, steps)
    if not request.compare:
        notes.append("no comparison, as asked for")
    elif outcome.comparison is None:
        notes.append(f"no comparison, which needs {remedy('onnxruntime')}")
    return {
        "model": request.model.name,
        "command": "",
        **view.facts(outcome, lowered, target, labels, energy),
        "attention": ways.facts(),
        "notes": notes,
        "files": [],
    }, outcome.outputs


def _ran(
    request: RunRequest,
    ways: HeadWays,
    whole: Lowered,
    inputs: dict[str, np.ndarray],
    samples: Samples,
    batch: int,
    runs: Path,
    steps: Steps,
) -> tuple[Lowered, Run]:
    """Run a model, the products that a run shows the block cannot do by onnxruntime if allowed."""
    target, refused = ways.target, dict[str, str]()
    settings = RunSettings(
        batch=batch,
        simulation=request.simulate,
        in_hardware=request.requantise == "hardware",
        block=request.block or simulated(target, runs),
        compare=request.compare,
    )
    while True:
        lowered = rest(whole, target)
        try:
            before = arithmetic(whole, lowered)
            return lowered, run(lowered, target, inputs, samples, settings, steps, before)
        except ProductError as error:
            # Sizes and sums that only the run shows: again, without the product.
            if not request.fallback or error.node in refused:
                raise
            refused[error.node] = str(error)
            whole = lower(whole.graph, target, fallback=True, without=refused, attention=ways)


def write(folder: Path, facts: dict[str, Any], outputs: Mapping[str, np.ndarray]) -> list[str]:
    """Write outputs, table, JSON and a picture."""
    contents = {
        "outputs.npz": archive(outputs),
        "layers.md": view.markdown(facts).encode(),
        "layers.svg": view.draw(facts),
    }
    files = [cache.write(folder / name, content) for name, content in contents.items()]
    names = [str(path) for path in (*files, folder / "run.json")]
    cache.write(folder / "run.json", json.dumps({**facts, "files": names}, indent=2) + "\n")
    return names
