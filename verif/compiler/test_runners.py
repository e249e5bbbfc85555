"""Every runner makes the same bytes of one list of programs, step by step."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.compile import TOKENS, VECTORS, compiled_for
from carrysave.compiler.encoder.compile import compiled as compiled_encoder
from carrysave.compiler.encoder.evaluate import vectors
from carrysave.compiler.program.affine import affine
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.run import network
from carrysave.compiler.run.network import Runner, by_golden
from carrysave.compiler.run.stepwise import first_difference
from carrysave.driver.system import Parameter
from carrysave.system.boards import system_board_of
from carrysave.system.generate import System, Written, write
from verif.compiler import runners
from verif.compiler.memory import check_memory
from verif.compiler.programs import PROGRAMS, design
from verif.compiler.stepwise import stepwise
from verif.compiler.test_program import TARGET, compiled, inputs, mixed
from verif.networks.encoder.test_simulate import small, small_integers
from verif.soc.driver.conftest import library as library
from verif.system.networks import convolutions

_BOTH = ("driver", "c")
_SIMULATED = ("block", "system")
_LONG = ("digits_conv", "digits_conv in windows and maps", "digits_conv on chip")


def _cases() -> Iterator[Any]:
    """Give names of programs and runners: what is simulated is long, but for one on the block."""
    for name, case in PROGRAMS.items():
        for runner in (*_BOTH, *_SIMULATED):
            if runner == "system" and case.design is None:
                continue
            quick = name not in _LONG and (runner in _BOTH or (name, runner) == ("mixed", "block"))
            yield pytest.param(name, runner, marks=() if quick else pytest.mark.prove)


@pytest.fixture(scope="session")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Written]:
    """Return what makes a system for simulation, by the name of its co-processor."""

    @cache
    def make(name: str) -> Written:
        board, chosen = system_board_of("ulx3s_85f")
        system = System(
            board=board,
            chosen=chosen,
            design=design(name),
            clock_hz=60e6,
            floats=True,
            simulated=True,
        )
        return write(system, tmp_path_factory.mktemp("system"), lambda text: None)

    return make


@pytest.mark.parametrize(("name", "runner"), [*_cases()])
def test_step_by_step(
    name: str, runner: str, library: Any, systems: Callable[[str], Written], tmp_path: Path
) -> None:
    """After each step of each run, all of memory is golden's; outputs are, too."""
    case = PROGRAMS[name]
    program, runs = case.make(tmp_path)
    assert not program.host
    check_memory(program)
    steps = stepwise(program)
    count = sum(not isinstance(step, HostStep) for step in program.steps)
    assert len(steps.sections) == count > 1
    on: runners.On
    if runner == "system":
        assert case.design is not None
        on = runners.on_system(systems(case.design), tmp_path / "runs")
    else:
        on = {
            "driver": runners.on_driver,
            "c": runners.on_c(library),
            "block": runners.on_block(tmp_path / "runs"),
        }[runner]
    ours, golden = _zeros(steps)
    theirs, other = on(steps)
    for given in runs:
        made, expected = _run(steps, ours, golden, *given)
        found, after = _run(steps, theirs, other, *given)
        for number, pair in enumerate(zip(after, expected, strict=True)):
            assert first_difference(steps, *pair, number) is None
        np.testing.assert_equal(found, made)


def _run(
    program: Program, memory: np.ndarray, runner: Runner, *given: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return outputs for inputs and parameters, and memory after each section."""
    after: list[np.ndarray] = []

    def watched(section: Section) -> None:
        runner(section)
        after.append(memory.copy())

    inputs_of_run, parameters = given
    return network.run(program, inputs_of_run, memory, watched, parameters), after


@pytest.mark.parametrize("runner", ["driver", "c"])
def test_a_sentence_of_any_length(runner: str, library: Any, tmp_path: Path) -> None:
    """Tokens are a parameter: programs of one length make nearly the same vectors."""
    target = small(tmp_path / "model", 4).target
    encoder, sentences = small_integers(tmp_path / "model", target)
    program = compiled_for(encoder, 20, target)
    memories = []
    for on in (_zeros, runners.on_driver if runner == "driver" else runners.on_c(library)):
        memory, own = on(program)
        for tokens in (sentences[0], sentences[1][:1], sentences[1], sentences[2][:2]):
            rows = np.zeros((20, 1), np.int64)
            rows[: len(tokens), 0] = tokens
            made = network.run(program, {"words.rows": rows}, memory, own, {TOKENS: len(tokens)})[
                VECTORS
            ][0]
            alone = vectors(compiled_encoder(encoder, [tokens], target))[0]
            assert made @ alone > 0.9995 * np.linalg.norm(made) * np.linalg.norm(alone)
        memories.append(memory)
    assert first_difference(program, memories[1], memories[0]) is None


def test_what_does_not_grow_evenly_is_refused() -> None:
    image = Image(TARGET)

    def add(value: int) -> None:
        a = image.buffers.get("a") or image.reserve("a", 99, 4, 8)
        b = image.buffers.get("b") or image.reserve("b", 4, 4, 8)
        c = image.buffers.get("c") or image.reserve("c", 99, 4, 32)
        rows = (0, value * value)
        job = product(TARGET, a.part(rows), b, c.part(rows))
        image.start("n", "product", job)

    with pytest.raises(ValueError, match="n: m must grow by as much with each 'p'"):
        affine(image, Parameter(name="p", low=1, high=5), add)


def test_steps_make_what_the_whole_makes() -> None:
    program = compiled(mixed(7))
    memory, runner = _zeros(program)
    outputs = network.run(program, inputs(7), memory, runner)
    steps = stepwise(program)
    own, runner = _zeros(steps)
    np.testing.assert_equal(network.run(steps, inputs(7), own, runner), outputs)
    for name, buffer in program.buffers.items():
        np.testing.assert_array_equal(buffer.read(own), buffer.read(memory), name)


def test_a_difference_is_named() -> None:
    program = stepwise(compiled(convolutions(5)))
    memory, _ = _zeros(program)
    assert first_difference(program, memory, memory) is None
    number, step = next(
        (number, section.steps[0])
        for number, section in enumerate(program.sections)
        if isinstance(section.steps[0], Start)
    )
    assert isinstance(step, Start)
    job, other = step.jobs[0], memory.copy()
    other[job.c + job.ldc + 1] = 5
    says = f"after step {number}, QLinearConv 'QLinearConv_c': 'QLinearConv_c', row 1, column 1"
    assert first_difference(program, other, memory, number) == f"{says} is 5, not 0"
    other = memory.copy()
    other[step.counters] = other[program.ring] = 7
    assert first_difference(program, other, memory) is None


def _zeros(program: Program) -> tuple[np.ndarray, Any]:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)
