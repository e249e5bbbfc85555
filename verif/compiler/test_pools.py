"""Pools of the greatest: which axis comes first, and samples that are one job's."""

from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program import max_pool
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.windows import Layout
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from verif.compiler import runners
from verif.networks.graphs import Builder

PARAMETERS = {
    "engine": "systolic_os(m=8,n=8)", "vector": "vector_unit(lanes=4,length=256,width=16)",
    "taps": "3", "requantisers": "4",
}  # fmt: skip


def groups_of(kernel: list[int], batch: int, rows: int = 6, **parameters: str) -> list[JobGroup]:
    """Return the jobs of a pool of some rows of a map of 6 x 6; all runners agree on the bytes."""
    builder, shape = Builder(np.random.default_rng(3), opset=17), (batch, 3, 6, 6)
    step, zero, side = builder.constant(0.5), builder.zero(np.uint8), 3 if parameters else 1
    weights = builder.judged_weights((16, 3, side, side))
    given = ["x", builder.constant(0.1), builder.zero(np.uint8), weights, builder.constant(0.02)]
    given += [builder.constant(0, np.int8), step, zero]
    builder.node("QLinearConv", given, "q", pads=[side // 2] * 4)
    builder.node("DequantizeLinear", ["q", step, zero], "d")
    ends = [builder.constant([one], np.int64) for one in (0, rows, 2)]
    builder.node("Slice", ["d", *ends], "s")
    builder.node("MaxPool", ["s"], "p", kernel_shape=kernel, strides=kernel)
    builder.node("QuantizeLinear", ["p", step, zero], "y")
    graph = Graph(builder.model(shape, np.uint8, np.uint8))
    target = Target(Design.parse("coprocessor", PARAMETERS | parameters))
    x = {"x": np.random.default_rng(4).integers(0, 256, shape).astype(np.uint8)}
    program = compile_network(lower(graph, target, until=PASSES[-1].name), target, x)
    runners.check(program, x)
    starts = [step for step in program.steps if isinstance(step, Start)]
    return [one for start in starts for one in start.groups if one.job.vector]


@pytest.mark.parametrize("batch", [1, 3])
def test_samples_are_one_job(batch: int) -> None:
    """Columns first: six pixels of two rows of a map are a row of a job, then two pixels."""
    made = groups_of([2, 2], batch)
    assert [(one.count, one.job.m, one.job.n) for one in made] == [
        (1, 3 * batch, 96),
        (1, 9 * batch, 16),
    ]


def test_samples_that_do_not_go_on_evenly_are_jobs_of_their_own() -> None:
    """Of six rows of a map five are pooled, along each row: the sixth is between two samples."""
    (one,) = groups_of([1, 2], 2, rows=5)
    assert (one.count, one.job.m, one.job.n, one.a) == (2, 15, 16, 6 * 6 * 16)


@pytest.mark.parametrize(
    ("batch", "made"), [(28, [(1, 84), (1, 252)]), (32, [(1, 96), (32 * 3, 3)])]
)
def test_no_job_has_more_rows_than_the_block_counts(
    batch: int, made: list[tuple[int, int]]
) -> None:
    """These are 255 with eight bits; more are a group of jobs."""
    groups = groups_of([2, 2], batch, dimension_width="8", windows="true")
    assert [(one.count, one.job.m) for one in groups] == made


@pytest.mark.parametrize(
    ("channels", "pixel", "kernel", "order"),
    [
        (8, 8, (2, 2), [0, 1]),
        (8, 16, (2, 2), [0, 1]),
        (8, 64, (2, 2), [1, 0]),
        (8, 8, (1, 2), [1]),
        (8, 8, (2, 1), [0]),
    ],
)
def test_the_axis_that_leaves_fewer_cycles_is_first(
    channels: int, pixel: int, kernel: tuple[int, int], order: list[int]
) -> None:
    """Of few channels rows are; of a part of a map whose pixels are long, pixels."""
    windows: Any = Windows(kernel=kernel, strides=kernel, dilations=(1, 1), pads=(0, 0, 0, 0))
    layout = Layout(address=0, sample=64 * pixel, row=8 * pixel, pixel=pixel)
    assert max_pool._order(windows, layout, (1, channels, 8, 8), 8) == order
