"""Models whose constants are in files beside them: read product by product."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import carrysave
from carrysave.compiler.front.onnx_model import load, read_model
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.tensors import array_of, let_go, whole
from carrysave.compiler.passes.pipeline import lower
from hw.emit.user_files import FileError
from verif.networks.comparing import TARGET

ROOT = Path(__file__).resolve().parents[2]


def chain(folder: Path, layers: int, size: int, rows: int = 50) -> Path:
    """Write a model of rows that are looked up and multiplied, layer by layer; and inputs."""
    rng = np.random.default_rng(layers)
    single = {"step": np.float32(0.02), "zero": np.uint8(3), "plain": np.int8(0)}
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in single.items()]
    nodes = [helper.make_node("Gather", ["table", "which"], ["x0"])]
    shapes = {"table": (rows, size), **{f"w{layer}": (size, size) for layer in range(layers)}}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "data").open("wb") as file:
        for name, shape in shapes.items():
            kind = np.uint8 if name == "table" else np.int8
            facts = (("location", "data"), ("offset", file.tell()), ("length", shape[0] * shape[1]))
            number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            tensor = TensorProto(
                name=name, data_type=number, dims=shape, data_location=TensorProto.EXTERNAL
            )
            for key, value in facts:
                tensor.external_data.add(key=key, value=str(value))
            tensors.append(tensor)
            file.write(rng.integers(0, 256, shape, dtype=np.uint8).tobytes())
    late = ["step", "zero"]
    for layer in range(layers):
        given = [f"x{layer}", *late, f"w{layer}", "step", "plain", *late]
        nodes.append(helper.make_node("QLinearMatMul", given, [f"x{layer + 1}"], f"layer{layer}"))
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("which", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info(f"x{layers}", TensorProto.UINT8, ["n", size])],
        tensors,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    np.save(folder / "which.npy", rng.integers(0, rows, 3))
    return folder / "m.onnx"


def test_constants_in_files_are_those_in_the_model(tmp_path: Path) -> None:
    """As onnxruntime has it, too; for products and for operators of the host."""
    path = chain(tmp_path, 3, 256, 400)
    which = np.load(tmp_path / "which.npy")
    inside = tmp_path / "inside.onnx"
    inside.write_bytes(whole(read_model(path)).SerializeToString())
    outputs = []
    for model, compare in ((path, True), (path, False), (inside, True)):
        found = carrysave.run(model, which, simulate="none", energy="none", compare=compare)
        (output,) = found["outputs"]
        assert output["equal"] is (True if compare else None)
        assert ("no comparison, as asked for" in found["notes"]) is not compare
        outputs.append(found.outputs["x3"])
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])
    assert np.ptp(outputs[0]) > 100


def test_weights_stay_in_their_file(tmp_path: Path) -> None:
    """Of 24 MB nothing is taken before a product is made; and it can be given back."""
    path = chain(tmp_path, 24, 1024)
    tracemalloc.start()
    graph = load(path)
    products = lower(graph, TARGET).products
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(products) == 24
    assert taken < 4 << 20
    for number in (0, 23):
        weights = products[number].weights
        assert weights is not None
        before = weights[:2].tolist()
        let_go(weights)
        assert weights[:2].tolist() == before
    let_go(np.zeros(3))
    let_go(None)
    # The checks of ONNX see no constant, either.
    tensors = {one.name: one for one in graph.proto.graph.initializer}
    assert np.array_equal(array_of(tensors["w5"]), graph.constants["w5"])
    assert sum(len(one.raw_data) for one in tensors.values()) < 1 << 16


@pytest.mark.parametrize(
    ("length", "says"),
    [
        (1 << 16, "beyond the end of data"),
        (1 << 15, "must have 65536 bytes, as of 256 x 256"),
    ],
)
def test_large_parts_of_other_sizes_are_refused(length: int, says: str, tmp_path: Path) -> None:
    path = chain(tmp_path, 1, 256)
    proto: ModelProto = onnx.load(path, load_external_data=False)
    (tensor,) = (one for one in proto.graph.initializer if one.name == "w0")
    for one in tensor.external_data:
        one.value = str(length) if one.key == "length" else one.value
    path.write_bytes(proto.SerializeToString())
    if length == 1 << 16:
        with (tmp_path / "data").open("r+b") as file:
            file.truncate(50 * 256 + (1 << 16) - 1)
    with pytest.raises(FileError, match=says):
        Graph(read_model(path))


@pytest.mark.prove
def test_memory_is_that_of_a_layer(tmp_path: Path) -> None:
    """300 MB of weights take at most 32 MiB more than 12 MB of them, in all of the process."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    peaks = []
    for layers in (3, 75):
        path = chain(tmp_path / str(layers), layers, 2000)
        command = [sys.executable, "-m", "carrysave", "run", str(path), "--input",
                   str(path.parent / "which.npy"), "--simulate", "none", "--energy", "none",
                   "--no-compare", "-o", str(tmp_path / "out")]  # fmt: skip
        found = subprocess.run(
            [sys.executable, "-c", program, *command],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        peaks.append(int(found.stdout.splitlines()[-1]) >> 10)
    print(peaks)
    assert peaks[1] - peaks[0] < 32, peaks
