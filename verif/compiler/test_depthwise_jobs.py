"""Convolutions of single channels as jobs of the vector unit: the same codes as by products."""

from itertools import cycle
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program import depthwise
from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver.operations import DEPTHWISE
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import WIDE
from verif.compiler.test_windows import jobs_of
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

PARAMETERS = {
    "engine": "systolic_os(m=8,n=8)",
    "data_width": "64",
    "taps": "3",
    "requantisers": "8",
    "windows": "true",
    "vector": "vector_unit(operations=scale,lanes=8,length=512)",
}
TARGET = Target(Design.parse("coprocessor", PARAMETERS))


def separable(
    seed: int, *, scales: bool = True, kernel: tuple[int, ...] = (), space: tuple[int, ...] = ()
) -> tuple[onnx.ModelProto, tuple[int, ...]]:
    """Return a product of pixels and a convolution of single channels, and the shape of x."""
    rng = np.random.default_rng(seed)
    axes, kind = 1 + seed % 2, (np.uint8, np.int8)[seed % 3 % 2]
    channels = int(rng.integers(2, 30))
    shape = (int(rng.integers(1, 3)), 3, *(space or rng.integers(6, 11, axes).tolist()))
    kernel = kernel or tuple(rng.integers(1, 6, axes).tolist())
    low = np.iinfo(kind).min
    builder = Builder(rng, opset=17)
    step, zero = builder.scale(), builder.constant(rng.integers(low, low + 256), kind)
    makes = builder.scale(), builder.constant(rng.integers(low, low + 256), kind)

    def convolution(
        to: str, given: list[str], wide: int, codes: tuple[int, ...], **more: Any
    ) -> None:
        weights = [
            builder.codes((wide, *codes), np.int8),
            builder.scale(*[wide] * scales),
            builder.constant(np.zeros(wide if scales else ()), np.int8),
        ]
        made = [step, zero] if to == "c" else [*makes]
        bias = builder.constant(rng.integers(-500, 500, wide), np.int32)
        builder.node("QLinearConv", [*given, *weights, *made, bias], to, **more)

    first = ["x", builder.scale(), builder.zero(np.uint8)]
    convolution("c", first, channels, (3, *[1] * axes))
    convolution(
        "y", ["c", step, zero], channels, (1, *kernel), group=channels,
        pads=rng.integers(0, 4, 2 * axes).tolist(), strides=rng.integers(1, 3, axes).tolist(),
        dilations=[1] * axes if max(kernel) > 3 else rng.integers(1, 3, axes).tolist(),
    )  # fmt: skip
    return builder.model(shape, np.uint8, kind), shape


def compiled(model: onnx.ModelProto, shape: tuple[int, ...], target: Target = TARGET) -> Program:
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    return compile_network(lowered, target, {"x": np.zeros(shape, np.uint8)})


def run(program: Program, x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    memory = program.memory.copy()
    return network.run(program, x, memory, by_golden(program, memory))


def choose(monkeypatch: pytest.MonkeyPatch, *cycles: int) -> None:
    """Have layers of single channels seem to take so long: by the vector unit, and by products."""
    values = cycle(cycles)
    monkeypatch.setattr(
        depthwise, "_is_shorter", lambda tried, other, image: next(values) < next(values)
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(60))
def test_a_layer_is_one_job_and_its_codes_are_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, 0, 1)
    model, shape = separable(seed, scales=seed % 4 > 0)
    program, plain = compiled(model, shape), compiled(model, shape, WIDE)
    of_rows = [job for job in jobs_of(program) if job.vector == DEPTHWISE]
    assert len(of_rows) == shape[0]
    assert not any(isinstance(step, Move) for step in program.steps)
    rng = np.random.default_rng(seed)
    x = {"x": rng.integers(0, 256, shape).astype(np.uint8)}
    runners.check(program, x)
    np.testing.assert_equal(run(program, x), run(plain, x))
    for job in of_rows:
        took = spent(job, TARGET)
        assert took.macs == job.m * job.k
        assert took.cycles == cycles_of(job, TARGET) > took.macs / 24


