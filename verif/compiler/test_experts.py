"""Experts of onnxruntime: jobs find them, and read the weights of those alone."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.refusals import RefusedError
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.run import network
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from hw.catalog import Design
from verif.compiler import runners
from verif.networks.graphs import Builder

UNIT = {"engine": "systolic_os(m=4,n=4)", "vector": "vector_unit(lanes=4,length=64,width=16)"}
JOBS = Target(Design.parse("coprocessor", {**UNIT, "lists": "300", "top_k": "4", "gather": "true"}))
PLAIN = Target(Design.parse("coprocessor", UNIT))
ROWS, WIDTH, HIDDEN = 3, 8, 20


def of_experts(
    *,
    count: int = 5,
    biases: bool = True,
    symmetric: bool = False,
    coded: bool = True,
    order: int = 1,
    **more: Any,
) -> onnx.ModelProto:
    """Return a network of a router, experts, and a product of what they make.

    Parameters
    ----------
    order : 1, or -1: experts in the opposite one.
    """
    b = Builder(np.random.default_rng(3), 17)

    def weights(*shape: int, name: str) -> str:
        codes = b.rng.integers(-127, 128, shape)
        if name != "last":
            codes = codes[..., ::order] if name == "router" else codes[::order]
        made = b.constant(codes, np.int8)
        if not coded and len(shape) > 2:
            return b.constant(b.rng.normal(size=shape))
        return b.node("DequantizeLinear", [made, b.constant(0.01)], name)

    zero = b.constant(0 if symmetric else 9, np.int8)
    x = b.node("DequantizeLinear", ["x", b.constant(0.03), zero], "f")
    scores = [b.constant(0.011), b.constant(-3, np.int8)]
    b.node("MatMul", [x, weights(WIDTH, count, name="router")], "logits")
    b.node("QuantizeLinear", ["logits", *scores], "codes")
    b.node("DequantizeLinear", ["codes", *scores], "scores")
    given = ["f", "scores"]
    for name, shape in (("first", (HIDDEN, WIDTH)), ("second", (WIDTH, HIDDEN))):
        given.append(weights(count, *shape, name=name))
        given.append(b.constant(b.rng.normal(size=(count, shape[0]))[::order]) if biases else "")
    b.node("MoE", given, "moe", domain="com.microsoft", **more)
    between = [b.constant(0.08), b.constant(0, np.int8)]
    b.node("QuantizeLinear", ["moe", *between], "result")
    b.node("DequantizeLinear", ["result", *between], "again")
    b.node("MatMul", ["again", weights(WIDTH, WIDTH, name="last")], "end")
    b.node("QuantizeLinear", ["end", b.constant(0.2), b.constant(0, np.int8)], "y")
    return b.model((ROWS, WIDTH), np.int8, np.int8, found=(ROWS, WIDTH))


def drawn(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, (ROWS, WIDTH)).astype(np.int8)


def theirs(case: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """Run onnxruntime on experts in the opposite order: it takes the last of equal scores."""
    model = of_experts(**case, order=-1)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


def compiled(model: onnx.ModelProto, x: np.ndarray, target: Target) -> Program:
    return compile_network(lower(Graph(model), target, until=PASSES[-1].name), target, {"x": x})


def ours(program: Program, x: np.ndarray) -> np.ndarray:
    memory, runner = runners.on_golden(program)
    return network.run(program, {"x": x}, memory, runner)["y"]


def jobs_of(program: Program) -> list[Job]:
    starts = [step for step in program.steps if isinstance(step, Start)]
    return [job for start in starts for job in start.jobs]


def check(made: np.ndarray, expected: np.ndarray) -> None:
    """Compare codes: what lies between the layers has 8 bits here, and is floats there."""
    error = made.astype(float) - expected
    assert np.sqrt(np.square(error).mean()) <= 0.02 * np.sqrt(
        np.square(expected.astype(float)).mean()
    )


CASES: list[dict[str, Any]] = [
    {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1},
    {"k": 2, "activation_type": "gelu"},
    {"k": 1, "activation_type": "relu", "biases": False},
    {"k": 4, "activation_type": "identity", "normalize_routing_weights": 1, "symmetric": True},
    {"k": 3, "activation_type": "relu", "count": 9},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['activation_type']}{case['k']}")
def test_experts_are_jobs(case: dict[str, Any]) -> None:
    """No processor is between router and experts; each product reads the B of one place."""
    model, x = of_experts(**case), drawn(0)
    program = compiled(model, x, JOBS)
    assert not any(isinstance(part, HostStep) for part in program.parts)
    jobs = jobs_of(program)
    chosen = [job for job in jobs if job.places is not None]
    assert len(chosen) == 2 * ROWS * case["k"]
    assert {job.ldsb for job in chosen} == {case.get("count", 5)}
    assert sum(job.vector == "top_k" for job in jobs) == 1
    runners.check(program, {"x": x})
    for seed in range(4):
        check(ours(program, drawn(seed)), theirs(case, drawn(seed)))


@pytest.mark.parametrize("case", CASES[:2], ids=["silu", "gelu"])
def test_other_blocks_have_the_same_codes(case: dict[str, Any]) -> None:
    """Without the jobs, the host finds experts, and their products are its own."""
    model, x = of_experts(**case), drawn(1)
    program = compiled(model, x, PLAIN)
    assert any(isinstance(part, HostStep) for part in program.parts)
    assert np.array_equal(ours(program, x), ours(compiled(model, x, JOBS), x))


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ({"coded": False}, "weights must be int8 constants of one scale"),
        ({"k": 6}, "k must be 1..5, its experts, not 6"),
        ({"activation_type": "swiglu"}, "activation_type must be gelu, identity, relu, silu"),
        ({"use_sparse_mixer": 1}, "its attribute use_sparse_mixer must be left out, not 1"),
    ],
)
def test_other_experts_are_refused_by_name(case: dict[str, Any], text: str) -> None:
    with pytest.raises(RefusedError, match=rf"MoE 'MoE_moe': {text}"):
        lower(Graph(of_experts(**case)), JOBS)
