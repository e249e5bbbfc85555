"""Operations of the host between products, counted by hand."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx import helper

from carrysave.compiler.graph.host_work import operations, share
from carrysave.compiler.lowered.evaluate import evaluate
from verif.networks.comparing import lowered, multiplier
from verif.networks.graphs import Builder


def of(name: str, given: list[tuple[int, ...]], made: tuple[int, ...], **attributes: Any) -> int:
    """Count a node whose tensors have these shapes."""
    node = helper.make_node(name, [f"x{place}" for place in range(len(given))], ["y"], **attributes)
    return operations(node, [np.zeros(shape) for shape in given], [np.zeros(made)])


@pytest.mark.parametrize(
    ("name", "given", "made", "attributes", "count"),
    [
        ("Add", [(3, 4), (4,)], (3, 4), {}, 16),  # reads 16, makes 12
        ("Add", [(3, 1), (4,)], (3, 4), {}, 12),
        ("ReduceSum", [(3, 4)], (3,), {}, 12),
        ("Transpose", [(3, 4)], (4, 3), {}, 0),
        ("Reshape", [(3, 4), (1,)], (12,), {}, 0),
        ("MaxPool", [(1, 2, 6, 6)], (1, 2, 3, 3), {"kernel_shape": [3, 3], "strides": [2, 2]}, 162),
        ("MatMul", [(5, 3, 4), (4, 7)], (5, 3, 7), {}, 2 * 5 * 3 * 7 * 4),
        ("Gemm", [(4, 3), (4, 7)], (3, 7), {"transA": 1}, 2 * 3 * 7 * 4),
        ("Gemm", [(3, 4), (7, 4)], (3, 7), {"transB": 1}, 2 * 3 * 7 * 4),
        # Eight channels in four groups, kernels of 3 x 3.
        ("Conv", [(1, 8, 5, 5), (12, 2, 3, 3)], (1, 12, 3, 3), {"group": 4}, 2 * 12 * 9 * 2 * 9),
        ("ConvTranspose", [(1, 4, 5, 5), (4, 6, 2, 2)], (1, 6, 6, 6), {}, 2 * 100 * 6 * 4),
        ("LSTM", [(9, 2, 5), (1, 12, 5), (1, 12, 3)], (9, 1, 2, 3), {}, 2 * 9 * 2 * (60 + 36)),
    ],
)
def test_operations_of_a_node(
    name: str, given: list[tuple[int, ...]], made: tuple[int, ...], attributes: Any, count: int
) -> None:
    assert of(name, given, made, **attributes) == count


def test_share_of_all_operations() -> None:
    assert share({"Add": 20}, 40) == 0.2
    assert share({}, 1) == 0


def test_operations_between_products() -> None:
    """Of a product of codes: what quantises before it and dequantises after it; turning is none."""
    rng = np.random.default_rng(5)
    graph = Builder(rng)
    codes = graph.node("QuantizeLinear", ["x", graph.scale(), graph.zero(np.uint8)], "codes")
    sums = graph.node(
        "QLinearMatMul",
        [
            codes,
            graph.scale(),
            graph.zero(np.uint8),
            graph.codes((6, 4), np.int8),
            graph.scale(),
            graph.zero(np.int8),
            graph.scale(),
            graph.zero(np.uint8),
        ],
        "sums",
    )
    turned = graph.node("Transpose", [sums], "turned", perm=[1, 0])
    graph.node("DequantizeLinear", [turned, graph.scale(), graph.zero(np.uint8)], "y")
    found = lowered(graph, (3, 6), np.float32, np.float32)
    host: Counter[str] = Counter()
    x = rng.normal(0, 1, (3, 6)).astype(np.float32)
    made = evaluate(found, {"x": x}, multiplier(True), host=host)
    assert made["y"].shape == (4, 3)
    # Numbers that are read are those of x or codes, a scale and a zero point.
    assert +host == {"QuantizeLinear": 20, "DequantizeLinear": 14}
