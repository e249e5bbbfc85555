"""Parameters and states: what changes from run to run, on every runner that reads words."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.assemble import assemble, assembled
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start, State, Varies
from carrysave.compiler.run import network
from carrysave.compiler.run.network import Runner
from carrysave.compiler.run.stepwise import comparable
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job, Requantisation
from carrysave.driver.system import Parameter, Tensor, parameter_words
from carrysave.system.boards import design_of, system_board_of
from verif.compiler import runners
from verif.soc.driver.conftest import library as library

BOARD, _ = system_board_of("ulx3s_85f")
TARGET = Target(design_of(BOARD, {"engine": "systolic_os(m=4,n=4,target=ecp5)"}))
"""Of which other tests have a simulation already."""
WIDTH, ROWS = 16, 6
POSITION = Parameter(name="position", low=0, high=ROWS - 1)
STEPS = (0, 1, 3, 1)
"""Positions of runs, one after the other: forwards, over one, and back."""


class Cache:
    """A step of a decoder in small: a row goes into a cache, and is multiplied by its rows.

    Its state is added to the row of the next step, by a product with ones on its diagonals.
    """

    def __init__(self, parameters: tuple[Parameter, ...] = (POSITION,)) -> None:
        rng = np.random.default_rng(1)
        image = Image(TARGET)
        self.x, self.state = image.room(WIDTH), image.put(bytes(WIDTH))
        self.cache = image.put(bytes(WIDTH * ROWS))
        self.weights = rng.integers(-128, 128, (WIDTH, WIDTH))
        b = image.aligned("weights", self.weights, 8)
        self.y, self.z = image.room(WIDTH), image.room(WIDTH)
        how = Requantisation(multiplier=1, shift=9, low=-128, high=127)
        more = image.put(np.array([WIDTH, self.x], "<i4").tobytes())
        adding = image.put(np.array([WIDTH, self.y, self.state], "<i4").tobytes())
        table = (np.arange(256)[:, None] + np.arange(256)).astype(np.uint8).tobytes()
        move = Move(
            node="row",
            operator="Cache",
            to=self.cache,
            bytes=WIDTH,
            taps=1,
            words=2,
            at=more,
            table=0,
            varies=(Varies(parameter="position", field="to", factor=WIDTH),),
        )
        # Of the last row of the cache, and of the first one: of those that are in use.
        product = Job(
            a=self.cache,
            b=b.address,
            c=self.y,
            m=1,
            n=WIDTH,
            k=WIDTH,
            lda=WIDTH,
            ldb=b.stride,
            ldc=WIDTH,
            requantisation=how,
        )
        other = Job(
            a=self.x,
            b=self.cache,
            c=self.z,
            m=1,
            n=WIDTH,
            k=1,
            lda=WIDTH,
            ldb=WIDTH,
            ldc=WIDTH,
            requantisation=Requantisation(multiplier=1, shift=4, low=-128, high=127),
        )
        start = Start(
            node="product",
            operator="Product",
            groups=(JobGroup(job=product), JobGroup(job=other)),
            cycles=0,
            macs=0,
            counters=image.room(COUNTERS),
            varies=(
                Varies(parameter="position", field="a", factor=WIDTH),
                Varies(parameter="position", field="k", factor=1, job=1),
            ),
        )
        added = Move(
            node="sum",
            operator="Add",
            to=self.y,
            bytes=WIDTH,
            taps=2,
            words=3,
            at=adding,
            table=image.put(table),
        )
        x = Tensor(self.x + np.arange(WIDTH).reshape(1, -1), np.dtype(np.int8), 0)
        self.program = assembled(
            image,
            [(move, start, added)],
            scores=(self.z, WIDTH),
            parameters=parameters,
            states=(State(name="h", output=self.y, input=self.state, bytes=WIDTH),),
            tensors={"x": x},
            inputs=("x",),
        )

    def expected(self, runs: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Compute y and z of the last run, by numpy."""
        cache, state = np.zeros((ROWS, WIDTH), np.int64), np.zeros(WIDTH, np.int64)
        z = state
        for position, x in runs:
            cache[position] = x
            y = np.clip(cache[position] @ self.weights + 256 >> 9, -128, 127)
            used = cache[: position + 1]
            z = np.clip((x[: position + 1] @ used + 8) >> 4, -128, 127)
            state = (y + state).astype(np.int8).astype(np.int64)
        return state, z


