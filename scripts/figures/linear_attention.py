"""Cycles of a token of linear attention, by length; simulated where that is said.

.venv/bin/python scripts/figures/linear_attention.py [--docs]

A head of 64 codes of int8, chunks of 64 tokens, with factors of rows; arrays of 8 x 8 and 16 x 16,
operands and results in memory behind a bus of 128 bits. Errors are root mean squares against
float64, relative to that of the outputs, of random codes and a mean decay of 0.98.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console

from carrysave.compiler.run.request import RunRequest, execute
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

WIDTH, CHUNK = 64, 64
LENGTHS, SIDES, RULES = (128, 512, 4096), (8, 16), {"linear": (128, 256), "gated": (128,)}
NAME = "linear_attention"
COLUMNS = {"array": "{}", "rule": "{}", "chunk": "{}", "tokens": "{:,}", "cycles": "{:,}"}
COLUMNS |= {"a token": "{:.1f}", "of the array": "{:.1%}", "error": "{:.4%}", "tier": "{}"}


def model(tokens: int, rule: str, chunk: int) -> tuple[onnx.ModelProto, np.ndarray]:
    """Return linear attention of codes, and the decay of each token."""
    shape, step = [1, tokens, WIDTH], np.float32(1 / 64)
    constants: dict[str, Any] = {"step": step, "zero": np.int8(0)}
    nodes = [
        helper.make_node("DequantizeLinear", [f"{name}c", "step", "zero"], [name], name)
        for name in "qkv"
    ]
    nodes.append(
        helper.make_node("Split", ["x"], ["qc", "kc", "vc"], "parts", axis=2, num_outputs=3)
    )
    inputs = ["q", "k", "v"]
    decay = np.zeros((1, tokens, 1), np.float32)
    if rule == "gated":
        decay = -np.random.default_rng(2).exponential(0.02, decay.shape).astype(np.float32)
        constants["decay"] = decay
        inputs += ["", "decay"]
    how: dict[str, Any] = {
        "q_num_heads": 1,
        "kv_num_heads": 1,
        "update_rule": rule,
        "chunk_size": chunk,
    }
    nodes.append(helper.make_node("LinearAttention", inputs, ["y", "s"], "attention", **how))
    graph = helper.make_graph(
        [nodes[3], *nodes[:3], nodes[4]],
        "linear attention",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [1, tokens, 3 * WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=10)
    return made, decay[0, :, 0].astype(np.float64)


def right(x: np.ndarray, decay: np.ndarray) -> np.ndarray:
    """Return results in double precision, token by token."""
    q, k, v = np.split(x.astype(np.float64) / 64, 3, axis=1)
    state, made = np.zeros((WIDTH, WIDTH)), []
    for token in range(len(x)):
        state = state * np.exp(decay[token]) + np.outer(k[token], v[token])
        made.append(q[token] @ state / np.sqrt(WIDTH))
    return np.array(made)


def measure(
    side: int, rule: str, tokens: int, simulate: bool, chunk: int = CHUNK
) -> dict[str, Any]:
    """Run a head."""
    proto, decay = model(tokens, rule, chunk)
    x = np.random.default_rng(1).integers(-128, 128, (1, tokens, 3 * WIDTH)).astype(np.int8)
    parameters = {"engine": f"systolic_os(m={side},n={side})", "row_factors": "true"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(proto, path)
        request = RunRequest(
            model=path,
            data=x,
            labels=None,
            design=Design.parse("coprocessor", parameters),
            simulate="all" if simulate else "none",
            requantise="hardware",
            batch=1,
            library=lambda: None,
            compare=False,
        )
        with Steps(Console(quiet=True)) as steps:
            facts, outputs = execute(request, Path(folder), steps)
    if simulate and not facts["simulation_equal"]:
        raise SystemExit(f"{tokens} tokens, {rule}: wrong on the simulated block")
    cycles = sum(one["cycles"] for one in facts["layers"])
    macs = sum(one["macs"] for one in facts["layers"])
    due = right(x[0], decay)
    return {
        "array": f"{side} x {side}",
        "rule": rule,
        "chunk": chunk,
        "tokens": tokens,
        "cycles": cycles,
        "a token": cycles / tokens,
        "of the array": macs / side**2 / cycles,
        "error": float(np.sqrt(((outputs["y"][0] - due) ** 2).mean() / (due**2).mean())),
        "tier": "simulated" if simulate else "cost model",
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    made = [
        measure(side, rule, tokens, simulate)
        for side in SIDES
        for rule, simulated in RULES.items()
        for simulate, lengths in ((True, simulated), (False, LENGTHS))
        for tokens in lengths
    ]
    made += [measure(16, "linear", 512, False, chunk) for chunk in (128, 256)]
    show(Console(), "Linear attention, a head", made, COLUMNS)
    if arguments.docs:
        write_table(NAME, markdown(made, COLUMNS))


if __name__ == "__main__":
    main()
