"""A model's inputs: sizes that have names."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from hw.emit.user_files import FileError


def test_sizes_of_one_name_are_one_size() -> None:
    """But the first axis, which is the sample, and sizes without a name."""
    shape = ["batch", "words", None]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "ab"]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
    graph = Graph(onnx.helper.make_model(helper.make_graph(nodes, "add", inputs, [output])))

    def given(*sizes: tuple[int, int, int]) -> dict[str, np.ndarray]:
        return {name: np.zeros(size, np.float32) for name, size in zip("ab", sizes, strict=True)}

    graph.check_inputs(given((4, 7, 2), (4, 7, 3)))
    with pytest.raises(ValueError, match="words of input 'b' must be 7, as of 'a', not 8"):
        graph.check_inputs(given((4, 7, 2), (4, 8, 2)))


def test_size_that_is_minus_one_is_open(tmp_path: Path) -> None:
    """As some exporters write it; less is refused."""
    path = tmp_path / "model.onnx"

    def written(size: int) -> Path:
        values = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, 3]) for name in "xy"
        ]
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])], "relu", values[:1], values[1:]
        )
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
            path,
        )
        return path

    graph = load(written(-1))
    for count in (1, 5):
        graph.check_inputs({"x": np.zeros((count, 3), np.float32)})
    with pytest.raises(FileError, match="input 'x': sizes must be 0 or more, or -1: open"):
        load(written(-2))
