"""`If` nodes: the branch that constants take, by the outputs of onnxruntime; others are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.branches import branches
from carrysave.compiler.passes.fold import fold
from verif.networks.graphs import judged
from verif.support.command import Run
from verif.support.schemas import check

F32 = np.float32


def _graph(
    name: str, nodes: list[onnx.NodeProto], outputs: list[str], **constants: object
) -> GraphProto:
    values = [numpy_helper.from_array(np.asarray(one), key) for key, one in constants.items()]
    ends = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in outputs]
    return helper.make_graph(nodes, name, [], ends, values)


def _node(kind: str, inputs: list[str], output: str, **more: Any) -> NodeProto:
    return helper.make_node(kind, inputs, [output], **more)


def _choice(on: str, outputs: list[str], then: GraphProto, other: GraphProto) -> onnx.NodeProto:
    return helper.make_node("If", [on], outputs, then_branch=then, else_branch=other)


def model(decided: bool = True) -> ModelProto:
    """Return a network with branches that take what is around them, and pass some of it on."""
    inner = _choice(
        "small",
        ["r"],
        _graph("t2", [_node("Add", ["m", "k2"], "v")], ["v"], k2=F32(0.25)),
        _graph("e2", [_node("Neg", ["m"], "v")], ["v"]),
    )
    small = [
        _node("Shape", ["x"], "s"),
        _node("Gather", ["s", "one"], "n"),
        _node("Less", ["n", "most"], "small"),
    ]
    then = _graph("t", [_node("Mul", ["x", "k"], "m"), inner], ["r", "m"], k=F32(0.5))
    other = _graph(
        "e", [_node("Sub", ["x", "k"], "m"), _node("Identity", ["x"], "p")], ["m", "p"], k=F32(2)
    )
    first = _choice("fast", ["a", "b"], then, other)
    second = _choice(
        "slow",
        ["c"],
        _graph("t3", [_node("Relu", ["a"], "m")], ["m"]),
        _graph("e3", [_node("Tanh", ["a"], "m")], ["m"]),
    )
    steps = {"step": F32(0.02), "zero": np.uint8(128), "w_step": F32(0.01), "w_zero": np.int8(0)}
    rng = np.random.default_rng(1)
    weights = judged(rng.integers(-128, 128, (8, 4))).astype(np.int8)
    nodes = [
        _node("ReduceMean", ["x"], "mean", keepdims=0),
        _node("Greater", ["rate", "limit"], "fast"),
        _node("Not", ["fast"], "slow") if decided else _node("Greater", ["mean", "zero_f"], "slow"),
        *small,
        first,
        second,
        _node("Add", ["b", "c"], "sum"),
        _node("QuantizeLinear", ["sum", "step", "zero"], "q"),
        _node("QLinearMatMul", ["q", "step", "zero", "w", "w_step", "w_zero", "step", "zero"], "y"),
    ]
    constants = {
        "limit": np.int64(8000),
        "one": np.int64(1),
        "most": np.int64(99),
        "w": weights,
        "zero_f": F32(0),
        **steps,
    }
    graph = helper.make_graph(
        nodes,
        "branches",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8]),
            helper.make_tensor_value_info("rate", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, ["n", 4])],
        [numpy_helper.from_array(np.asarray(one), key) for key, one in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


@pytest.mark.parametrize("rate", [16000, 4000])
def test_the_branch_that_is_taken(run: Run, tmp_path: Path, rate: int) -> None:
    """Compiled with the input that decides as a constant, it runs as onnxruntime runs the whole."""
    onnx.save(model(), tmp_path / "m.onnx")
    x = np.random.default_rng(2).normal(0, 1, (3, 8)).astype(F32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "rate.npy", np.array(rate))
    chosen = ("--constant", f"rate={tmp_path / 'rate.npy'}", "-o", tmp_path)
    done = run("compile", tmp_path / "m.onnx", *chosen, "--json")
    assert done.code == 0, done.err
    assert check("compile", done.out)["host_segments"] == 0
    folder = tmp_path / "compile" / "m"
    done = run(
        "run", folder, "--input", tmp_path / "x.npy", "--simulate", "none", "-o", tmp_path, "--json"
    )
    assert done.code == 0, done.err
    session = onnxruntime.InferenceSession(model().SerializeToString())
    (expected,) = session.run(None, {"x": x, "rate": np.array(rate)})
    with np.load(check("program_run", done.out)["files"][0]) as outputs:
        np.testing.assert_array_equal(outputs["y"], expected)
    assert np.ptp(expected) > 20


def test_sizes_of_inputs_decide(run: Run, tmp_path: Path) -> None:
    """A size that the file leaves open, and `--input` has; `run` makes what the program makes."""
    proto = model()
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "k"
    onnx.save(proto, tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.random.default_rng(2).normal(0, 1, (3, 8)).astype(F32))
    np.save(tmp_path / "rate.npy", np.array(9000))
    taken = ("--input", tmp_path / "x.npy", "-o", tmp_path)
    read = ("--constant", f"rate={tmp_path / 'rate.npy'}")
    alone = ("--simulate", "none", "--json")
    done = run("run", tmp_path / "m.onnx", *taken, *read, "--batch", 3, *alone, "--energy", "none")
    assert done.code == 0, done.err
    outputs = tmp_path / "run" / "m" / "outputs.npz"
    by_run = np.load(outputs)["y"]
    assert run("compile", tmp_path / "m.onnx", *taken, *read).code == 0
    done = run("run", tmp_path / "compile" / "m", *taken, *alone)
    assert done.code == 0, done.err
    np.testing.assert_array_equal(np.load(outputs)["y"], by_run)
    assert len(np.unique(by_run)) > 2


def test_names_stay_apart() -> None:
    """Both choices have tensors of one name: none is made twice."""
    graph = Graph(model())
    options = ReadOptions(constants={"rate": np.array(16000)})
    assert options != ReadOptions()
    proto = ModelProto()
    proto.CopyFrom(graph.proto)
    del proto.graph.input[1]
    proto.graph.initializer.append(numpy_helper.from_array(np.array(16000), "rate"))
    made = branches(fold(sized(Graph(proto), {"x": np.zeros((1, 8), F32)})))
    names = [name for node in made.nodes for name in node.output]
    assert len(names) == len(set(names))
    assert "If" not in {node.op_type for node in made.nodes}
    onnx.checker.check_model(made.proto, full_check=True)
    assert branches(made) is made


def test_what_data_decides_is_refused(run: Run, tmp_path: Path) -> None:
    onnx.save(model(decided=False), tmp_path / "m.onnx")
    np.save(tmp_path / "rate.npy", np.array(16000))
    line = ("compile", tmp_path / "m.onnx", "-o", tmp_path)
    done = run(*line, "--constant", f"rate={tmp_path / 'rate.npy'}")
    says = (
        "If 'c': its condition 'slow' must be a constant, or decided by inputs that are given as"
        " constants: subgraphs are not supported"
    )
    assert (done.code, says in done.err) == (2, True), done.err
    assert "'a'" not in done.err
    assert not (tmp_path / "compile").exists()