@pytest.mark.parametrize("shape", [(2, 9, 4, 3), (1, 5, 7)])
def test_kernels_of_one_weight(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that are the pixels."""
    choose(monkeypatch, 0, 1)
    builder = Builder(np.random.default_rng(3), opset=17)
    ones = (1,) * (len(shape) - 2)
    given, zero = ["x", builder.scale(), builder.zero(np.uint8)], builder.constant(0, np.int8)
    for name, depth, groups in (("c", shape[1], 1), ("y", 1, shape[1])):
        weights = [builder.codes((shape[1], depth, *ones), np.int8), builder.scale(), zero]
        made = [builder.scale(), builder.zero(np.uint8)]
        builder.node("QLinearConv", [*given, *weights, *made], name, group=groups)
        given = [name, *made]
    model = builder.model(shape, np.uint8, np.uint8)
    program, plain = compiled(model, shape), compiled(model, shape, WIDE)
    assert DEPTHWISE in {job.vector for job in jobs_of(program)}
    x = {"x": builder.rng.integers(0, 256, shape).astype(np.uint8)}
    runners.check(program, x)
    np.testing.assert_equal(run(program, x), run(plain, x))


def test_whatever_its_cycles_that_which_moves_less() -> None:
    """A processor takes longer than any job."""
    image, moving = (Image(TARGET) for _ in range(2))
    image.steps += compiled(*separable(5, kernel=(3, 3), space=(9, 9))).image.steps
    moving.move("y", "Conv", np.zeros((4, 1), np.int64), row=4, reason="")
    assert depthwise._is_shorter(image, moving, Image(TARGET))
    assert not depthwise._is_shorter(moving, image, Image(TARGET))


def test_whichever_takes_fewer_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the cost of the whole layer: of some the vector unit, of others products."""
    chosen = set()
    many = {"engine": "systolic_os(m=16,n=16)", "data_width": "128"}
    few = {"vector": "vector_unit(operations=scale,lanes=4,length=512)"}
    array = Target(Design.parse("coprocessor", PARAMETERS | many | few))
    for target, seed, kernel, space in (
        (TARGET, 4, (5,), (40,)),
        (TARGET, 7, (3, 5), (3, 60)),
        (array, 1, (2, 2), (9, 9)),
        (array, 1, (1, 2), (12, 12)),
    ):
        model, shape = separable(seed, kernel=kernel, space=space)
        took = [_cycles(compiled(model, shape, target))]
        for cycles in ((0, 1), (1, 0)):
            with monkeypatch.context() as patch:
                choose(patch, *cycles)
                took.append(_cycles(compiled(model, shape, target)))
        assert took[0] == min(took)
        chosen.add(took.index(took[0], 1))
    assert chosen == {1, 2}


def _cycles(program: Program) -> int:
    return sum(step.cycles for step in program.steps if isinstance(step, Start))


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(1, 61, 2))
def test_rows_that_are_too_long_are_parts(seed: int) -> None:
    """Some windows of a row of them each, or products where parts would take longer."""
    model, shape = separable(seed, kernel=(3, 5), space=(3, 120))
    program, plain = compiled(model, shape), compiled(model, shape, WIDE)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    np.testing.assert_equal(run(program, x), run(plain, x))


def test_parts_of_rows() -> None:
    """All of them are the whole, of the same weights, one behind the other."""
    model, shape = separable(3, kernel=(3, 5), space=(3, 120))
    parts = [job for job in jobs_of(compiled(model, shape)) if job.vector == DEPTHWISE]
    wide = {"vector": "vector_unit(operations=scale,lanes=8,length=4096)"}
    target = Target(Design.parse("coprocessor", PARAMETERS | wide))
    jobs = jobs_of(compiled(model, shape, target))
    (whole,) = (job for job in jobs if job.vector == DEPTHWISE)
    assert len(parts) > 2 * shape[0]
    assert sum(job.m for job in parts) == whole.m
    assert len({(job.b, job.bias, job.records) for job in parts}) == 1
    assert sorted(job.c for job in parts) == [job.c for job in parts]


def test_words_and_text_of_depthwise_jobs(library: Any) -> None:
    """Words are read back, scales of columns but for their values; the C driver runs them."""
    model, shape = separable(11, kernel=(3, 3))
    program = compiled(model, shape)
    groups = [group for step in program.steps if isinstance(step, Start) for group in step.groups]
    (group,) = (group for group in groups if group.job.vector == DEPTHWISE)
    back = group_of(np.array(group_words(group), "<i8").astype("<i4").tolist()).job
    assert (back.window, back.vector, back.bias) == (group.job.window, DEPTHWISE, group.job.bias)
    assert f" = depthwise {shape[2]}x{shape[3]}x" in text(program)
    x = {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}
    results = []
    for make in (runners.on_golden, runners.on_driver, runners.on_c(library)):
        memory, runner = make(program)
        results.append(network.run(program, x, memory, runner))
    np.testing.assert_equal(results[1:], results[:1] * 2)


def test_what_the_unit_cannot_do_stays_windows() -> None:
    """More channels than it has room for; several outputs of a channel."""
    model, shape = separable(11, kernel=(3, 3))
    short = {"vector": "vector_unit(operations=scale,lanes=8,length=8)"}
    small = Target(Design.parse("coprocessor", PARAMETERS | short))
    jobs = jobs_of(compiled(model, shape, small))
    assert all(job.vector is None for job in jobs)
    assert any(job.window for job in jobs)
