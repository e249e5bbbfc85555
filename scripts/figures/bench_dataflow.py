"""Counts the cycles of networks with one dataflow for all products, and with the best of each.

    .venv/bin/python scripts/figures/bench_dataflow.py           prints the table
    .venv/bin/python scripts/figures/bench_dataflow.py --docs    also rewrites that of docs

Cycles are the cost model's, of whole programs: jobs of the vector unit as well. Both networks have
random codes; what a layer takes does not depend on them. The block of GPT-2's sizes (768 wide, 12
heads) has the products alone: its norms, softmax and sums are no choice of a dataflow.
"""

import argparse
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.dataflow import ANY, AUTO, DATAFLOWS
from carrysave.compiler.target.memory import memory_of
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from scripts.figures.bench_depthwise import BUILDS, mobilenet
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

_WIDE, _HEADS = 768, 12
_WAYS = (*DATAFLOWS, ANY, AUTO)
COLUMNS = {
    "network": "{}",
    "array": "{}",
    "stores": "{:,}",
    "memory": "{}",
    **dict.fromkeys(_WAYS, "{:,}"),
    "best of one / auto": "{:.3f}",
}
Build = tuple[str, str, int, str]
BUILDS_OF: tuple[Build, ...] = (
    ("MobileNetV1-0.25, 128", "m=8,n=8", 4096, "axi"),
    ("MobileNetV1-0.25, 128", "m=16,n=16", 4096, "axi"),
    ("MobileNetV1-0.25, 128", "m=16,n=16", 2048, "axi"),
    ("MobileNetV1-0.25, 128", "m=4,n=16", 4096, "sdram16"),
    ("GPT-2's block, 64 tokens", "m=16,n=16", 4096, "axi"),
    ("GPT-2's block, 64 tokens", "m=16,n=16", 65536, "axi"),
    ("GPT-2's block, 64 tokens", "m=16,n=16", 65536, "latency=64,bytes=2"),
    ("GPT-2's block, 64 tokens", "m=16,n=16", 65536, "sdram16"),
)


def gpt2_block(tokens: int = 64) -> onnx.ModelProto:
    """Return the products of a block of GPT-2's sizes, with random codes."""
    rng = np.random.default_rng(1)
    given: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def constant(values: Any, kind: Any) -> str:
        name = f"constant{len(given)}"
        given.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def product(name: str, x: str, y: str) -> str:
        step, zero = constant(0.02, np.float32), constant(0, np.int8)
        operands = [x, step, zero, y, step, zero, step, zero]
        nodes.append(helper.make_node("QLinearMatMul", operands, [name], name=name))
        return name

    def weights(k: int, n: int) -> str:
        return constant(rng.integers(-127, 128, (k, n)), np.int8)

    def made(operator: str, name: str, *operands: str, **more: Any) -> str:
        nodes.append(helper.make_node(operator, list(operands), [name], name=name, **more))
        return name

    def heads(name: str, x: str, order: list[int]) -> str:
        size = constant([tokens, _HEADS, _WIDE // _HEADS], np.int64)
        return made("Transpose", name, made("Reshape", f"{name} apart", x, size), perm=order)

    across = product("queries, keys, values", "x", weights(_WIDE, 3 * _WIDE))
    parts = ["queries", "keys", "channels"]
    sizes = constant([_WIDE] * 3, np.int64)
    nodes.append(helper.make_node("Split", [across, sizes], parts, axis=1))
    queries, values = (heads(f"{one} by heads", one, [1, 0, 2]) for one in parts[::2])
    keys = heads("keys by heads", "keys", [1, 2, 0])
    shares = product("scores", queries, keys)
    mixed = product("mixed", shares, values)
    whole = constant([tokens, _WIDE], np.int64)
    y = made("Reshape", "together", made("Transpose", "back", mixed, perm=[1, 0, 2]), whole)
    y = product("projection", y, weights(_WIDE, _WIDE))
    y = product("up", y, weights(_WIDE, 4 * _WIDE))
    y = product("down", y, weights(4 * _WIDE, _WIDE))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.INT8, [tokens, _WIDE]) for name in ("x", y)
    ]
    graph = helper.make_graph(nodes, "block", ends[:1], ends[1:], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def row(build: Build) -> dict[str, Any]:
    """Compile with each dataflow; return what the programs take."""
    name, array, stores, memory = build
    model, x = mobilenet(), np.zeros((1, 3, 128, 128), np.uint8)
    if name.startswith("GPT"):
        model, x = gpt2_block(), np.zeros((64, _WIDE), np.int8)
    sizes = {"a_bytes": str(stores), "b_bytes": str(stores), "data_width": "64"}
    parameters = {"engine": f"systolic_os({array})", **sizes, **BUILDS["3 for each of 3 rows"]}
    made: dict[str, Any] = {"network": name, "array": array, "stores": stores, "memory": memory}
    for way in _WAYS:
        design = Design.parse("coprocessor", parameters)
        target = Target(design, timing=memory_of(memory), dataflow=way)
        lowered = lower(Graph(model), target, until=PASSES[-1].name)
        program = compile_network(lowered, target, {"x": x})
        made[way] = sum(step.cycles for step in program.steps if isinstance(step, Start))
    made["best of one / auto"] = min(made[way] for way in DATAFLOWS) / made[AUTO]
    return made


def main() -> None:
    """Compile, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    rows = [row(build) for build in BUILDS_OF]
    show(Console(), "cycles of programs by dataflow", rows, COLUMNS)
    if arguments.docs:
        write_table("dataflow", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()
