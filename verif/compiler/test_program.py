"""Programs: what every runner makes of them, what blocks they choose, what they refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, defs

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.host_versions import BY_EVALUATOR
from carrysave.compiler.passes.code_paths import _ELEMENTWISE
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.reasons import GREATEST, MOVES, STEPS, between
from carrysave.compiler.program.steps import Move
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.system.boards import SYSTEMS, design_of, system_board_of
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.networks import places
from verif.networks.graphs import Builder
from verif.support.networks import MODELS, quantise
from verif.system.networks import SHAPE, convolutions

BOARD, CHOSEN = system_board_of("ulx3s_85f")
DESIGN = design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"})
TARGET = Target(DESIGN, timing=CHOSEN.sdram.timing)
WIDE = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=8,n=8)"}))


def compiled(model: ModelProto, target: Target = TARGET) -> Program:
    lowered = tables(lower(Graph(model), target))
    x = {"x": np.zeros(SHAPE, np.uint8)}
    return compile_network(lowered, target, x)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).integers(0, 256, SHAPE).astype(np.uint8)}


def mixed(seed: int) -> ModelProto:
    """Return a network with tables of one code and of two, a gate, a mean, parts and their sum."""
    builder = Builder(np.random.default_rng(seed), opset=17)
    scale, zero = builder.constant(0.05), builder.constant(builder.rng.integers(90, 160), np.uint8)

    def coded(name: str) -> str:
        """Round floats to codes, and take these as floats again."""
        builder.node("QuantizeLinear", [name, scale, zero], f"{name}_q")
        return builder.node("DequantizeLinear", [f"{name}_q", scale, zero], f"{name}_d")

    builder.node("DequantizeLinear", ["x", scale, zero], "f")
    weights = builder.codes((8, 6, 1, 1), np.int8)
    steps = [builder.constant(0.01), builder.constant(0, np.int8)]
    builder.node("DequantizeLinear", [weights, *steps], "w")
    builder.node("Conv", ["f", "w"], "c")
    builder.node("HardSwish", [coded("c")], "h")
    first = coded("h")
    builder.node("GlobalAveragePool", [first], "m")
    builder.node("HardSigmoid", [coded("m")], "g")
    builder.node("Mul", [first, coded("g")], "t")
    builder.node("Split", [coded("t"), builder.constant([3, 5], np.int64)], "s", axis=1)
    builder.nodes[-1].output.append("u")
    builder.node("Concat", ["u", "s"], "v", axis=1)
    builder.node("Add", ["v", first], "a")
    builder.node("QuantizeLinear", [coded("a"), scale, zero], "y")
    return builder.model(SHAPE, np.uint8, np.uint8, [1, 8, 4, 4])


@pytest.mark.parametrize(("seed", "ceil"), [(0, False), (1, False), (2, False), (3, True)])
def test_golden_makes_the_codes_of_the_network(seed: int, ceil: bool) -> None:
    """Depthwise convolutions in several jobs, windows beyond the edges, and moved codes."""
    program = compiled(convolutions(seed, ceil=ceil))
    assert len(program.layers) == 2
    runners.check(program, inputs(seed))


@pytest.mark.parametrize(("shape", "classes"), [((1, 10), 10), ((2, 10), 1), ((1, 4, 3, 5), 1)])
def test_a_row_of_codes_has_a_class(shape: tuple[int, ...], classes: int) -> None:
    """Of several, and of a map, nothing is moved for it; of one row the codes are the product's."""
    x = np.zeros(shape, np.uint8)
    lowered = lower(Graph(places(shape, product=True, axis=1)), TARGET)
    program = compile_network(lowered, TARGET, {"x": x})
    assert program.classes == classes
    assert program.scores == program.layers[-1].y.sources.flat[0]
    assert not any(isinstance(step, Move) for step in program.steps)
    assert not any(isinstance(step, Move) for step in program.steps)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
def test_all_that_is_between_products(seed: int) -> None:
    model = mixed(seed)
    onnx.checker.check_model(model)
    program = compiled(model)
    assert not program.host
    kinds = {step.operator for step in program.steps if hasattr(step, "operator")}
    assert {"Conv", "Table", "GlobalAveragePool", "Mul"} <= kinds
    runners.check(program, inputs(seed))


def _zeros(program: Program) -> Any:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)


@pytest.mark.parametrize(
    "name",
    [
        "digits",
        "digits_conv",
        *(
            pytest.param(one, marks=pytest.mark.prove)
            for one in ("text_angle", "orientation", "magika")
        ),
    ],
)
def test_networks(name: str, tmp_path: Path) -> None:
    task = MODELS[name](tmp_path)
    graph = load(quantise(task, tmp_path / "codes" / f"{name}.onnx"))
    lowered = lower(graph, WIDE, until=PASSES[-1].name)
    given = {next(iter(graph.inputs)): task.inputs[:1]}
    program = compile_network(lowered, WIDE, given)
    assert not program.host
    assert not between(lowered, WIDE)
    runners.check(program, given)


def test_a_node_between_is_a_host_segment() -> None:
    """It is named with its reason, and computed there."""
    program = compiled(convolutions(between="Softmax"))
    assert [step.reasons for step in program.host] == [
        (
            "Softmax 'Softmax_o': between products, the firmware has no such operator",
            *(
                f"{kind} '{kind}_{name}': between products, the firmware has no such operator"
                for kind, name in (("QuantizeLinear", "q"), ("Reshape", "r"))
            ),
        ),
    ]
    runners.check(program, inputs(7))
    with pytest.raises(ValueError, match=r"^Softmax 'Softmax_o': between products"):
        _ = program.plan


OTHERS = sorted({
    name
    for name in BY_EVALUATOR
    if defs.has(name, 17)
    and defs.get_schema(name, 17).min_input <= 1 <= defs.get_schema(name, 17).max_input
    and defs.get_schema(name, 17).min_output == 1
    and name not in (*MOVES, *GREATEST, *STEPS)
})
"""Operators of one tensor that the firmware has not."""


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", OTHERS)
def test_tells_operators(name: str) -> None:
    """By node, and before anything is computed; those of one code at a time become tables."""
    try:
        lowered = lower(Graph(convolutions(between=name)), TARGET)
    except ValueError:
        pytest.skip("not one of the host's, either")
    says = f"{name} '{name}_o': between products, the firmware has no such operator"
    assert between(lowered, TARGET) == [says]
    try:
        fused = tables(lowered)
    except (RuntimeError, onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        pytest.skip("it lacks an attribute, or takes no floats")
    # Of codes below 0 these make no number, and so no table.
    tabled = name in _ELEMENTWISE and name not in ("Log", "Sqrt")
    assert between(fused, TARGET) == ([] if tabled else [says])


def test_refuses_other_codes() -> None:
    design = Design.parse("coprocessor", {"engine": "systolic_os(m=2,n=2,a_width=9)"})
    with pytest.raises(ValueError, match=r"must have A of int8, not -256\.\.255"):
        compiled(convolutions(), Target(design))


@pytest.mark.parametrize("name", SYSTEMS)
def test_default_designs_run_networks(name: str) -> None:
    board, _ = system_board_of(name)
    assert compiled(convolutions(), Target(design_of(board, {}))).layers
