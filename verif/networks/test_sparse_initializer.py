"""Constants of places and numbers, `sparse_initializer`, against scipy and onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from scipy import sparse

from carrysave.compiler.front.onnx_model import read_model
from carrysave.compiler.graph.graph import Graph
from verif.support.command import Run
from verif.support.schemas import check

K, N = 40, 9


def model(*, linear: bool = True, dims: tuple[int, ...] = (K, N), **changed: Any) -> ModelProto:
    """Make a product by a matrix of which a quarter is not 0."""
    found = sparse.random_array((K, N), density=0.25, rng=np.random.default_rng(1)).tocsr()
    found.data = (200 * found.data - 100).round()
    coo = found.astype(np.int8).tocoo()
    flat = np.sort(np.ravel_multi_index((coo.row, coo.col), (K, N))).astype(np.int64)
    values = found.astype(np.int8).toarray().reshape(-1)[flat]
    places = flat if linear else np.stack(np.unravel_index(flat, (K, N)), axis=1)
    places, values = changed.get("places", places), changed.get("values", values)
    weights = helper.make_sparse_tensor(
        numpy_helper.from_array(values, changed.get("name", "w")),
        numpy_helper.from_array(places, "at"),
        dims,
    )
    x = helper.make_tensor_value_info("x", TensorProto.INT8, ["rows", K])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, ["rows", N])
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], sparse_initializer=[weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("linear", [True, False])
def test_it_is_the_dense_matrix(tmp_path: Path, linear: bool) -> None:
    """Of both kinds of indices; what scipy has."""
    onnx.save(model(linear=linear), tmp_path / "m.onnx")
    made = Graph(read_model(tmp_path / "m.onnx")).constants["w"]
    due = sparse.random_array((K, N), density=0.25, rng=np.random.default_rng(1)).toarray()
    due = np.where(due != 0, (200 * due - 100).round(), 0).astype(np.int8)
    assert made.dtype == np.int8
    assert np.array_equal(made, due)
    assert np.count_nonzero(made) > 60


def test_run_takes_it_as_it_is(run: Run, tmp_path: Path) -> None:
    """Onnxruntime reads the same file."""
    onnx.save(model(), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(2).integers(-128, 128, (6, K), np.int8))
    options = ("--simulate", "none", "--energy", "none", "--json", "-o", tmp_path)
    found = run("run", tmp_path / "m.onnx", "--input", tmp_path / "x.npy", *options)
    assert found.code == 0, found.err
    assert check("run", found.out)["outputs"][0]["equal"] is True


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"places": np.arange(5)[::-1].copy()}, r"rise, not go from \[4\] to \[3\]"),
        ({"places": np.array([0, 1, 1, 2, 3])}, r"rise, not go from \[1\] to \[1\]"),
        ({"places": np.array([0, 1, 2, 3, 360])}, r"within \[360\], not \[360\]"),
        ({"places": np.array([-1, 1, 2, 3, 4])}, r"within \[360\], not \[-1\]"),
        ({"places": np.zeros((5, 3), np.int64)}, r"one number, or 2, .* not \[5, 3\] for \[5\]"),
        ({"places": np.arange(4)}, r"for each of 5 values in a row, not \[4\] for \[5\]"),
        ({"places": np.arange(5, dtype=np.int32)}, "indices must be of int64"),
        ({"dims": (0, N)}, r"sizes of 1 or more, not \[0, 9\]"),
        ({"dims": (1 << 40, 1 << 40)}, "must be at most"),
        ({"name": ""}, "must have a name"),
    ],
)
def test_refused(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    values: dict[str, Any] = {"values": np.arange(1, 6, dtype=np.int8)}
    onnx.save(model(**values | {"places": np.arange(5)} | changed), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=says):
        read_model(tmp_path / "m.onnx")
