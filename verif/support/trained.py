"""Networks of the digits that are trained here, and what a task for a network is."""

import inspect
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from carrysave import cache
from carrysave.data.digits import split, train

__all__ = ["Task", "digits", "digits_conv"]


@dataclass(frozen=True)
class Task:
    """A float model, and its task.

    Members
    -------
    model : the file.
    calibration, inputs : of its only input.
    labels : classes of the inputs.
    options : of the quantiser.
    """

    model: Path
    calibration: np.ndarray
    inputs: np.ndarray
    labels: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)


def digits(folder: Path) -> Task:
    """Return the network of the demo, in floats."""
    pixels, labels = load_digits(return_X_y=True)
    test, path = split(len(labels)), _trained(_train_digits, folder)
    scaled = (pixels / 16).astype(np.float32)
    return Task(path, scaled[~test], scaled[test], labels[test])


def digits_conv(folder: Path) -> Task:
    """Return a network of two convolutions of drawn filters, and a last layer that is trained."""
    pixels, labels = load_digits(return_X_y=True)
    test, path = split(len(labels)), _trained(_train_digits_conv, folder)
    images = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return Task(path, images[~test], images[test], labels[test])


def _trained(train_to: Callable[[Path], None], folder: Path) -> Path:
    """Copy a network to a folder: it is trained when what trains it is new."""
    texts = (Path(__file__).read_text(), inspect.getsource(train), inspect.getsource(split))
    parts = [train_to.__name__, *texts, *map(version, ("numpy", "scikit-learn"))]
    name = "model.onnx"
    made = cache.entry("trained", parts, lambda new: train_to(new / name), most=4)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{train_to.__name__.removeprefix('_train_')}.onnx"
    shutil.copyfile(made / name, path)
    return path


def _train_digits(path: Path) -> None:
    pixels, labels = load_digits(return_X_y=True)
    test = split(len(labels))
    network = train(pixels[~test], labels[~test], seed=1)
    nodes, constants, now = [], [], "pixels"
    for number, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        last = number == len(network.coefs_) - 1
        for kind, values in (("weights", weights), ("bias", bias)):
            constants.append(numpy_helper.from_array(values.astype(np.float32), f"{kind}{number}"))
        made = "logits" if last else f"sums{number}"
        inputs = [now, f"weights{number}", f"bias{number}"]
        nodes.append(helper.make_node("Gemm", inputs, [made], f"layer{number}"))
        if not last:
            nodes.append(helper.make_node("Relu", [made], [f"hidden{number}"], f"relu{number}"))
            now = f"hidden{number}"
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["count", 64])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["count", 10])],
        constants,
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path
    )


def _train_digits_conv(path: Path) -> None:
    pixels, labels = load_digits(return_X_y=True)
    test = split(len(labels))
    rng = np.random.default_rng(1)
    images = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    nodes, constants, now, channels = [], [], "image", 1
    for number, filters in enumerate((8, 16)):
        kernel = rng.normal(0, (2 / (9 * channels)) ** 0.5, (filters, channels, 3, 3))
        constants.append(numpy_helper.from_array(kernel.astype(np.float32), f"kernel{number}"))
        own = {name: f"{name}{number}" for name in ("conv", "relu", "pool")}
        nodes += [
            helper.make_node(
                "Conv", [now, f"kernel{number}"], [own["conv"]], own["conv"], pads=[1] * 4
            ),
            helper.make_node("Relu", [own["conv"]], [own["relu"]], own["relu"]),
            helper.make_node(
                "MaxPool",
                [own["relu"]],
                [own["pool"]],
                own["pool"],
                kernel_shape=[2, 2],
                strides=[2, 2],
            ),
        ]
        now, channels = own["pool"], filters
    nodes.append(helper.make_node("Flatten", [now], ["features"], "flatten"))
    shape: list[str | int | None] = ["count", 1, 8, 8]

    def model(more: list[Any], output: str, size: int) -> onnx.ModelProto:
        graph = helper.make_graph(
            [*nodes, *more],
            "digits_conv",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["count", size])],
            constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    (features,) = ReferenceEvaluator(model([], "features", 64)).run(None, {"image": images})
    last = LogisticRegression(max_iter=2000).fit(features[~test], labels[~test])
    for name, values in (("weights", last.coef_.T), ("bias", last.intercept_)):
        constants.append(numpy_helper.from_array(values.astype(np.float32), name))
    gemm = helper.make_node("Gemm", ["features", "weights", "bias"], ["logits"], "last")
    onnx.save(model([gemm], "logits", 10), path)
