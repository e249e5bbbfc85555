"""Programs of torch.export as models; where torch is installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.front import exported
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.passes.pipeline import lower
from hw.emit.user_files import FileError
from verif.networks.comparing import TARGET, multiplier

torch: Any = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("onnxscript")


class Floats(torch.nn.Module):  # type: ignore[misc]
    """Operators of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.dense = torch.nn.Linear(8, 5)

    def forward(self, x: Any, scale: Any) -> Any:
        x = torch.nn.functional.hardswish(self.conv(x)) * scale
        return torch.softmax(self.dense(x.mean((2, 3))), 1)


class Codes(torch.nn.Module):  # type: ignore[misc]
    """A convolution between quantisers, as torch's own quantisers write it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8))

    def forward(self, x: Any) -> Any:
        # Importing it registers the operators.
        from torch.ao.quantization.fx import _decomposed  # noqa: F401

        ops = torch.ops.quantized_decomposed

        def rounded(x: Any, scale: float, zero: int) -> Any:
            own = scale, zero, -128, 127, torch.int8
            return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *own), *own)

        w = ops.dequantize_per_tensor(self.w, 0.01, 0, -127, 127, torch.int8)
        return rounded(torch.relu(torch.nn.functional.conv2d(rounded(x, 0.02, 3), w)), 0.05, -128)


def saved(module: Any, folder: Path, *inputs: Any) -> tuple[Path, Any]:
    """Export a module, and write it."""
    with exported._quiet():
        program = torch.export.export(module.eval(), inputs)
        path = folder / "model.pt2"
        torch.export.save(program, path)
    return path, program


def draw(*shape: int) -> Any:
    torch.manual_seed(1)
    return torch.randn(*shape)


def test_each_operator_makes_what_torch_makes(tmp_path: Path) -> None:
    inputs = draw(2, 3, 8, 8), torch.tensor(0.75)
    path, program = saved(Floats(), tmp_path, *inputs)
    graph = load(path)
    assert [node.op_type for node in graph.nodes] == [
        "Conv",
        "HardSwish",
        "Mul",
        "ReduceMean",
        "Gemm",
        "Softmax",
    ]
    assert exported.check(program, graph.proto) == 6
    assert [*graph.inputs] == ["x", "scale"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("HardSwish", "Relu", "Relu .*must make what torch makes, within"),
        ("Softmax", "Identity", "Identity .*must make what torch makes, within"),
        ("Gemm", "MatMul", "MatMul .*must make what torch makes, within"),
    ],
)
def test_an_operator_that_makes_something_else_is_named(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    path, program = saved(Floats(), tmp_path, draw(2, 3, 8, 8), torch.tensor(0.75))
    model = load(path).proto
    (node,) = [node for node in model.graph.node if node.op_type == old]
    node.op_type = new
    del node.attribute[:]
    if new == "MatMul":
        (weights,) = [one for one in model.graph.initializer if one.name == node.input[1]]
        weights.dims[:] = weights.dims[::-1]
        del node.input[2:]
    with pytest.raises(ValueError, match=says):
        exported.check(program, model)


def test_a_quantised_program_runs_on_the_block(tmp_path: Path) -> None:
    module, x = Codes(), draw(2, 3, 8, 8)
    path, _ = saved(module, tmp_path, x)
    network = lower(load(path), TARGET)
    (product,) = network.products
    assert product.operator == "Conv"
    (found,) = evaluate(network, {"x": x.numpy()}, multiplier(True)).values()
    wanted = module(x).numpy()
    # Codes, a step apart at most, and rarely.
    apart = np.rint(np.abs(found - wanted) / 0.05)
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 2


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    with pytest.raises(FileNotFoundError):
        load(path)
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FileError, match="no program that becomes an ONNX model: "):
        load(path)
    _, program = saved(Floats(), tmp_path, draw(2, 3, 8, 8), torch.tensor(0.75))
    model = load(path).proto
    program.example_inputs = None
    with pytest.raises(ValueError, match="must have the example inputs that it was exported with"):
        exported.check(program, model)
