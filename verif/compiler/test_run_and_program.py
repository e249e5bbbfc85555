"""`run` of a model makes what the model's program makes, to the bit: a kind of network each."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.console import Console

from carrysave.compiler.front.options import ReadOptions, sized
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.request import RunRequest, execute
from carrysave.compiler.target.target import Target
from carrysave.progress import Steps
from hw.catalog import Design
from verif.compiler.networks import attention, feature_maps
from verif.compiler.test_map_jobs import network_of
from verif.compiler.test_program import mixed
from verif.compiler.test_recurrent_program import MORE
from verif.compiler.test_recurrent_program import network as recurrent
from verif.networks.graphs import Builder
from verif.networks.linear_models import projected
from verif.system.networks import convolutions

MAPS = {
    "vector": "vector_unit(lanes=4,length=256,width=16)",
    "taps": "3",
    "requantisers": "4",
    "windows": "true",
}
SAMPLES = 3


def softmax(seed: int, exponent: float) -> onnx.ModelProto:
    """Return a softmax and a power in floats between products.

    Codes are far less apart than floats round: a unit in the last place is half a code. A
    processor has some exponents only.
    """
    b = Builder(np.random.default_rng(seed), opset=17)
    step, zero, one = b.constant(1e-7), b.constant(128, np.uint8), b.constant(1.0)
    weights = [one, b.constant(0, np.int8)]
    given = ["x", b.constant(1e-9), zero, b.codes((6, 16), np.int8), *weights, step, zero]
    b.node("QLinearMatMul", given, "q")
    b.node("DequantizeLinear", ["q", step, zero], "f")
    b.node("Pow", [b.node("Softmax", ["f"], "s", axis=-1), b.constant(exponent)], "p")
    b.node("Sub", ["p", b.constant(16**-exponent)], "d")
    b.node("Mul", ["d", b.constant(0.5 / np.spacing(np.float32(16**-exponent)))], "m")
    b.node("QuantizeLinear", ["m", one, zero], "r")
    given = ["r", one, zero, b.codes((16, 5), np.int8), *weights, b.constant(400), zero]
    b.node("QLinearMatMul", given, "y")
    return b.model((1, 6), np.uint8, np.uint8, [1, 5])


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "convolutions": lambda: convolutions(5),
    "mixed": lambda: mixed(5),
    "maps": lambda: feature_maps(3),
    "attention": lambda: attention(2),
    "sums of maps": lambda: network_of(1, "Add", 7, np.uint8),
    "softmax": lambda: softmax(1, 2.0),
    "a power that a processor lacks": lambda: softmax(1, 1.5),
    "linear attention": projected,
    "LSTM": lambda: recurrent(MORE["both"]),
    "GRU": lambda: recurrent(MORE["both 1"]),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("parameters", [{}, MAPS], ids=["plain", "windows and maps"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_outputs(name: str, parameters: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(NETWORKS[name](), path)
    design = Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)", **parameters})
    target = Target(design)
    graph, samples = ReadOptions().read(path)
    rng = np.random.default_rng(6)
    ((x, (kind, shape)),) = graph.inputs.items()
    sizes = [size if isinstance(size, int) else 3 for size in shape]
    if kind == np.uint8:
        data = [rng.integers(0, 256, sizes).astype(kind) for _ in range(SAMPLES)]
    else:
        data = [rng.normal(size=sizes).astype(kind) for _ in range(SAMPLES)]
    request = RunRequest(
        model=path, data=np.concatenate(data), labels=None, design=design, simulate="none",
        requantise="hardware", batch=sizes[0], library=lambda: None, compare=False,
    )  # fmt: skip
    with Steps(Console(quiet=True)) as steps:
        _, outputs = execute(request, tmp_path / "runs", steps)
    graph = sized(graph, {x: data[0]})
    lowered = lower(graph, target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {x: data[0]}, samples=samples)
    memory = program.memory.copy()
    for number, one in enumerate(data):
        made = network.run(program, {x: one}, memory, by_golden(program, memory))
        for key, values in made.items():
            rows = range(number * sizes[0], (number + 1) * sizes[0])
            part = outputs[key].take(rows, axis=samples.outputs[key])
            np.testing.assert_array_equal(part, values, key)
            assert len(np.unique(values)) > 2
