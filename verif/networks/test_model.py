"""A model's inputs: sizes that have names."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from carrysave.networks.model import Graph


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
