"""Programs whose places on chip an integer program chose: the same codes, fewer bytes."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program import schedule as schedules
from carrysave.compiler.program.choices import Choice
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.on_chip_ilp import Problem, Solution, Unit, solve
from carrysave.compiler.program.packing import Block
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.schedule import Schedule
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.traffic import Traffic, traffic_of
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.errors import UsageError
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.programs import DESIGNS
from verif.compiler.replay import CHIP, replay
from verif.compiler.test_on_chip import chain, outputs, target
from verif.compiler.test_windows import convolution

ILP = Schedule(way="ilp")
MAPS = {"engine": "systolic_os(m=4,n=4)", "data_width": "64", **DESIGNS["maps"]}


def compiled(
    model: onnx.ModelProto, shape: tuple[int, ...], on: Target, schedule: Schedule = ILP
) -> Program:
    lowered = lower(Graph(model), on, until=PASSES[-1].name)
    given = {"x": np.zeros(shape, np.uint8)}
    return compile_network(lowered, on, given, schedule=schedule)


def of(program: Program) -> Traffic:
    traffic = traffic_of(program)
    assert traffic is not None
    return traffic


def codes(shape: tuple[int, ...], seed: int = 1) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(30))
def test_the_same_codes(seed: int) -> None:
    model, shape = convolution(seed)
    x = codes(shape, seed)
    program = compiled(model, shape, target(4096))
    runners.check(program, x)
    np.testing.assert_equal(
        outputs(program, x), outputs(compiled(model, shape, target(4096), Schedule()), x)
    )


@pytest.mark.parametrize(("layers", "side"), [(4, 10), (6, 12), (4, 17)])
def test_fewer_bytes_than_greedy_and_no_fewer_than_compulsory(layers: int, side: int) -> None:
    model, shape = chain(layers, side=side)
    ways = (ILP, Schedule())
    solved, greedy = (compiled(model, shape, target(4096), one) for one in ways)
    x = codes(shape)
    np.testing.assert_equal(outputs(solved, x), outputs(greedy, x))
    for program in (solved, greedy):
        assert replay(program, model) > 1000
        assert of(program).excess >= 0
    plain = compiled(model, shape, target(0), Schedule())
    assert of(solved).compulsory == of(greedy).compulsory == of(plain).compulsory
    assert of(solved).bytes <= of(greedy).bytes
    assert solved.solved is not None
    assert greedy.solved is None
    assert solved.solved.greedy == of(greedy).bytes
    assert solved.solved.bound <= of(solved).bytes


def test_a_map_that_is_copied_in_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """The input crosses the bus about once, whatever cycles that takes; codes are the same."""
    monkeypatch.setattr(schedules, "_MORE", 3.0)
    on = Target(Design.parse("coprocessor", MAPS | {"scratch": "4096"}))
    model, shape = chain(2, 8, 40)
    program = compiled(model, shape, on)
    assert replay(program, model) > 1000
    copies = [job for job in _jobs(program) if job.vector == "map_add"]
    assert len(copies) > 1
    assert of(program).bytes < 0.6 * of(compiled(model, shape, on, Schedule())).bytes
    runners.check(program, codes(shape))


@pytest.mark.prove
def test_the_block_leaves_the_same_bytes(tmp_path: Path) -> None:
    """Of three convolutions with maps on chip, simulated."""
    model, shape = chain(3)
    program = compiled(model, shape, target(4096))
    assert program.solved is not None
    assert program.solved.taken
    block = runners.memory_of(program, runners.on_block(tmp_path), codes(shape))
    np.testing.assert_array_equal(block, runners.memory_of(program, runners.on_zeros, codes(shape)))


def _jobs(program: Program) -> list[Job]:
    return [job for step in program.steps if isinstance(step, Start) for job in step.jobs]


@pytest.mark.parametrize("change", ["overlap", "beyond", "not written"])
def test_the_replay_refuses(change: str) -> None:
    """A map over another one, one beyond what is on chip, and one that nobody wrote."""
    model, shape = chain(4)
    program = compiled(model, shape, target(4096))
    steps = list(program.sections[0].steps)
    at, job = next(
        (at, step.jobs[0])
        for at, step in enumerate(steps)
        if isinstance(step, Start) and step.jobs[0].a >= CHIP and step.jobs[0].c >= CHIP
    )
    moved: dict[str, Any] = {
        "overlap": {"c": job.a + 16},
        "beyond": {"c": CHIP + 4096 - 16},
        "not written": {"a": job.a + 64 if job.a + 1664 <= CHIP + 4096 else job.a - 64},
    }[change]
    step: Any = steps[at]
    steps[at] = replace(step, groups=(JobGroup(job=replace(job, **moved)),))
    wrong = replace(program, parts=(Section(tuple(steps), 0),))
    with pytest.raises(AssertionError, match=r"overlaps|beyond|is of"):
        replay(wrong, model)


def _problem(sizes: list[int], size: int, seed: int) -> Problem:
    """Return rooms that are each written by a unit and read by another, some of which meet."""
    rng = np.random.default_rng(seed)
    job = Job(a=0, b=0, c=0, m=1, n=1, k=1, lda=1, ldb=1, ldc=1)
    rooms, units = {}, []
    for number, one in enumerate(sizes):
        first = int(rng.integers(0, 6))
        rooms[number] = Block(first, first + int(rng.integers(1, 5)), one)
        cost = int(rng.integers(1, 100))
        choices = [
            Choice(near=frozenset(near), group=JobGroup(job=job), bytes=bytes_, cycles=1)
            for near, bytes_ in (((), cost), ((number,), 0))
        ]
        units.append(Unit(step=first, rooms=frozenset({number}), choices=choices))
    return Problem(size=size, rooms=rooms, units=units, most_cycles=1000)


def _fits(problem: Problem, near: list[int]) -> bool:
    """Return whether rooms have places, by trying all of 16 bytes."""

    def placed(left: list[int], at: dict[int, int]) -> bool:
        if not left:
            return True
        block = problem.rooms[left[0]]
        for place in range(0, problem.size - block.size + 1, 16):
            if all(
                not block.meets(problem.rooms[one])
                or place + block.size <= where
                or where + problem.rooms[one].size <= place
                for one, where in at.items()
            ) and placed(left[1:], {**at, left[0]: place}):
                return True
        return False

    return placed(near, {})


@pytest.mark.parametrize(("rooms", "seed"), [*((6, seed) for seed in range(8)), (8, 43)])
def test_as_good_as_all_subsets(rooms: int, seed: int) -> None:
    """Rooms in eight places of 16 bytes: nothing has fewer bytes, by trying all.

    Of the last one those that are best fit at each step, but have no places.
    """
    rng = np.random.default_rng(seed)
    sizes = [16 * int(one) for one in rng.integers(1, 6, rooms)]
    problem = _problem(sizes, 128, seed)
    solution = solve(problem, 10)
    costs = [unit.choices[0].bytes for unit in problem.units]
    best = sum(costs)
    for bits in range(1 << len(sizes)):
        near = [one for one in range(len(sizes)) if bits >> one & 1]
        left = sum(cost for one, cost in enumerate(costs) if one not in near)
        if left < best and _fits(problem, near):
            best = left
    assert solution.bytes == best
    spans = {one: range(at, at + sizes[one]) for one, at in solution.places.items()}
    assert all(span.stop <= 128 for span in spans.values())
    for one, other in combinations(spans, 2):
        if problem.rooms[one].meets(problem.rooms[other]):
            assert not set(spans[one]) & set(spans[other])


def test_the_greedy_one_is_taken_where_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "solve", lambda problem, seconds: Solution())
    model, shape = chain(4)
    program = compiled(model, shape, target(4096))
    assert program.solved is not None
    assert not program.solved.taken
    assert of(program) == of(compiled(model, shape, target(4096), Schedule()))


@pytest.mark.parametrize(
    ("schedule", "scratch", "text"),
    [
        (Schedule(way="best"), 4096, "schedule must be one of greedy, ilp, not 'best'"),
        (Schedule(way="ilp", seconds=0), 4096, "schedule_seconds must be above 0"),
        (ILP, 0, "schedule must be greedy where nothing is on chip"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(schedule: Schedule, scratch: int, text: str) -> None:
    model, shape = chain(2)
    with pytest.raises(UsageError, match=text):
        compiled(model, shape, target(scratch), schedule)
