"""Bytes that a head of attention moves, by both ways of a program, beside the least there can be.

.venv/bin/python scripts/figures/attention_bytes.py [--docs]

As many queries as keys, of 64 codes of int8; an array of 16 x 16, a bus of 128 bits; with rooms on
chip, where the program has scores and shares of some rows at a time. Bytes are those of the cost
model on the bus, in whole beats. The bound is N^2 d^2 / M of "The I/O Complexity of Attention"
(Saha and Ye, 2024) without its constant, M the bytes of all stores and rooms on chip, at least d^2;
operands and results are 4 N d.
"""

import argparse
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from rich.console import Console

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.head_ways import HeadWays
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

WIDTH, LENGTHS, ROOMS = 64, (128, 512, 1024), (0, 1 << 16, 1 << 18)
NAME = "attention_bytes"
COLUMNS = {"keys": "{:,}", "on chip": "{:,}", "way": "{}", "bytes moved": "{:,}"}
COLUMNS |= {"operands and results": "{:,}", "bound": "{:,}", "times both": "{:.1f}"}


def target_of(rooms: int) -> Target:
    """Return a co-processor that has both ways."""
    unit = "vector_unit(operations=softmax,add,scale,exps,divide,lanes=16,length=1024,width=16,"
    unit += "scale_width=8,out_width=16,signed=true,block=16)"
    given = {"m": "16", "n": "16", "code_bytes": "2", "shares": "true", "transpose": "true"}
    return Target(Design.parse("coprocessor", {**given, "vector": unit, "scratch": str(rooms)}))


def model(keys: int) -> onnx.ModelProto:
    """Return attention of one head, of codes."""
    shape, nodes = [1, keys, WIDTH], []
    constants = [
        helper.make_tensor("step", TensorProto.FLOAT, [], [0.03]),
        helper.make_tensor("zero", TensorProto.INT8, [], [0]),
    ]
    for name in "qkv":
        given = [f"{name}c", "step", "zero"]
        nodes.append(helper.make_node("DequantizeLinear", given, [name]))
    nodes.append(
        helper.make_node("Attention", ["q", "k", "v"], ["y"], "a", q_num_heads=1, kv_num_heads=1)
    )
    inputs = [helper.make_tensor_value_info(f"{one}c", TensorProto.INT8, shape) for one in "qkv"]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "head", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def measure(keys: int, rooms: int, way: str) -> dict[str, Any]:
    """Compile a head, and add up what its jobs move."""
    target = target_of(rooms)
    inputs = {f"{one}c": np.zeros((1, keys, WIDTH), np.int8) for one in "qkv"}
    last, ways = PASSES[-1].name, HeadWays(target, way)
    lowered = lower(Graph(model(keys)), target, until=last, program=True, attention=ways)
    program = compile_network(lowered, target, inputs)
    starts = [step for step in program.steps if isinstance(step, Start)]
    moved = sum(moved_bytes(job, target) for step in starts for job in step.jobs)
    stores = target.info.stores
    size = stores.a_bytes + stores.b_bytes + stores.sums * target.info.sums.bits // 8 + rooms
    least, bound = 4 * keys * WIDTH, keys**2 * WIDTH**2 // size
    return {
        "keys": keys,
        "on chip": size,
        "way": way,
        "bytes moved": moved,
        "operands and results": least,
        "bound": bound,
        "times both": moved / (least + bound),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    kinds = [(n, rooms, way) for n in LENGTHS for rooms in ROOMS for way in (ROWS, ONE_PASS)]
    made = [measure(*kind) for kind in kinds]
    show(Console(), f"A head of {WIDTH}", made, COLUMNS)
    if arguments.docs:
        write_table(NAME, markdown(made, COLUMNS))


if __name__ == "__main__":
    main()
