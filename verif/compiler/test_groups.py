"""Groups of a product are one job with a count: what they make, how they are written, counted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import JOB_WORDS, group_of, group_words
from carrysave.compiler.program.write import write
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import WIDE
from verif.networks.graphs import Builder

EXACT = 0.5, 100, 100
"""Scale of x, its zero point, and that of y."""


def programs_of(builder: Builder, shape: tuple[int, ...]) -> tuple[onnx.ModelProto, Program]:
    """Return a network and its program."""
    model = builder.model(shape, np.uint8, np.uint8)
    lowered = lower(Graph(model), WIDE, until=PASSES[-1].name)
    return model, compile_network(lowered, WIDE, {"x": np.zeros(shape, np.uint8)})


def groups_of(program: Program) -> list[tuple[int, int, int, int]]:
    """Return counts and sizes of the groups of jobs."""
    return [
        (one.count, one.job.m, one.job.k, one.job.n)
        for step in program.steps
        if isinstance(step, Start)
        for one in step.groups
    ]


def convolution(groups: int, channels: int, seed: int = 3) -> tuple[onnx.ModelProto, Program]:
    """Return a convolution with groups, with a scale and a bias for each channel."""
    builder = Builder(np.random.default_rng(seed))
    kernel = (channels, channels // groups, 3, 3)
    builder.node(
        "QLinearConv",
        [
            "x", builder.scale(), builder.zero(np.uint8), builder.judged_weights(kernel),
            builder.scale(channels), builder.constant(np.zeros(channels), np.int8),
            builder.constant(0.1), builder.zero(np.uint8),
            builder.constant(builder.rng.integers(-5000, 5000, channels), np.int32),
        ],
        "y", group=groups, pads=[1, 1, 1, 1],
    )  # fmt: skip
    return programs_of(builder, (1, channels, 6, 5))


def heads(count: int, seed: int = 4) -> tuple[onnx.ModelProto, Program]:
    """Return products of queries and keys of heads, which are columns of one matrix."""
    builder = Builder(np.random.default_rng(seed))
    rows, each = 9, 16
    step, zero, _ = EXACT
    one = [builder.constant(step), builder.constant(zero, np.uint8)]
    weights = [builder.constant(np.eye(count * each), np.int8), builder.constant(1.0)]
    same = ["x", *one, *weights, builder.constant(0, np.int8), *one]
    builder.node("QLinearMatMul", same, "h")
    size = builder.constant([rows, count, each], np.int64)
    builder.node("Reshape", ["h", size], "r")
    builder.node("Transpose", ["r"], "q", perm=[1, 0, 2])
    builder.node("Transpose", ["r"], "k", perm=[1, 2, 0])
    builder.node("DequantizeLinear", ["q", *one], "qf")
    builder.node("DequantizeLinear", ["k", *one], "kf")
    builder.node("MatMul", ["qf", "kf"], "s")
    builder.node("QuantizeLinear", ["s", builder.constant(16.0), one[1]], "y")
    return programs_of(builder, (rows, count * each))


def made(program: Program, x: np.ndarray) -> np.ndarray:
    """Return what golden makes of a program."""
    memory = program.memory.copy()
    return network.run(program, {"x": x}, memory, by_golden(program, memory))["y"]


def by_onnxruntime(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (y,) = session.run(None, {"x": x})
    return np.asarray(y)


def codes(shape: Any, seed: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


@pytest.mark.parametrize(("groups", "channels"), [(4, 32), (2, 48), (12, 12), (11, 22)])
def test_a_convolution_is_one_job(groups: int, channels: int) -> None:
    """Or two, where channels do not fill the last tile; results lie as those of one."""
    model, program = convolution(groups, channels)
    found = groups_of(program)
    assert len(found) <= 2
    assert sum(count for count, *_ in found) > 1
    x = codes((1, channels, 6, 5))
    runners.check(program, {"x": x})
    apart = np.abs(made(program, x).astype(int) - by_onnxruntime(model, x))
    assert apart.max() <= 1
    assert apart.mean() < 0.01


@pytest.mark.parametrize("count", [2, 5, 12])
def test_heads_are_one_job(count: int) -> None:
    """One move for all."""
    model, program = heads(count)
    assert groups_of(program)[1:] == [(count, 9, 3 * 16, 9)]
    x = codes((9, count * 16))
    runners.check(program, {"x": x})
    y = made(program, x)
    codes_of = x.astype(np.int64).reshape(9, count, 16) - EXACT[1]
    sums = np.einsum("ihd,jhd->hij", codes_of, codes_of)
    exact = np.clip(np.rint(sums / 64) + EXACT[2], 0, 255)
    np.testing.assert_array_equal(y, exact)
    np.testing.assert_array_equal(y, by_onnxruntime(model, x))


def _zeros(program: Program) -> Any:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)


def test_is_written_and_read(tmp_path: Path) -> None:
    """A line of text, and as many words as one job."""
    _, program = convolution(4, 32)
    (step,) = (one for one in program.steps if isinstance(one, Start))
    (group,) = step.groups
    assert f"4 groups, a+80, b+{72 * group.job.ldb}, c+8, bias+32, records+64" in text(program)
    assert group_of(group_words(group)).count == 4
    assert len(group_words(group)) == JOB_WORDS
    write(program, tmp_path, facts(program, "carrysave compile", "model"))
    found = read(tmp_path)
    assert text(found) == text(program)
    x = codes((1, 32, 6, 5))
    np.testing.assert_array_equal(made(found, x), made(program, x))
    words = group_words(group)
    words[23] = 0
    with pytest.raises(ValueError, match="a group must have a job or more, not 0"):
        group_of(words)


JOB = Job(a=0, b=100, c=1000, m=4, n=8, k=8, lda=8, ldb=8, ldc=8)
HOW = Requantisation(multiplier=np.array([1, 2]), shift=np.array([3, 4]), low=0, high=9)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ([{"a": 8}, {"a": 16}], [3]),
        ([{"a": 8}, {"a": 17}], [2, 1]),
        ([{"a": 8}, {"a": 16, "lda": 9}], [2, 1]),
        ([{"b": 90, "c": 1008}, {"b": 80, "c": 1016}], [3]),
        ([{"bias": 8}, {"bias": 16}], [1, 2]),
        ([{"requantisation": HOW}], [1, 1]),
    ],
)
def test_jobs_go_on_with_groups(changes: list[dict[str, Any]], counts: list[int]) -> None:
    """If addresses go on by as much, and nothing else changes."""
    groups: tuple[JobGroup, ...] = (JobGroup(job=JOB),)
    jobs = [JOB, *(replace(JOB, **change) for change in changes)]
    for job in jobs[1:]:
        groups = appended(groups, JobGroup(job=job))
    assert [one.count for one in groups] == counts
    assert [job for one in groups for job in one.jobs] == jobs


@pytest.mark.parametrize(("count", "outstanding"), [(2, 16), (4, 16), (8, 16), (16, 64)])
def test_a_group_takes_its_share_of_a_dense_product(count: int, outstanding: int) -> None:
    """By the cost model, which `scripts/figures/bench_groups.py` measures: 1 / g, and a tenth.

    Rows of A of one beat need as many bursts under way as hide the latency.
    """
    wide = Target(Design("coprocessor", {**WIDE.design.parameters, "outstanding": outstanding}))
    dense = cycles_of(JobGroup(job=_sized(256, 256, 256)), wide)
    job = _sized(256, 256 // count, 256 // count)
    steps = {"a": job.m * job.k, "b": job.k * job.n, "c": job.m * job.n}
    took = cycles_of(JobGroup(job=job, count=count, **steps), wide)
    assert dense / count < took <= 1.1 * dense / count


def _sized(m: int, k: int, n: int) -> Job:
    how = Requantisation(multiplier=1, shift=9, low=-128, high=127)
    sizes: Any = {"m": m, "n": n, "k": k, "lda": k, "ldb": n, "ldc": n}
    return Job(a=0, b=1 << 20, c=1 << 21, requantisation=how, **sizes)
