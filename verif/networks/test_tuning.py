"""Fine-tuning for formats: operators in JAX, rounding, and weights that are written."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto
from rich.console import Console

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.reference_runtime import Oracle
from carrysave.precision.grid import grid
from carrysave.precision.in_jax import forward, unknown
from carrysave.precision.tuning import tune
from carrysave.progress import Steps
from golden.formats.names import parse
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.networks import Task
from verif.support.schemas import check


def unrounded(node: NodeProto, a: Any, b: Any) -> tuple[Any, Any]:
    return a, b


def small(rng: np.random.Generator) -> Graph:
    """Make a network with every kind of operator that has attributes or a shape."""
    g = Builder(rng, opset=17)

    def drawn(*shape: int) -> str:
        return g.constant(rng.normal(0, 0.5, shape))

    now = g.node("Conv", ["x", drawn(6, 3, 3, 3), drawn(6)], "a", pads=[1, 0, 2, 1], strides=[2, 1])
    now = g.node("HardSwish", [now], "b")
    now = g.node("Conv", [now, drawn(6, 1, 3, 3)], "c", group=6, auto_pad="SAME_UPPER")
    positive = [g.constant(rng.uniform(0.5, 2, 6)) for _ in range(4)]
    now = g.node("BatchNormalization", [now, *positive], "d", epsilon=0.1)
    now = g.node("MaxPool", [now], "e", kernel_shape=[2, 2], pads=[0, 1, 0, 0])
    own = g.node("AveragePool", [now], "f", kernel_shape=[3, 3], pads=[1] * 4)
    own = g.node("HardSigmoid", [own], "g", alpha=0.3)
    now = g.node("Mul", [now, own], "h")
    whole = g.node("GlobalAveragePool", [now], "i")
    now = g.node("Sub", [g.node("LeakyRelu", [now], "j", alpha=0.2), whole], "k")
    now = g.node("Transpose", [now], "l", perm=[0, 2, 3, 1])
    now = g.node("MatMul", [now, drawn(6, 5)], "m")
    now = g.node("Clip", [now, g.constant(-0.7), ""], "n")
    now = g.node("Reshape", [now, g.constant([0, -1, 5], np.int64)], "o")
    now = g.node("Concat", [now, g.node("Tanh", [now], "p")], "q", axis=2)
    now = g.node("Flatten", [now], "r")
    size = 4 * 7 * 10
    now = g.node("Gemm", [now, drawn(4, size), drawn(4)], "s", transB=1, alpha=0.5, beta=2.0)
    g.node("Softmax", [now], "y")
    return Graph(g.model(["count", 3, 8, 8], np.float32, np.float32, ["count", 4]))


def test_operators_are_onnxruntimes() -> None:
    rng = np.random.default_rng(1)
    graph = small(rng)
    x = rng.normal(0, 1, (5, 3, 8, 8)).astype(np.float32)
    assert unknown(graph) is None
    (found,) = forward(graph, graph.constants, {"x": x}, unrounded)
    wanted = Oracle(graph, {}).run({"x": x})["y"]
    assert np.ptp(wanted) > 0.1
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["int4", "int8", "e2m1", "e4m3", "posit4e1", "posit8e0"])
def test_thresholds_are_where_the_format_rounds_up(name: str) -> None:
    fmt: Any = parse(name)
    values, thresholds = grid(fmt)
    assert not np.signbit(values[values == 0]).any()
    rng = np.random.default_rng(2)
    x = np.concatenate([
        rng.normal(0, 3, 500),
        rng.uniform(-600, 600, 200),
        values,
        thresholds,
        np.nextafter(thresholds, -np.inf),
    ])
    # Posits round all that is not 0 away from it, which a threshold above 0 stands for.
    x = x[(x == 0) | (np.abs(x) > 2.0**-60)]
    own = values[np.searchsorted(thresholds, x, side="right")]
    np.testing.assert_array_equal(own, fmt.to_float(fmt.encode(x)))


@pytest.mark.prove
def test_weights_are_fitted_and_written(run: Run, task: Task, tmp_path: Path) -> None:
    """The noise of a network in 4 bits falls, and its written model runs with these weights."""
    arrays = {"cal": task.calibration, "x": task.inputs[:200], "y": task.labels[:200]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    engine = ("-p", "m=2", "-p", "n=2", "-p", "formats=int8,int4,e2m1")
    found = run("precision", task.model, "--calibration", tmp_path / "cal.npy", *engine,
                "--formats", "int4", "--budget", "bytes=100%", "--fine-tune", "6", "--json",
                "-o", tmp_path)  # fmt: skip
    assert found.code == 0, found.err
    facts = check("precision", found.out)
    assert facts["tuned"]["noise"] < 0.95 * facts["chosen"]["noise"]
    for name in ("bytes", "cycles", "formats"):
        assert facts["tuned"][name] == facts["chosen"][name]
    assert "| fine-tuned |" in (tmp_path / "precision" / "digits" / "precision.md").read_text()
    made = tmp_path / "precision" / "digits" / "digits.onnx"
    before, after = (
        {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
        for path in (task.model, made)
    )
    assert all((before[name] != after[name]).any() for name in before)
    ran = run("run", made, "--input", tmp_path / "cal.npy", *engine, "-p", "engine=npe",
              "--simulate", "none", "--energy", "none", "--json", "-o", tmp_path)  # fmt: skip
    assert ran.code == 0, ran.err
    logits = np.load(tmp_path / "run" / "digits" / "outputs.npz")["logits"]
    floats = Oracle(Graph(onnx.load(task.model)), {}).run({"pixels": task.calibration})["logits"]
    noise = ((logits - floats) ** 2).sum() / (floats.astype(np.float64) ** 2).sum()
    assert noise == pytest.approx(facts["tuned"]["noise"], rel=1e-3)


def test_unknown_operators_are_refused() -> None:
    rng = np.random.default_rng(3)
    g = Builder(rng, opset=17)
    now = g.node("MatMul", ["x", g.constant(rng.normal(0, 1, (4, 4)))], "sums")
    g.node("Cos", [now], "y")
    graph = Graph(g.model(["count", 4], np.float32, np.float32, ["count", 4]))
    with pytest.raises(ValueError, match=r"Cos.*: fine-tuning must know the operator"):
        tune(
            graph,
            {},
            {},
            {"x": np.ones((2, 4), np.float32)},
            epochs=1,
            steps=Steps(Console(stderr=True)),
        )


@pytest.mark.parametrize("epochs", ["-1", "1001"])
def test_epochs_are_checked(run: Run, task: Task, tmp_path: Path, epochs: str) -> None:
    found = run(
        "precision",
        task.model,
        "--calibration",
        tmp_path / "none.npy",
        "--budget",
        "bytes=60%",
        "--fine-tune",
        epochs,
    )
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert f"--fine-tune must be 0..1000 epochs, not {epochs}" in found.err
