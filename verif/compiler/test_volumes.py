"""Convolutions along three axes: jobs of windows, a plane of results each."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.target.target import Target
from verif.compiler import runners
from verif.compiler.programs import design
from verif.compiler.test_windows import jobs_of
from verif.networks.graphs import Builder

MAPS = Target(design("maps"))


def volumes(
    shape: tuple[int, ...], *layers: dict[str, Any], seed: int = 1
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Return a network of convolutions of 6 channels each, one after the other, and an input."""
    b = Builder(np.random.default_rng(seed), opset=17)
    steps, channels = [b.constant(0.02), b.zero(np.uint8)], shape[1]
    name, made = "x", [*steps]
    for number, layer in enumerate(layers):
        kernel = layer["kernel_shape"]
        codes = b.codes((6, channels // layer.get("group", 1), *kernel), np.int8)
        weights = [codes, b.scale(6), b.constant([0] * 6, np.int8)]
        given, made = [name, *made, *weights], [b.constant(0.02 + number), b.zero(np.uint8)]
        name = b.node(
            "QLinearConv",
            [*given, *made, b.constant(b.rng.integers(-99, 99, 6), np.int32)],
            "y" if number == len(layers) - 1 else f"c{number}",
            **layer,
        )
        channels = 6
    model = b.model(shape, np.uint8, np.uint8)
    return model, {"x": b.rng.integers(0, 256, shape).astype(np.uint8)}


def compiled(model: ModelProto, x: dict[str, np.ndarray], target: Target = MAPS) -> Program:
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    return compile_network(lowered, target, x)


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        ((1, 3, 4, 5, 6), [{"kernel_shape": [2, 3, 3]}]),
        ((2, 3, 4, 3, 4), [{"kernel_shape": [3, 2, 1], "pads": [1, 0, 0, 2, 1, 0]}]),
        ((1, 4, 6, 4, 4), [{"kernel_shape": [3, 1, 1], "strides": [2, 1, 1]}]),
        ((1, 2, 5, 5, 5), [{"kernel_shape": [1, 3, 3], "strides": [2, 2, 1]}]),
        ((1, 2, 3, 6, 7), [{"kernel_shape": [2, 2, 2], "dilations": [1, 2, 3]}]),
        ((1, 2, 5, 4, 4), [{"kernel_shape": [2, 3, 3], "auto_pad": "SAME_LOWER"}]),
        (
            (2, 3, 4, 4, 4),
            [{"kernel_shape": [2, 3, 3], "pads": [1] * 6}, {"kernel_shape": [3, 2, 2]}],
        ),
    ],
)
def test_planes_are_jobs(shape: tuple[int, ...], layers: list[dict[str, Any]]) -> None:
    """Nothing is moved, between two of them neither."""
    model, x = volumes(shape, *layers)
    program = compiled(model, x)
    assert not program.host
    assert not any(isinstance(step, Move) for step in program.steps)
    assert all(job.window is not None for job in jobs_of(program))
    runners.check(program, x)


def test_planes_that_are_alike_are_one_group() -> None:
    """Those at the edges have fewer taps."""
    model, x = volumes((1, 3, 9, 4, 4), {"kernel_shape": [3, 3, 3], "pads": [1] * 6})
    program = compiled(model, x)
    taps = [job.window.channels for job in jobs_of(program) if job.window is not None]
    assert taps == [6, *[9] * 7, 6]
    starts = (step for step in program.steps if isinstance(step, Start))
    assert [group.count for start in starts for group in start.groups] == [1, 7, 1]


@pytest.mark.parametrize(
    "layer",
    [
        {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 1]},
        {"kernel_shape": [2, 2, 2], "group": 3},
        {"kernel_shape": [2, 2, 2], "pads": [2, 0, 0, 0, 0, 0]},
    ],
)
def test_others_are_patches(layer: dict[str, Any]) -> None:
    """Planes that are apart, groups, planes of nothing but padding."""
    model, x = volumes((1, 3, 4, 4, 4), layer)
    program = compiled(model, x)
    assert all(job.window is None for job in jobs_of(program))
    runners.check(program, x)