def _run(
    cache: Cache, memory: np.ndarray, runner: Runner, steps: Sequence[int] = STEPS
) -> list[np.ndarray]:
    """Run positions; return memory after each."""
    found = []
    for number, position in enumerate(steps):
        x = np.random.default_rng(number).integers(-128, 128, WIDTH)
        memory[cache.x : cache.x + WIDTH] = x.astype(np.int8).view(np.uint8)
        for address, data in parameter_words(
            cache.program.parameters, {"position": position}
        ).items():
            memory[address : address + 4] = np.frombuffer(data, np.uint8)
        runner(cache.program.sections[0])
        found.append(comparable(cache.program, memory))
    return found


def _golden(cache: Cache, steps: Sequence[int] = STEPS) -> list[np.ndarray]:
    memory = cache.program.memory.copy()
    return _run(cache, memory, network.by_golden(cache.program, memory), steps)


def test_golden_makes_what_numpy_makes() -> None:
    cache = Cache()
    runs = []
    for number, (position, memory) in enumerate(zip(STEPS, _golden(cache), strict=True)):
        runs.append((position, np.random.default_rng(number).integers(-128, 128, WIDTH)))
        y, z = cache.expected(runs)
        for at, values in ((cache.y, y), (cache.state, y), (cache.z, z)):
            np.testing.assert_array_equal(memory.view(np.int8)[at : at + WIDTH], values)


@pytest.mark.parametrize(
    ("runner", "steps"),
    [
        ("driver", STEPS),
        ("c", STEPS),
        ("block", STEPS[2:]),
        pytest.param("block", STEPS, marks=pytest.mark.prove),
    ],
)
def test_runners_leave_the_same_bytes(
    runner: str, steps: Sequence[int], library: Any, tmp_path: Path
) -> None:
    """After each of several runs, in all of memory."""
    cache = Cache()
    on = {
        "driver": runners.on_driver,
        "c": runners.on_c(library),
        "block": runners.on_block(tmp_path),
    }[runner]
    memory, own = on(cache.program)
    made = _run(cache, memory, own, steps)
    for found, expected in zip(made, _golden(cache, steps), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_parameter_out_of_range_is_refused(library: Any) -> None:
    """By name before a run; by the runners where somebody else has written it."""
    cache = Cache()
    with pytest.raises(ValueError, match=r"^parameter 'position' must be 0\.\.5, not 6$"):
        parameter_words(cache.program.parameters, {"position": 6})
    with pytest.raises(ValueError, match=r"parameters are 'position', not 'place'$"):
        parameter_words(cache.program.parameters, {"place": 1})
    (parameter,) = cache.program.parameters
    for on, says in (
        (_on_golden, "must be 0..5, not 6"),
        (runners.on_driver, "must be 0..5, not 6"),
        (runners.on_c(library), "a parameter of the program is out of its range"),
    ):
        memory, runner = on(cache.program)
        memory[parameter.address : parameter.address + 4].view("<i4")[0] = 6
        with pytest.raises((ValueError, RuntimeError), match=says):
            runner(cache.program.sections[0])


def _on_golden(program: Program) -> tuple[np.ndarray, Runner]:
    memory = program.memory.copy()
    return memory, network.by_golden(program, memory)


@pytest.mark.parametrize(("make", "says"), [
    (lambda: Cache(()), "a step varies by 'position', which is no parameter"),
    (lambda: Cache((POSITION, Parameter(name="seed", low=0, high=1))), "parameter 'seed' must be"),
    (lambda: Cache((Parameter(name="position", low=5, high=1),)), "must have a range of 32 bits"),
    (lambda: assembled(Image(TARGET), [()], states=[
        State(name="s", output=0, input=4, bytes=5)]), "state 's'"),
])  # fmt: skip
def test_what_is_not_whole_is_refused(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_only_words_of_a_step_vary() -> None:
    image = Image(TARGET)
    move = Move(
        node="n",
        operator="o",
        to=0,
        bytes=1,
        taps=1,
        words=1,
        at=0,
        table=0,
        varies=(Varies(parameter="position", field="k", factor=1),),
    )
    with pytest.raises(ValueError, match=r"^n: what varies must be one of to, at, .* not k of job"):
        assemble(image, [[move]], (0, 0, 0), [POSITION])
