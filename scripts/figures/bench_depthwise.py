"""Counts the cycles of convolutions of single channels, as products and as jobs of the vector unit.

    .venv/bin/python scripts/figures/bench_depthwise.py           prints the table
    .venv/bin/python scripts/figures/bench_depthwise.py --docs    also rewrites that of docs

Cycles are the cost model's, of an 8 x 8 array on a bus of 64 bits. MobileNetV1 has random codes, as
no package has the network; what a layer takes does not depend on them.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table
from verif.support.networks import MODELS, quantise

FOLDER = Path(__file__).resolve().parents[2] / "build" / "depthwise"
_UNIT = {"vector": "vector_unit(lanes=8,length=4096)", "requantisers": "8"}
BUILDS = {
    "patches": {},
    "windows": {"windows": "true"},
    "3 multipliers a lane": {"windows": "true", "taps": "3", **_UNIT},
    "5 multipliers a lane": {"windows": "true", "taps": "5", **_UNIT},
    "3 for each of 3 rows": {"windows": "true", "taps": "3", "tap_rows": "3", **_UNIT},
    "5 for each of 3 rows": {"windows": "true", "taps": "5", "tap_rows": "3", **_UNIT},
}
COLUMNS = {
    "network": "{}",
    "build": "{}",
    "depthwise cycles": "{:,}",
    "by the bound": "{:.2f}",
    "cycles of products": "{:,}",
    "utilisation": "{:.1%}",
}
_WIDTHS = (8, 16, 32, 32, 64, 64, 128, 128, 128, 128, 128, 128, 256, 256)
_STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)


def mobilenet(side: int = 128, classes: int = 0) -> onnx.ModelProto:
    """Return MobileNetV1, a quarter as wide, with random codes; 0 classes: its convolutions."""
    rng = np.random.default_rng(1)
    given: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def constant(values: Any, kind: Any) -> str:
        name = f"constant{len(given)}"
        given.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def convolution(x: str, wide: int, codes: tuple[int, ...], **more: Any) -> str:
        weights = rng.integers(-127, 128, (wide, *codes))
        operands = [
            x, constant(0.02, np.float32), constant(0, np.uint8), constant(weights, np.int8),
            constant(rng.uniform(0.001, 0.01, wide), np.float32),
            constant(np.zeros(wide), np.int8), constant(0.02, np.float32), constant(0, np.uint8),
            constant(rng.integers(-500, 500, wide), np.int32),
        ]  # fmt: skip
        y = f"y{len(nodes)}"
        nodes.append(helper.make_node("QLinearConv", operands, [y], name=y, **more))
        return y

    y = convolution("x", _WIDTHS[0], (3, 3, 3), strides=[2, 2], pads=[1] * 4)
    for before, wide, stride in zip(_WIDTHS, _WIDTHS[1:], _STRIDES, strict=False):
        y = convolution(y, before, (1, 3, 3), strides=[stride] * 2, pads=[1] * 4, group=before)
        y = convolution(y, wide, (before, 1, 1))
    if classes:
        codes = constant(0.02, np.float32), constant(0, np.uint8)
        nodes.append(helper.make_node("DequantizeLinear", [y, *codes], ["real"]))
        nodes.append(helper.make_node("GlobalAveragePool", ["real"], ["means"]))
        nodes.append(helper.make_node("QuantizeLinear", ["means", *codes], ["pooled"]))
        scores = convolution("pooled", classes, (_WIDTHS[-1], 1, 1))
        nodes.append(helper.make_node("Flatten", [scores], [y := "scores"]))
    shape = [1, 3, side, side]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.UINT8, size)
        for name, size in (("x", shape), (y, None))
    ]
    graph = helper.make_graph(nodes, "mobilenet", ends[:1], ends[1:], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def networks(models: Path | None) -> Iterator[tuple[str, Graph, np.ndarray]]:
    """Yield the name of each network, what it computes, and an input."""
    for name in ("text_angle", "orientation"):
        if models is not None:
            yield name, load(models / f"{name}.q.onnx"), np.load(models / f"{name}.npy")[:1]
            continue
        task = MODELS[name](FOLDER)
        yield name, load(quantise(task, FOLDER / f"{name}.onnx")), task.inputs[:1]
    yield "MobileNetV1-0.25, 128", Graph(mobilenet()), np.zeros((1, 3, 128, 128), np.uint8)


def row(name: str, build: str, graph: Graph, x: np.ndarray) -> dict[str, Any]:
    """Compile a network for a build; return what its products take."""
    parameters = {"engine": "systolic_os(m=8,n=8)", "data_width": "64", **BUILDS[build]}
    target = Target(Design.parse("coprocessor", parameters))
    lowered = lower(graph, target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {next(iter(graph.inputs)): x})
    products = {
        one.name: one
        for one in lowered.products
        if isinstance(one, QuantisedProduct) and one.windows is not None
    }
    single = {
        name
        for name, one in products.items()
        if one.weights is not None
        and one.weights.ndim == 3
        and len(one.weights) > 1
        and one.weights.shape[2] == 1
    }
    took, whole, macs, bound = 0, 0, 0, 0.0
    for step in program.steps:
        if not isinstance(step, Start) or step.node not in products:
            continue
        whole, macs = whole + step.cycles, macs + step.macs
        if step.node in single:
            took += step.cycles
            windows = products[step.node].windows
            assert windows is not None
            bound += step.macs / windows.kernel[-1] * windows.strides[-1] / 8
    return {
        "network": name,
        "build": build,
        "depthwise cycles": took,
        "by the bound": took / bound,
        "cycles of products": whole,
        "utilisation": macs / (target.peak(None) * whole),
    }


def main() -> None:
    """Compile, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="folder with quantised networks and inputs")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    rows = [
        row(name, build, graph, x)
        for name, graph, x in networks(arguments.models)
        for build in BUILDS
    ]
    show(Console(), "Convolutions of single channels, 8 x 8, int8; one input", rows, COLUMNS)
    if arguments.docs:
        write_table("depthwise", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
