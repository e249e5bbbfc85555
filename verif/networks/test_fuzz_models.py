"""Models with random faults: each runs, or is refused; nothing else happens."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.run import view
from carrysave.compiler.run.alone import simulated
from carrysave.compiler.run.outputs import archive
from carrysave.compiler.run.products import RunSettings, run
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError
from carrysave.progress import Steps
from hw.catalog import Design
from verif.networks.mutations import BASES, broken_models
from verif.support.fuzz import broken, budgets, fuzz

CASES = sorted((Path(__file__).parent / "models").glob("*.onnx"))
"""Models that were neither run nor refused once."""

TARGETS = [
    Target(Design("coprocessor", {"engine": "systolic_os(m=2,n=2)"})),
    Target(Design("coprocessor", {"engine": "npe(m=1,n=2)"})),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYSAVE_MAX_SIZE", "16M")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def inputs_of(graph: Graph) -> dict[str, np.ndarray]:
    """Make two samples, or as many as the model is for."""
    found = {}
    for name, (kind, shape) in graph.inputs.items():
        sizes = [size if isinstance(size, int) else 2 for size in shape]
        if np.prod(sizes, dtype=float) > 1e5:
            raise ValueError("too large for a test")
        found[name] = np.ones(sizes, kind)
    graph.check_inputs(found)
    return found


def runs(data: bytes, folder: Path) -> bool:
    """Run a model; tell whether it can."""
    path = folder / "model.onnx"
    path.write_bytes(data)
    console = Console(file=io.StringIO())
    try:
        graph = load(path)
        inputs = inputs_of(graph)
        target = TARGETS[bool(graph.proto.metadata_props)]
        lowered = lower(graph, target)
        settings = RunSettings(
            batch=len(next(iter(inputs.values()))),
            simulation="none",
            in_hardware=True,
            block=simulated(target, folder),
        )
        found = run(lowered, target, inputs, Samples.of(graph), settings, Steps(console))
        facts = {
            "model": "m",
            "command": "c",
            "notes": [],
            **view.facts(found, lowered, target, None, None),
        }
    except (ValueError, UsageError):
        return False
    json.dumps(facts, allow_nan=False)
    archive(found.outputs)
    view.show(console, facts)
    view.markdown(facts)
    return True


def test_whole_models_run(folder: Path) -> None:
    """Nothing below is refused for another reason than its faults."""
    for model in BASES.values():
        assert runs(model.SerializeToString(), folder)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_cases(path: Path, folder: Path) -> None:
    runs(path.read_bytes(), folder)


@budgets
def test_fuzz_fields(seconds: float, folder: Path) -> None:
    fuzz(lambda data: runs(data, folder), broken_models(), seconds)


@budgets
def test_fuzz_bytes(seconds: float, folder: Path) -> None:
    good = [model.SerializeToString() for model in BASES.values()]
    fuzz(lambda data: runs(data, folder), broken(good), seconds)
