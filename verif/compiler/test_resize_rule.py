"""Maps that are resized linearly: by each version of the operator, and within a network."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from carrysave.compiler.graph.arithmetic import ArithmeticNode
from carrysave.compiler.graph.arithmetic_rules import RULES
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.kernels import Unsupported
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import SHAPE, Coded

NONE = np.zeros(0, np.float32)
LINEAR = {"mode": "linear"}
MAP = np.random.default_rng(3).normal(0, 2, (2, 3, 5, 4)).astype(np.float32)
CASES: list[tuple[int, dict[str, Any], list[np.ndarray], tuple[int, ...]]] = [
    (10, {}, [np.array([1, 1, 2, 1.5], np.float32)], (10, 6)),
    (11, {}, [NONE, NONE, np.array([2, 3, 9, 1], np.int64)], (9, 1)),
    (
        13,
        {"coordinate_transformation_mode": "pytorch_half_pixel"},
        [NONE, NONE, np.array([2, 3, 1, 7], np.int64)],
        (1, 7),
    ),
    (18, {"axes": [3, -2]}, [NONE, np.array([2, 3], np.float32)], (15, 8)),
    (
        19,
        {"axes": [2], "coordinate_transformation_mode": "align_corners"},
        [NONE, NONE, np.array([1], np.int64)],
        (1, 4),
    ),
]


def resizing(
    version: int, options: dict[str, Any], given: list[np.ndarray]
) -> tuple[ArithmeticNode, list[np.ndarray]]:
    inputs = [MAP, *given]
    # Since version 13 what is left out has no name.
    names = [f"i{at}" if one.size or version < 13 else "" for at, one in enumerate(inputs)]
    node = helper.make_node("Resize", names, ["y"], **LINEAR | options)
    return ArithmeticNode(node, version, RULES["Resize"]), inputs


def on_runtime(node: onnx.NodeProto, version: int, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Have onnxruntime do it, with sizes that are constants, as it needs them."""
    constants = [
        numpy_helper.from_array(one, f"i{at}")
        for at, one in enumerate(inputs)
        if at and node.input[at]
    ]
    ends = [helper.make_tensor_value_info(name, 1, None) for name in ("i0", "y")]
    graph = helper.make_graph([node], "resize", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", version)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    found: list[np.ndarray] = onnxruntime.InferenceSession(made.SerializeToString()).run(
        None, {"i0": inputs[0]}
    )
    return found


@pytest.mark.parametrize(("version", "options", "given", "sizes"), CASES)
def test_each_version(
    version: int, options: dict[str, Any], given: list[np.ndarray], sizes: tuple[int, ...]
) -> None:
    node, inputs = resizing(version, options, given)
    ours = node.run(inputs)
    assert ours.shape == (2, 3, *sizes)
    (right,) = on_runtime(node.node, version, inputs)
    np.testing.assert_allclose(ours, right, rtol=4e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("options", "scales", "why"),
    [
        ({"mode": "cubic"}, [1, 1, 2, 2], "mode must be linear, not cubic"),
        ({"antialias": 1}, [1, 1, 0.5, 0.5], "antialias must be 0, not 1"),
        (
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            [1, 1, 2, 2],
            "coordinate_transformation_mode must be half_pixel, .* not tf_crop_and_resize",
        ),
        (
            {"keep_aspect_ratio_policy": "not_larger"},
            [1, 1, 2, 2],
            "keep_aspect_ratio_policy must be stretch, not not_larger",
        ),
        ({}, [1, 1, 0.1, 2], "sizes must be 1 or more, not 2 x 3 x 0 x 8"),
        ({}, [], "scales or sizes must be constants"),
        ({}, [1, 1, np.inf, 2], "scales must be finite, not"),
    ],
)
def test_refuses(options: dict[str, Any], scales: list[float], why: str) -> None:
    node, inputs = resizing(19, options, [NONE, np.array(scales, np.float32)])
    with pytest.raises(Unsupported, match=why):
        node.run(inputs)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("how", ["half_pixel", "align_corners"])
def test_a_network_is_whole(how: str, seed: int) -> None:
    """No host segment; all codes are those of the evaluator."""
    b = Coded(np.random.default_rng(seed), 17)
    x = b.weighted("Conv", b.started(), (5, 6, 1, 1), "c")
    wide = b.node(
        "Resize",
        [x, "", b.constant([1, 1, 2, 3])],
        "u",
        coordinate_transformation_mode=how,
        **LINEAR,
    )
    last = b.weighted("Conv", b.coded(wide), (3, 5, 1, 1), "z")
    model = b.ended(last, [1, 3, 8, 12])
    onnx.checker.check_model(model)
    target = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)"}))
    given = {"x": np.random.default_rng(seed).integers(0, 256, SHAPE).astype(np.uint8)}
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    program = compile_network(lowered, target, given)
    assert not program.host
    runners.check(program, given)
