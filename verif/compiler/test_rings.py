"""Starts whose jobs are ready in memory: how they are written, read, moved, run, and counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program import rings
from carrysave.compiler.program.decode import decoded
from carrysave.compiler.program.image import COUNTERS
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.rings import Ring
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.words import APART_WORD, HEAD_WORDS, RING_FIELDS
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import comparable, first_difference
from carrysave.compiler.target.target import Target
from carrysave.driver.descriptor import descriptor
from carrysave.driver.job import Job, Requantisation
from carrysave.driver.ready import job_of, relocate
from carrysave.driver.registers import OPERATIONS
from carrysave.driver.window import Window
from carrysave.system.boards import design_of
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import BOARD, compiled, inputs
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library
from verif.system.networks import SHAPE, convolutions

WINDOW = Window(
    height=9, width=7, across=7, channels=3, pixel=5, kernel=(3, 2), strides=(1, 2),
    dilations=(2, 1), first=(1, 255), fill=200,
)  # fmt: skip
CODES = Requantisation(multiplier=(1 << 31) - 1, shift=63, zero_point=-128, low=-128, high=-1)
JOBS = {
    "sums": Job(a=1 << 40, b=16, c=32, m=3, n=4, k=5, lda=8, ldb=8, ldc=16, accumulate=True),
    "codes": Job(
        a=0, b=1, c=2, m=(1 << 24) - 1, n=4, k=5, lda=(1 << 32) - 1, ldb=8, ldc=16, bias=7,
        requantisation=replace(CODES, relu=True), c_bytes=2, by_columns=True, a_format=15,
        b_format=9, block_m=3, block_n=4, block_k=5,
    ),
    "columns": Job(
        a=0, b=1, c=2, m=1, n=4, k=5, lda=8, ldb=8, ldc=16, records=1 << 33,
        requantisation=Requantisation(multiplier=0, shift=0, low=-(1 << 15), high=(1 << 15) - 1),
    ),
    "windows": Job(
        a=0, b=1, c=2, m=6, n=4, k=18, lda=80, ldb=8, ldc=16, window=WINDOW, requantisation=CODES
    ),
    "depthwise": Job(
        a=0, b=1, c=2, m=6, n=3, k=18, lda=80, ldb=0, ldc=16, window=WINDOW, records=8, bias=4,
        vector="depthwise", requantisation=replace(CODES, multiplier=0, shift=0, zero_point=0),
    ),
    "maps": Job(
        a=0, b=1, c=2, m=6, n=4, k=0, lda=80, ldb=0, ldc=16, vector="map_add",
        zeros=(-128, 127), factors=(-(1 << 23), (1 << 23) - 1), requantisation=CODES,
    ),
    "scales": Job(
        a=0, b=1, c=2, m=6, n=4, k=32, lda=80, ldb=8, ldc=16, a_scales=1 << 35, b_scales=6,
        ldsa=1, ldsb=2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_a_descriptor_is_read_back(name: str) -> None:
    job = JOBS[name]
    assert job_of(descriptor(job)) == job


def test_each_number_of_four_bits_is_an_operation() -> None:
    assert set(OPERATIONS.values()) == set(range(1, 16))


@pytest.mark.parametrize("chip", [1 << 42, 1 << 64])
def test_all_addresses_move_but_those_on_chip(chip: int) -> None:
    jobs = [replace(one, a=one.a % 4096, c=(1 << 42) + 64) for one in JOBS.values()]
    jobs = [replace(one, records=None if one.records is None else 64) for one in jobs]
    images = np.frombuffer(b"".join(map(descriptor, jobs)), np.uint8).copy()
    names, before = ("a", "b", "c", "bias", "records", "a_scales", "b_scales"), images.copy()
    relocate(images, 1 << 36, chip)
    for job, image in zip(jobs, images.reshape(len(jobs), -1), strict=True):
        more: dict[str, Any] = {
            name: None if (at := getattr(job, name)) is None else at + (at < chip) * (1 << 36)
            for name in names[: 5 + 2 * job.ldsa]
        }
        assert job_of(image.tobytes()) == replace(job, **more)
    relocate(images, -(1 << 36), chip)
    np.testing.assert_array_equal(images, before)


WINDOWS = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)", "windows": "true"}))


def chain(between: str = "", target: Target = WINDOWS, side: int = 3) -> Program:
    """Return three convolutions, and an operator between the last two that the processor does."""
    builder, name = Builder(np.random.default_rng(2)), "x"
    for number in range(3):
        if between and number == 2:
            name = builder.node(between, [name], "between", perm=[0, 1, 3, 2])
        kernel = [
            builder.codes((6, 6, side, side), np.int8),
            builder.scale(),
            builder.constant(0, np.int8),
        ]
        out = [builder.scale(), builder.zero(np.uint8)]
        given = [name, builder.scale(), builder.zero(np.uint8), *kernel, *out]
        y = "y" if number == 2 else f"c{number}"
        name = builder.node("QLinearConv", given, y, pads=[side // 2] * 4)
    model = builder.model(SHAPE, np.uint8, np.uint8, list(SHAPE))
    lowered = lower(Graph(model), target, until=PASSES[-1].name)
    return compile_network(lowered, target, inputs(5))


def _ring(program: Program) -> Ring:
    (section,) = program.sections
    return section.rings[0]


def test_starts_that_follow_each_other_are_one_ring() -> None:
    """What is between two of them makes two rings."""
    for between, counts in (("", [3]), ("Transpose", [2, 1])):
        (section,) = chain(between).sections
        assert [len(ring.starts) for ring in section.rings] == counts
        assert [step for step in section.steps if isinstance(step, Start)] == [
            step for step in section.steps if not isinstance(step, Move)
        ]
        assert not section.written


def test_many_jobs_stay_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """And make the same bytes."""
    program = compiled(convolutions(5))
    memory = program.memory.copy()
    made = network.run(program, inputs(5), memory, by_golden(program, memory))
    most = max(len(one.jobs) for one in program.steps if isinstance(one, Start))
    monkeypatch.setattr(rings, "_MOST", most - 1)
    other = compiled(convolutions(5))
    (section,) = other.sections
    assert {len(one.jobs) > most - 1 for one in section.written} == {True}
    assert section.rings
    memory = other.memory.copy()
    np.testing.assert_equal(network.run(other, inputs(5), memory, by_golden(other, memory)), made)


@pytest.mark.parametrize("runner", ["golden", "driver", "c"])
def test_starts_apart_are_counted(runner: str, library: Any) -> None:
    """With the same results; not so, all of a ring are counted together."""
    program = chain()
    (section,) = program.sections
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}.get(runner, runners.on_golden)
    memory, run = on(program)
    golden = program.memory.copy()
    network.run(program, inputs(5), golden, by_golden(program, golden))
    of_starts = [at for ring in section.rings for _, at in ring.starts]
    of_rings = [ring.counters for ring in section.rings]
    assert len(of_starts) > len(of_rings)
    for apart in (0, 1):
        for at in (*of_starts, *of_rings):
            memory[at : at + COUNTERS] = 0
        memory[section.start + 4 * APART_WORD] = apart
        network.run(program, inputs(5), memory, run)
        assert runner == "golden" or first_difference(program, memory, golden) is None
        counted, others = (of_starts, of_rings) if apart else (of_rings, of_starts)
        assert all(memory[at : at + COUNTERS].any() for at in counted)
        assert not any(memory[at : at + COUNTERS].any() for at in others)


def test_the_second_run_moves_nothing(library: Any) -> None:
    """Descriptors are written for where memory is; once."""
    program = compiled(convolutions(5))
    memory, run = runners.on_c(library)(program)
    ring = _ring(program)
    before = ring.base(memory)
    network.run(program, inputs(5), memory, run)
    assert before == 0 < ring.base(memory)
    images = memory[ring.at : ring.at + 128 * ring.count].copy()
    network.run(program, inputs(5), memory, run)
    np.testing.assert_array_equal(memory[ring.at : ring.at + 128 * ring.count], images)
    ring.move(memory, 0, program.target.info.memory_end)
    for one, start in zip(ring.jobs(memory, 1 << 64), program.memory[ring.at :: 128], strict=False):
        assert descriptor(one)[0] == start
    assert np.any(comparable(program, memory))


def test_a_build_without_rings_has_words(library: Any) -> None:
    """And runs them one by one, by the same bytes."""
    target = Target(
        design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)", "ring": "false"})
    )
    program = compiled(convolutions(5), target)
    (section,) = program.sections
    assert not section.rings
    golden = program.memory.copy()
    network.run(program, inputs(5), golden, by_golden(program, golden))
    memory, run = runners.on_c(library)(program)
    network.run(program, inputs(5), memory, run)
    assert first_difference(program, memory, golden) is None


def test_a_device_without_rings_refuses_them(library: Any) -> None:
    program = compiled(convolutions(5))
    target = Target(
        design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)", "ring": "false"})
    )
    memory, run = runners.on_c(library)(replace(program, target=target))
    with pytest.raises(Exception, match="a ring must be one job or more"):
        network.run(program, inputs(5), memory, run)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("at", -128, "memory alone"),
        ("at", 1 << 30, "memory alone"),
        ("base_lo", 64, "from address 0 on, not 0x40"),
        ("counters", -8, "memory alone"),
        ("count", 77, "jobs of its starts, not 77"),
        ("spans", -1, "one start or more"),
        ("starts", 0, "one start or more"),
        ("starts", 1 << 20, "one start or more"),
        ("starts", 7, "a start of a ring must have a job"),
    ],
)
def test_other_words_are_refused(field: str, value: int, says: str) -> None:
    program = compiled(convolutions(5))
    (section,) = program.sections
    ring = section.rings[0]
    memory = program.memory.copy()
    steps = [{"kind": "start", "node": "n", "operator": "o", "cycles": 1, "macs": 1}]
    steps *= len(ring.starts)
    words = memory[section.start : section.start + 4 * HEAD_WORDS].view("<i4")
    words[0] = 1
    head = ring.word - 4 * (1 + RING_FIELDS.index("base_lo"))
    first = section.start + 4 * HEAD_WORDS
    size = 4 * (1 + len(RING_FIELDS) + 2 * len(ring.written) + 2 * len(ring.starts))
    memory[first : first + size] = memory[head : head + size]
    memory[first + size : first + size + 8 * 7] = 0  # no jobs of starts behind it
    chip = program.target.info.memory_end
    assert len(decoded(memory, section.start, steps, (), chip).rings) == 1
    memory[first + 4 :][: 4 * len(RING_FIELDS)].view("<i4")[RING_FIELDS.index(field)] = value
    with pytest.raises(ValueError, match=says):
        decoded(memory, section.start, steps, (), chip)
