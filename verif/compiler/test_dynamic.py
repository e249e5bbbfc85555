"""Dynamic quantisation in programs: steps found when it runs, by steps on floats and jobs."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.reasons import between
from carrysave.compiler.run import network
from verif.compiler import runners
from verif.compiler.test_program import TARGET
from verif.support.command import Run
from verif.support.schemas import check

F32 = np.float32
SHAPE = (2, 3, 8, 8)


def model(folder: Path, *, convolution: bool = True, **options: Any) -> ModelProto:
    """Return a network as onnxruntime's dynamic quantiser writes it."""
    rng = np.random.default_rng(1)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(F32)

    depth = 6 * 4 * 8 if convolution else 3 * 8 * 8
    constants = {"k": drawn(6, 3, 3, 3), "kb": drawn(6), "w": drawn(depth, 10), "b": drawn(10)}
    constants |= {"w2": drawn(10, 5)}
    first = [
        helper.make_node(
            "Conv", ["x", "k", "kb"], ["c"], "conv", pads=[1, 1, 0, 1], strides=[2, 1]
        ),
        helper.make_node("Relu", ["c"], ["r"]),
    ]
    nodes = [
        *(first if convolution else []),
        helper.make_node("Flatten", ["r" if convolution else "x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["m"], "dense"),
        helper.make_node("Add", ["m", "b"], ["s"]),
        helper.make_node("Tanh", ["s"], ["t"]),
        helper.make_node("MatMul", ["t", "w2"], ["y"], "last"),
    ]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "dynamic",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *SHAPE[1:]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(one, name) for name, one in constants.items() if name in used],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, folder / "f.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = ["Conv", "MatMul"]
        quantize_dynamic(folder / "f.onnx", folder / "m.onnx", kinds, **options)
    return onnx.load(folder / "m.onnx")


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(0.3, 1, SHAPE).astype(F32)}


def compiled(made: ModelProto) -> Program:
    return compile_network(lower(Graph(made), TARGET, until=PASSES[-1].name), TARGET, inputs(0))


@pytest.mark.parametrize(
    ("convolution", "options"),
    [(True, {}), (False, {}), (False, {"per_channel": True})],
    ids=["convolution", "dense", "columns"],
)
def test_networks_are_whole(tmp_path: Path, convolution: bool, options: dict[str, Any]) -> None:
    """No host segment; sums are the evaluator's to the bit, and outputs near onnxruntime's.

    Zeros beyond the edges of a picture are the code that stands for 0 in each run.
    """
    made = model(tmp_path, convolution=convolution, **options)
    program = compiled(made)
    assert not program.host
    assert not between(lower(Graph(made), TARGET, until=PASSES[-1].name), TARGET)
    for seed in (1, 2):
        runners.check(program, inputs(seed))
    memory, runner = runners.on_golden(program)
    ours = network.run(program, inputs(3), memory, runner)["y"]
    (theirs,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, inputs(3))
    assert np.abs(ours - theirs).max() <= 0.02 * np.abs(theirs).max()


def test_zeros_have_no_range(tmp_path: Path) -> None:
    runners.check(compiled(model(tmp_path)), {"x": np.zeros(SHAPE, F32)})


def test_weights_of_nine_bits_are_named(tmp_path: Path) -> None:
    """uint8 less a zero point: more than a code of the engine."""
    made = model(tmp_path, convolution=False, weight_type=QuantType.QUInt8)
    says = "MatMulInteger 'dense_quant': weights must be of one code of the engine each"
    with pytest.raises(ValueError, match=says):
        compiled(made)


def test_from_the_command_line(run: Run, tmp_path: Path) -> None:
    """A folder runs without the model."""
    model(tmp_path)
    x = inputs(6)["x"]
    np.save(tmp_path / "x.npy", x)
    done = run("compile", tmp_path / "m.onnx", "--batch", 2, "-o", tmp_path, "--json")
    assert done.code == 0, done.err
    assert check("compile", done.out)["host_segments"] == 0
    folder = tmp_path / "compile" / "m"
    done = run(
        "run", folder, "--input", tmp_path / "x.npy", "--simulate", "none", "-o", tmp_path, "--json"
    )
    assert done.code == 0, done.err
    (theirs,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    with np.load(check("program_run", done.out)["files"][0]) as outputs:
        assert np.abs(outputs["y"] - theirs).max() <= 0.02 * np.abs(theirs).max()
