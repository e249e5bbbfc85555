"""Train a small MobileNet whose convolutions of single channels are of groups of more, with jax.

Digits and training are those of :mod:`.train_mnist`. Weights of a group of g channels make as many,
each of all g of them (DRACO's rewrite of a network); g = 1 is MobileNet's. Networks are kept in the
cache, as ONNX.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from carrysave import cache
from scripts.train.train_mnist import Weights, train
from verif.support.mnist import CLASSES, SIDE

__all__ = ["EPOCHS", "WIDTHS", "grouped"]

WIDTHS = (16, 32, 64, 64, 64)
"""Channels: of the first convolution, and of each block."""
_STRIDES = (1, 2, 1, 2)
"""Of the blocks' convolutions of groups; the first convolution has 2."""
EPOCHS = 8
_VERSION = "1"
"""Of this script's results in the cache."""


def grouped(size: int, fold: int) -> Path:
    """Return the network with groups of so many channels that tests a fold, as ONNX."""

    def make(folder: Path) -> None:
        made = train(fold, _start(size, fold), _forward, EPOCHS)
        onnx.save(_model(made), folder / "grouped.onnx")

    parts = [_VERSION, repr((WIDTHS, _STRIDES, EPOCHS)), str(size), str(fold)]
    return cache.entry("mnist-grouped", parts, make) / "grouped.onnx"


def _start(size: int, fold: int) -> Weights:
    """Draw weights (He et al., 2015), with their inputs before their outputs."""
    rng = np.random.default_rng(300 + fold)
    weights: Weights = {}

    def draw(name: str, *shape: int) -> None:
        spread = (2 / np.prod([*shape[:2], shape[-2]])) ** 0.5
        weights[f"{name}.weights"] = rng.normal(0, spread, shape).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(int(np.prod(shape[2:])) // shape[-2], np.float32)

    draw("first", 3, 3, 1, 1, WIDTHS[0])
    for block, (before, wide) in enumerate(pairwise(WIDTHS)):
        draw(f"group{block}", 3, 3, before // size, size, size)
        draw(f"point{block}", 1, 1, 1, before, wide)
    draw("last", 1, 1, 1, WIDTHS[-1], CLASSES)
    return weights


def _convolved(params: Any, name: str, x: Any, stride: int = 1) -> Any:
    """Convolve a map, channels last, by groups: a product for each place of the kernel."""
    import jax.numpy as jnp

    weights = params[f"{name}.weights"]
    side, groups, size = weights.shape[0], weights.shape[2], weights.shape[3]
    pad = side // 2
    x = jnp.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    high, wide = ((one - side) // stride + 1 for one in x.shape[1:3])
    total: Any = 0.0
    for down in range(side):
        for across in range(side):
            part = x[
                :, down : down + stride * high : stride, across : across + stride * wide : stride
            ]
            part = part.reshape(*part.shape[:3], groups, size)
            total = total + jnp.einsum("bhwgi,gio->bhwgo", part, weights[down, across])
    return total.reshape(*total.shape[:3], -1) + params[f"{name}.bias"]


def _forward(params: Any, x: Any) -> Any:
    """Compute logits."""
    import jax

    x = jax.nn.relu(_convolved(params, "first", x.transpose(0, 2, 3, 1), 2))
    for block, stride in enumerate(_STRIDES):
        x = jax.nn.relu(_convolved(params, f"group{block}", x, stride))
        x = jax.nn.relu(_convolved(params, f"point{block}", x))
    means = x.mean(axis=(1, 2), keepdims=True)
    return _convolved(params, "last", means)[:, 0, 0]


def _model(weights: Weights) -> onnx.ModelProto:
    """Write a network as ONNX."""
    now = "image"
    nodes: list[onnx.NodeProto] = []
    tensors: list[onnx.TensorProto] = []

    def convolution(name: str, stride: int = 1) -> str:
        kernel = weights[f"{name}.weights"]
        side, _, groups, size, made = kernel.shape
        kernel = kernel.transpose(2, 4, 3, 0, 1).reshape(groups * made, size, side, side)
        names = [f"{name}.weights", f"{name}.bias"]
        values = kernel, weights[f"{name}.bias"]
        tensors.extend(numpy_helper.from_array(*one) for one in zip(values, names, strict=True))
        nodes.append(
            helper.make_node(
                "Conv",
                [now, *names],
                [f"{name}.sums"],
                name,
                group=groups,
                strides=[stride] * 2,
                pads=[side // 2] * 4,
            )
        )
        return f"{name}.sums"

    def positive(x: str) -> str:
        nodes.append(helper.make_node("Relu", [x], [f"{x}.relu"], f"{x}.relu"))
        return f"{x}.relu"

    now = positive(convolution("first", 2))
    for block, stride in enumerate(_STRIDES):
        now = positive(convolution(f"group{block}", stride))
        now = positive(convolution(f"point{block}"))
    nodes.append(helper.make_node("GlobalAveragePool", [now], ["means"], "means"))
    now = "means"
    nodes.append(helper.make_node("Flatten", [convolution("last")], ["logits"], "logits"))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["count", *shape])
        for name, shape in (("image", (1, SIDE, SIDE)), ("logits", (CLASSES,)))
    ]
    graph = helper.make_graph(nodes, "grouped", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
