"""Every runner makes the same bytes of the same programs, step by step: networks, an encoder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.compile import TOKENS, VECTORS, compiled_for
from carrysave.compiler.encoder.compile import compiled as compiled_encoder
from carrysave.compiler.encoder.evaluate import vectors
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.affine import affine
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import first_difference, stepwise
from carrysave.compiler.target.target import Target
from carrysave.driver.system import Parameter, Plan, Tensor
from carrysave.system.boards import design_of, system_board_of
from carrysave.system.generate import System, Written, write
from carrysave.system.simulate import simulate
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_program import TARGET, compiled, inputs, mixed
from verif.networks.encoder.test_simulate import SMALL, small, small_compiled, small_integers
from verif.soc.driver.conftest import library as library
from verif.system.networks import convolutions

WINDOWS = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=4,n=4)", "windows": "true"}))


def windows() -> Program:
    """Return a program whose loader makes windows, of channels side by side, beyond edges."""
    model = convolutions(5, "HardSigmoid")
    lowered = lower(Graph(model), WINDOWS, until=PASSES[-1].name)
    program = compile_network(lowered, WINDOWS, inputs(5))
    jobs = [job for step in program.steps if isinstance(step, Start) for job in step.jobs]
    assert any(job.window for job in jobs)
    return program


Programs = dict[str, Callable[[Path], tuple[Program, dict[str, np.ndarray]]]]
PROGRAMS: Programs = {
    "convolutions": lambda folder: (compiled(convolutions(5)), inputs(5)),
    "mixed": lambda folder: (compiled(mixed(5)), inputs(5)),
    "windows": lambda folder: (windows(), inputs(5)),
    "encoder": lambda folder: (small(folder / "model", 4, sentences=2), {}),
    "encoder on chip": lambda folder: (small(folder / "model", 4, scratch="4096"), {}),
}


@pytest.mark.parametrize("runner", ["driver", "c"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_step_by_step(name: str, runner: str, library: Any, tmp_path: Path) -> None:
    """The first difference is named by step, buffer, row and column."""
    program, given = PROGRAMS[name](tmp_path)
    steps = stepwise(program)
    count = sum(not isinstance(step, HostStep) for step in program.steps)
    assert len(steps.sections) == count > 3
    ours, golden = _zeros(steps)
    theirs, other = (runners.on_driver if runner == "driver" else runners.on_c(library))(steps)
    for memory in (ours, theirs):
        network.run(replace(steps, parts=(), outputs=()), given, memory, golden)
    for number, section in enumerate(steps.sections):
        golden(section)
        other(section)
        assert first_difference(steps, theirs, ours, number) is None


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


@pytest.mark.prove
@pytest.mark.parametrize("name", ["encoder", "encoder on chip", "windows"])
def test_the_block(name: str, tmp_path: Path) -> None:
    """All steps at once; networks of it are in other tests."""
    program, given = PROGRAMS[name](tmp_path)
    memories = []
    for on in (_zeros, runners.on_block(tmp_path / "runs")):
        memory, runner = on(program)
        network.run(program, given, memory, runner)
        memories.append(memory)
    assert first_difference(program, memories[1], memories[0]) is None


@pytest.mark.prove
@pytest.mark.parametrize("name", ["networks", "encoder"])
def test_the_firmware_of_a_system(name: str, tmp_path: Path) -> None:
    """It leaves golden's bytes in every buffer."""
    board, chosen = system_board_of("ulx3s_85f")
    unit = {"vector": SMALL, "code_bytes": "2", "transpose": "true"} if name == "encoder" else {}
    design = design_of(board, {"engine": "systolic_os(m=4,n=4,target=ecp5)", **unit})
    target = Target(design)
    system = System(board=board, chosen=chosen, design=design, clock_hz=60e6, simulated=True)
    written = write(system, tmp_path / "system", lambda text: None)
    if name == "encoder":
        _system(small_compiled(tmp_path / "model", target), {}, written, tmp_path)
        return
    for make in (convolutions, mixed):
        _system(compiled(make(5), target), inputs(5), written, tmp_path)


def _system(program: Program, given: dict[str, np.ndarray], written: Written, folder: Path) -> None:
    memory, runner = _zeros(program)
    network.run(program, given, memory, runner)
    (start,) = (section.start for section in program.sections)
    taken = {name: program.tensors[name] for name in given}
    last = next(one for one in reversed(program.buffers.values()) if not one.on_chip)
    tensor = Tensor(last.address + np.arange(last.stride), np.dtype(np.int8), 0)
    counters = next(step.counters for step in program.steps if isinstance(step, Start))
    plan = Plan({}, start, taken, [(tensor, [counters])])
    found = simulate(written, plan, [given], folder / "runs", memory=program.memory).memory
    assert found is not None
    assert first_difference(program, found, memory) is None


def _zeros(program: Program) -> tuple[np.ndarray, Any]:
    memory = program.memory.copy()
    return memory, by_golden(program, memory)
