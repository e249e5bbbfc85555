"""Means of windows on a processor: their bits are onnxruntime's."""

import numpy as np
import pytest
from onnx import helper

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.arithmetic_rules import RULES
from carrysave.compiler.graph.host_runtime import run as on_runtime

VERSION = 11


@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [1, 2], [2, 1]])
@pytest.mark.parametrize("kernel", [[3, 3], [2, 5], [4, 1]])
def test_means_are_rounded_as_by_onnxruntime(kernel: list[int], strides: list[int]) -> None:
    """Of a few codes each: means are halves of a step, often, and so all bits count."""
    rng = np.random.default_rng(7)
    x = (rng.integers(-128, 128, (2, 3, 9, 8)) * np.float32(0.05)).astype(np.float32)
    for pads in ([0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]):
        node = helper.make_node(
            "AveragePool", ["x"], ["y"], kernel_shape=kernel, strides=strides, pads=pads
        )
        (right,) = on_runtime(node, VERSION, [x])
        ours = ArithmeticNode(node, VERSION, RULES["AveragePool"]).run([x])
        np.testing.assert_array_equal(ours, right)
