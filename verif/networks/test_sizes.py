"""Sizes and numbers that files of others have: right, or refused by node before anything runs."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.graph import host_runtime
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.graph.reference_runtime import session
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import lower
from hw.emit.user_files import FileError
from verif.networks.comparing import TARGET, multiplier
from verif.networks.graphs import Builder

F32, I8, I64 = np.float32, np.int8, np.int64


def _same(b: Builder, x: np.ndarray, out: Any = F32) -> None:
    """Run a model on the golden block and in onnxruntime: codes are the same."""
    model = b.model(x.shape, x.dtype, out)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    (expected,) = session(model.SerializeToString()).run(["y"], {"x": x})
    network = lower(Graph(model), TARGET)
    assert network.products
    found = evaluate(network, {"x": x}, multiplier(False))["y"]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def _codes(b: Builder, name: str, made: str) -> str:
    step, zero = b.scale(), b.zero(I8)
    return b.node(
        "DequantizeLinear",
        [b.node("QuantizeLinear", [name, step, zero], f"{made}/q"), step, zero],
        made,
    )


def _end(b: Builder, name: str) -> None:
    codes = b.node("QuantizeLinear", [name, b.constant(0.031), b.constant(2, I8)], "yq")
    b.node("DequantizeLinear", [codes, b.constant(0.031), b.constant(2, I8)], "y")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 8), (3, 8, 5)),
        ((2, 1, 4, 8), (1, 3, 8, 5)),
        ((2, 3, 4, 8), (3, 8, 5)),
        ((3, 4, 8), (2, 1, 8, 5)),
        ((8,), (3, 8, 5)),
        ((3, 4, 8), (8,)),
        ((2, 4, 8), (1, 8, 5)),
        ((8,), (8,)),
        ((1, 4, 8), (3, 8, 5)),
        ((2, 4, 8), (8, 5)),
        ((0, 8), (8, 5)),
        ((3, 0, 8), (3, 8, 5)),
    ],
)
@pytest.mark.parametrize("kind", ["computed", "left", "MatMulInteger"])
def test_broadcast(a: tuple[int, ...], b: tuple[int, ...], kind: str) -> None:
    """All that ONNX broadcasts, also where A is a constant, and where sizes are 0."""
    rng = np.random.default_rng(1)
    made = Builder(rng)
    x = rng.normal(size=(2 * 3 * 4 * 8 * 5,)).astype(F32)
    at = int(np.prod(a))

    def part(first: int, shape: tuple[int, ...], name: str) -> str:
        few = made.node(
            "Slice",
            ["x", made.constant([first], I64), made.constant([first + int(np.prod(shape))], I64)],
            f"{name}/few",
        )
        return made.node("Reshape", [few, made.constant(shape, I64)], f"{name}/f", allowzero=1)

    right = part(at, b, "b")
    if kind == "left" and at:
        left = made.node("DequantizeLinear", [made.codes(a, I8), made.scale()], "a")
    else:
        left = part(0, a, "a")
    if kind == "MatMulInteger":
        names = [
            made.node("QuantizeLinear", [one, made.constant(0.02), zero], f"{one}/q")
            for one, zero in (
                (left, made.constant(3, np.uint8)),
                (right, made.constant(5, np.uint8)),
            )
        ]
        made.node("MatMulInteger", names, "y")
        return _same(made, x, np.int32)
    left = left if kind == "left" and at else _codes(made, left, "a")
    _end(made, made.node("MatMul", [left, _codes(made, right, "b")], "s"))
    return _same(made, x)


@pytest.mark.parametrize(
    "limits",
    [[(0.5, -0.2)], [(-1.0, 0.3), (0.6, 1.0)], [(None, -0.4)], [(0.4, None), (None, 0.1)]],
)
@pytest.mark.parametrize("relu", [False, True])
def test_limits(limits: list[tuple[float | None, float | None]], relu: bool) -> None:
    """Clip one after the other, also with the least above the most, and behind Relu."""
    b = Builder(np.random.default_rng(2))
    rows = b.node("DequantizeLinear", [b.judged_weights((8, 6)), b.constant(0.01)], "w")
    now = b.node("MatMul", [_codes(b, "x", "a"), rows], "s")
    if relu:
        now = b.node("Relu", [now], "r")
    for at, ends in enumerate(limits):
        names = ["" if one is None else b.constant(one) for one in ends]
        now = b.node("Clip", [now, *names], f"c{at}")
    _end(b, now)
    _same(b, b.rng.normal(size=(5, 8)).astype(F32))


@pytest.mark.parametrize("operator", ["Pad", "GatherElements", "MaxPool", "AveragePool"])
def test_operators(operator: str) -> None:
    """Negative pads, an index smaller than its data, windows beyond the padding."""
    b = Builder(np.random.default_rng(3))
    rows = b.node("DequantizeLinear", [b.judged_weights((8, 6)), b.constant(0.01)], "w")
    now = b.node("MatMul", [_codes(b, "x", "a"), rows], "s")
    b.node("QuantizeLinear", [now, b.constant(0.03), b.constant(0, I8)], "q")
    now = b.node("DequantizeLinear", ["q", b.constant(0.03), b.constant(0, I8)], "d")
    if operator == "Pad":
        b.node("Pad", [now, b.constant([0, 0, 0, -1, 0, 0, 1, 2], I64)], "y")
    elif operator == "GatherElements":
        b.node(operator, [now, b.constant([[[[1, 0], [2, 1]]]], I64)], "y", axis=2)
    else:
        _end(
            b,
            b.node(
                operator,
                [now],
                "p",
                ceil_mode=1,
                kernel_shape=[2, 2],
                strides=[2, 2],
                pads=[0, 1, 0, 1],
            ),
        )
    _same(b, b.rng.normal(size=(2, 3, 5, 8)).astype(F32))


def test_no_samples() -> None:
    """A convolution of no samples has none."""
    b = Builder(np.random.default_rng(4))
    w = b.node("DequantizeLinear", [b.judged_weights((4, 3, 3, 3)), b.constant(0.01)], "w")
    _end(b, b.node("Conv", [_codes(b, "x", "a"), w], "s", strides=[2, 1]))
    _same(b, np.zeros((0, 3, 7, 6), F32))


def test_imports(tmp_path: Any) -> None:
    """Two imports of one version are one; of two versions, both are said."""
    b = Builder(np.random.default_rng(5))
    b.node("MatMulInteger", ["x", b.judged_weights((8, 3))], "y")
    model = b.model(("n", 8), np.uint8, np.int32, ("n", 3))
    model.opset_import.append(helper.make_opsetid("", 21))
    model.opset_import.append(helper.make_opsetid("ai.onnx", 21))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    graph = load(tmp_path / "m.onnx")
    assert sorted(one.domain for one in graph.proto.opset_import) == ["", "com.microsoft"]
    model.opset_import.append(helper.make_opsetid("", 17))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="opset '' must have one version, not 21 and 17"):
        load(tmp_path / "m.onnx")


def test_output_without_shape(tmp_path: Any) -> None:
    """Its shape is what the model makes."""
    b = Builder(np.random.default_rng(6))
    b.node("MatMulInteger", ["x", b.judged_weights((8, 3))], "y")
    model = b.model(("n", 8), np.uint8, np.int32)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert load(tmp_path / "m.onnx").outputs == ["y"]


def test_windows_beyond_the_padding() -> None:
    """As many windows, and the same greatest numbers, as onnxruntime has with ceil_mode."""
    count = 0
    for size, kernel, stride, before, after, step in product(
        (4, 5, 7), (1, 2, 3), (1, 2, 3), (0, 1), (0, 1), (1, 2)
    ):
        if max(before, after) >= kernel or (kernel - 1) * step + 1 > size:
            continue
        numbers: dict[str, Any] = {
            "kernel_shape": [kernel],
            "strides": [stride],
            "dilations": [step],
            "pads": [before, after],
            "ceil_mode": 1,
        }
        x = np.arange(size, dtype=F32).reshape(1, 1, size) - 9
        node = helper.make_node("MaxPool", ["i0"], ["y"], **numbers)
        (expected,) = host_runtime.run(node, 12, [x])
        windows = Windows(
            kernel=(kernel,), strides=(stride,), dilations=(step,), pads=(before, after)
        ).reaching((size,))
        found = windows.cut(x, -99).max(axis=-1)
        np.testing.assert_array_equal(found.reshape(-1), expected.reshape(-1), str(numbers))
        count += 1
    assert count > 100


def test_names_the_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with a model that was made of a program is said of the program's file."""

    def converted(path: Path, folder: Path) -> Path:
        made = folder / "m.onnx"
        made.write_bytes(b"no model")
        return made

    monkeypatch.setattr("carrysave.compiler.front.onnx_model.converted", converted)
    path = tmp_path / "program.pt2"
    with pytest.raises(FileError) as found:
        load(path)
    assert str(found.value) == f"{path}: no valid ONNX model: it cannot be read"
