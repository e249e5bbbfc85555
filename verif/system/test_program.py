"""Programs of systems: what they make of codes, what blocks they choose, what they refuse."""

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, defs

from carrysave.networks.host_versions import BY_EVALUATOR
from carrysave.networks.lower import lower
from carrysave.networks.model import Graph
from carrysave.networks.target import Target
from carrysave.system.boards import SYSTEMS, design_of, system_board_of
from carrysave.system.program import _GREATEST, _MOVES, _STEPS, Program, compile_program
from carrysave.system.simulate import expect, multiplier
from hw.catalog import Design
from verif.networks.test_recurrent import quantised
from verif.system import software_firmware
from verif.system.networks import SHAPE, convolutions

BOARD, CHOSEN = system_board_of("ulx3s_85f")
TARGET = Target(design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"}))


def compiled(model: ModelProto, target: Target = TARGET) -> Program:
    lowered = lower(Graph(model), target)
    x = {"x": np.zeros(SHAPE, np.uint8)}
    return compile_program(lowered, target, CHOSEN.timing(target), x, multiplier(target))


@pytest.mark.parametrize(("seed", "ceil"), [(0, False), (1, False), (2, False), (3, True)])
def test_firmware_makes_the_golden_codes(seed: int, ceil: bool) -> None:
    """Depthwise convolutions in several jobs, windows beyond the edges, and moved codes."""
    model = convolutions(seed, ceil=ceil)
    program = compiled(model)
    assert max(step[1] for step in program.image.steps if step[0] == 2) == 2
    x = np.random.default_rng(seed).integers(0, 256, SHAPE).astype(np.uint8)
    expected = expect(lower(Graph(model), TARGET), TARGET, program, {"x": x})
    memory = software_firmware.run(TARGET.spec, program.plan, expected.inputs)
    assert len(program.layers) == len(expected.codes) == 2
    for layer, codes in zip(program.layers, expected.codes, strict=True):
        first, size = layer.y.span
        found = layer.y.found(memory[first : first + size].tobytes())
        np.testing.assert_array_equal(found, codes)
    assert len(np.unique(expected.codes[0])) > 16  # they say something


def test_nothing_overlaps() -> None:
    """What is placed, made and counted has room of its own."""
    program = compiled(convolutions())
    taken = np.zeros(program.image.end, int)
    for address, data in program.image.parts.items():
        taken[address : address + len(data)] += 1
    for tensor in (*program.inputs.values(), *(layer.y for layer in program.layers)):
        np.add.at(taken, tensor.sources.ravel(), 1)
    assert taken.max() == 1


def _never(*_: object) -> np.ndarray:
    raise AssertionError("computed before it was refused")


OTHERS = sorted({name for name in BY_EVALUATOR if defs.has(name, 17)
                 and defs.get_schema(name, 17).min_input <= 1 <= defs.get_schema(name, 17).max_input
                 and defs.get_schema(name, 17).min_output == 1
                 and name not in (*_MOVES, *_GREATEST, *_STEPS)})  # fmt: skip
"""Operators of one tensor that the firmware has not."""


def test_refuses_operators() -> None:
    """By node, and before anything is computed."""
    refused = 0
    for between in OTHERS:
        proto = convolutions(between=between)
        try:
            lowered = lower(Graph(proto), TARGET)
        except ValueError:  # not one of the host's, either
            continue
        refused += 1
        says = f"^{between} '{between}_o': between products, the firmware has no such operator"
        with pytest.raises(ValueError, match=says):
            compile_program(lowered, TARGET, CHOSEN.timing(TARGET), {}, _never)
    assert refused > 40


@pytest.mark.filterwarnings("ignore")
def test_refuses_layers(tmp_path: Path) -> None:
    """A recurrent layer is named by its node."""
    model = quantised(tmp_path, {})
    lowered = lower(Graph(model), TARGET)
    (node,) = (one for one in model.graph.node if one.op_type == "DynamicQuantizeLSTM")
    says = f"^DynamicQuantizeLSTM '{node.name or node.output[0]}': the firmware has no such"
    with pytest.raises(ValueError, match=says):
        compile_program(lowered, TARGET, CHOSEN.timing(TARGET), {}, _never)


def test_refuses_other_codes() -> None:
    design = Design.parse("coprocessor", {"engine": "systolic_os(m=2,n=2,a_width=9)"})
    with pytest.raises(ValueError, match=r"must have A of int8, not -256\.\.255"):
        compiled(convolutions(), Target(design))


@pytest.mark.parametrize("name", SYSTEMS)
def test_default_designs_run_networks(name: str) -> None:
    board, _ = system_board_of(name)
    assert compiled(convolutions(), Target(design_of(board, {}))).layers
