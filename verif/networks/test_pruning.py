"""Networks whose weights are pruned along K, against numpy, and ``carrysave run --prune``."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from carrysave.compiler.front.pruning import prune
from carrysave.compiler.graph.graph import Graph
from golden.formats.bitmap import pack_bitmap
from golden.formats.sparse import SparseFormat
from verif.support.command import Run
from verif.support.networks import MODELS, quantise
from verif.support.schemas import check

TWO_OF_FOUR = SparseFormat.parse("2:4")
MASKED = "adder_tree(m=2,n=8,k=12,k_max=131072,sparsity=2:4)"


def graph_of(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray]) -> Graph:
    """Make a model of one float input and output."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    made = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], made)
    return Graph(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))


def weights(shape: tuple[int, ...], kind: str = "int8") -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.integers(-128, 128, shape).astype(kind)


def test_products_are_pruned_along_k() -> None:
    """K x N, N x K where B is transposed, and of a convolution all inputs and places."""
    b, bt, kernel = weights((9, 5)), weights((3, 8)), weights((4, 2, 3, 3))
    nodes = [
        helper.make_node("MatMul", ["x", "b"], ["p"]),
        helper.make_node("Gemm", ["p", "bt"], ["q"], transB=1),
        helper.make_node("Conv", ["q", "kernel"], ["y"]),
    ]
    graph, rows = prune(graph_of(nodes, {"b": b, "bt": bt, "kernel": kernel}), TWO_OF_FOUR)
    made = graph.constants
    assert np.array_equal(made["b"], TWO_OF_FOUR.prune(b))
    assert np.array_equal(made["bt"].T, TWO_OF_FOUR.prune(bt.T))
    flat = TWO_OF_FOUR.prune(kernel.reshape(4, 18).T)
    assert np.array_equal(made["kernel"].reshape(4, 18).T, flat)
    assert [row.tensor for row in rows] == ["b", "bt", "kernel"]
    assert rows[0].zeros == (TWO_OF_FOUR.prune(b) == 0).sum()
    assert [(row.k, row.n) for row in rows] == [(9, 5), (8, 3), (18, 4)]
    for row, matrix in zip(rows, (made["b"], made["bt"].T, flat), strict=True):
        assert row.image == b"".join(pack_bitmap(column) for column in matrix.T)


def test_zero_is_the_zero_point_of_a_column() -> None:
    b, zeros = weights((8, 3), "uint8"), np.array([0, 100, 255], np.uint8)
    nodes = [
        helper.make_node("DequantizeLinear", ["b", "scale", "zeros"], ["d"], axis=1),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    scale = np.ones(3, np.float32)
    graph, rows = prune(graph_of(nodes, {"b": b, "scale": scale, "zeros": zeros}), TWO_OF_FOUR)
    apart = TWO_OF_FOUR.prune(b.astype(int) - zeros)
    assert np.array_equal(graph.constants["b"].astype(int), apart + zeros)
    assert rows[0].zeros == (apart == 0).sum() >= 12


def test_only_weights_are_pruned() -> None:
    """Not a bias, nor what a node computes; and the model that was given stays."""
    b, bias = weights((4, 4)).astype(np.float32), weights((4,)).astype(np.float32)
    nodes = [
        helper.make_node("Gemm", ["x", "b", "bias"], ["p"]),
        helper.make_node("MatMul", ["p", "p"], ["q"]),
        helper.make_node("Add", ["q", "b"], ["y"]),
    ]
    whole = graph_of(nodes, {"b": b, "bias": bias})
    graph, rows = prune(whole, TWO_OF_FOUR)
    assert np.array_equal(graph.constants["bias"], bias)
    assert np.array_equal(whole.constants["b"], b)
    assert [(row.tensor, row.image) for row in rows] == [("b", None)]


@pytest.mark.parametrize("engine", ["systolic_os", MASKED])
def test_run_reports_accuracy_beside_the_dense_model(run: Run, tmp_path: Path, engine: str) -> None:
    """On an engine whose B has masks, too, beside which the dense model runs on one without."""
    task = MODELS["digits"](tmp_path)
    model = quantise(task, tmp_path / "quantised.onnx")
    np.save(tmp_path / "x.npy", task.inputs)
    np.save(tmp_path / "labels.npy", task.labels)
    found = run(
        "run",
        model,
        "--input",
        tmp_path / "x.npy",
        "--labels",
        tmp_path / "labels.npy",
        "--prune",
        "2:4",
        "-p",
        f"engine={engine}",
        "--simulate",
        "none",
        "--energy",
        "none",
        "--json",
        "-o",
        tmp_path,
    )
    assert found.code == 0, found.err
    facts = check("run", found.out)
    pruning = facts["pruning"]
    assert pruning["sparsity"] == "2:4"
    image = Path(pruning["image"]).read_bytes()
    sparse = Graph(onnx.load(model)).constants
    for row in pruning["tensors"]:
        assert row["k"] * row["n"] / 2 <= row["zeros"] >= row["zeros_before"]
        assert row["stored"] < row["k"] * row["n"]
        part = image[row["offset"] :][: row["stored"]]
        due = TWO_OF_FOUR.prune(sparse[row["tensor"]])
        assert part == b"".join(pack_bitmap(column) for column in due.T)
    (output,) = pruning["outputs"]
    assert output["accuracy_dense"] > 0.95
    assert 0.5 < output["accuracy"] <= output["accuracy_dense"]
    assert output["top1_equal"] < 1
    assert facts["outputs"][0]["equal"] in (True, False)
    assert any(note.startswith("pruned 2:4: ") for note in facts["notes"])


def test_engine_with_masks_refuses_weights_without_room(run: Run, tmp_path: Path) -> None:
    task = MODELS["digits"](tmp_path)
    model = quantise(task, tmp_path / "quantised.onnx")
    np.save(tmp_path / "x.npy", task.inputs)
    found = run("run", model, "--input", tmp_path / "x.npy", "-p", f"engine={MASKED}")
    assert found.code
    assert "Gemm 'layer0': b must have 2 of each 4 along K that are not 0, or fewer" in found.err


def test_run_refuses_what_cannot_be_pruned(run: Run, tmp_path: Path) -> None:
    model = graph_of([helper.make_node("MatMul", ["x", "x"], ["y"])], {}).proto
    onnx.save(model, tmp_path / "m.onnx")
    found = run("run", tmp_path / "m.onnx", "--input", tmp_path / "x.npy", "--prune", "3:4")
    assert "prune must be one of none, 1:4, 2:4, 4:8, not '3:4'" in found.err.replace("--", "")
