"""The greatest codes of rows: jobs where the block has them, and the host's operator elsewhere."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move, Start
from carrysave.compiler.run import network
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import greatest_rows

UNIT = {"engine": "systolic_os(m=4,n=4)", "vector": "vector_unit(lanes=4,length=256,width=16)"}
LISTS = Target(Design.parse("coprocessor", {**UNIT, "lists": "300", "top_k": "9"}))
PLAIN = Target(Design.parse("coprocessor", {**UNIT, "lists": "300"}))
U8, I8 = np.uint8, np.int8


def compiled(model: ModelProto, x: np.ndarray, target: Target) -> Program:
    return compile_network(lower(Graph(model), target, until=PASSES[-1].name), target, {"x": x})


def drawn(shape: tuple[int, ...], kind: Any, different: int) -> np.ndarray:
    """Draw codes, of which there are so many different ones."""
    ends = np.iinfo(kind)
    codes = np.linspace(ends.min, ends.max, different).astype(kind)
    return np.asarray(np.random.default_rng(2).choice(codes, shape))


def check(program: Program, model: ModelProto, x: np.ndarray) -> None:
    """Compare golden with onnxruntime."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    memory, runner = runners.on_golden(program)
    made = network.run(program, {"x": x}, memory, runner)
    for one, theirs in zip(session.get_outputs(), session.run(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(made[one.name], theirs, strict=True)


@pytest.mark.parametrize(
    ("shape", "count", "kind", "more"),
    [
        ((3, 10), 4, U8, {}),
        ((2, 7), 7, I8, {"axis": 1}),
        ((1, 130), 1, I8, {}),
        ((2, 5, 3, 4), 3, U8, {"axis": 1}),
        ((1, 6, 7), 2, I8, {"axis": 1}),
    ],
)
@pytest.mark.parametrize("different", [2, 256])
def test_rows_are_jobs(
    shape: tuple[int, ...], count: int, kind: Any, more: dict[str, Any], different: int
) -> None:
    """Codes and places are onnxruntime's, and no processor is needed for them."""
    model = greatest_rows(shape, count, kind, **more)
    onnx.checker.check_model(model)
    x = drawn(shape, kind, different)
    program = compiled(model, x, LISTS)
    assert not any(isinstance(part, HostStep) for part in program.parts)
    assert not any(isinstance(step, Move | Floats) for step in program.steps)
    jobs = [
        group.job.vector
        for step in program.steps
        if isinstance(step, Start)
        for group in step.groups
    ]
    assert "top_k" in jobs
    runners.check(program, {"x": x})
    check(program, model, x)


@pytest.mark.parametrize(
    ("target", "shape", "count", "more"),
    [
        (PLAIN, (3, 10), 4, {}),
        (LISTS, (3, 10), 10, {}),
        (LISTS, (2, 301), 2, {}),
        (LISTS, (3, 10), 4, {"largest": 0}),
        (LISTS, (3, 10), 4, {"sorted": 0}),
        (LISTS, (1, 5, 3, 40), 2, {}),
    ],
    ids=["no jobs", "too many", "too long", "least", "in any order", "not in rows"],
)
def test_others_are_the_hosts(
    target: Target, shape: tuple[int, ...], count: int, more: dict[str, Any]
) -> None:
    model, x = greatest_rows(shape, count, **more), drawn(shape, U8, 5)
    program = compiled(model, x, target)
    steps = [part for part in program.parts if isinstance(part, HostStep)]
    assert "TopK" in {node.op_type for step in steps for node in step.nodes}
    check(program, model, x)
