"""Programs from their files alone: what they make, and what a reader refuses."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.encoder.compile import VECTORS
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import HostStep
from carrysave.compiler.program.text import text
from carrysave.compiler.program.write import FORMAT, write
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from hw.catalog import Design
from hw.emit.user_files import FileError
from verif.compiler.stepwise import stepwise
from verif.compiler.test_parameters import Cache
from verif.compiler.test_program import WIDE, compiled, inputs, mixed
from verif.networks.encoder.test_simulate import small
from verif.support.networks import MODELS, quantise
from verif.system.networks import convolutions


def stored(program: Program, folder: Path) -> Path:
    write(program, folder, facts(program, "carrysave compile", "model"))
    return folder


def ran(program: Program, given: dict[str, np.ndarray]) -> tuple[np.ndarray, Any]:
    memory = program.memory.copy()
    outputs = network.run(program, given, memory, by_golden(program, memory))
    return memory, outputs


def same(program: Program, given: dict[str, np.ndarray], folder: Path) -> Program:
    """Check that a program does the same when it is read from its files."""
    found = read(stored(program, folder))
    for one, other in zip(ran(found, given), ran(program, given), strict=True):
        np.testing.assert_equal(one, other)
    assert facts(found, "", "") == facts(program, "", "")
    assert text(found) == text(program)
    assert found.buffers == program.buffers
    return found


@pytest.mark.parametrize(
    "make",
    [
        convolutions,
        mixed,
        lambda seed: convolutions(seed, between="Softmax"),
    ],
)
def test_networks(make: Callable[[int], Any], tmp_path: Path) -> None:
    """Codes to codes; with a step of the host in the middle, too."""
    same(compiled(make(3)), inputs(3), tmp_path)


def test_floats_in_and_out(tmp_path: Path) -> None:
    """What quantises at the edges is a model beside the program."""
    task = MODELS["digits"](tmp_path)
    graph = load(quantise(task, tmp_path / "codes" / "digits.onnx"))
    given = {next(iter(graph.inputs)): task.inputs[:1]}
    program = compile_network(tables(lower(graph, WIDE)), WIDE, given)
    found = same(program, given, tmp_path / "program")
    assert (tmp_path / "program" / "host.onnx").exists()
    ((name, (kind, shape)),) = found.takes.items()
    assert (name, kind, shape) == (*given, np.float32, task.inputs[:1].shape)


def test_an_encoder(tmp_path: Path) -> None:
    program = small(tmp_path / "model", 4, sentences=2, scratch="4096")
    found = same(program, {}, tmp_path / "program")
    assert found.outputs == (VECTORS,)


def test_parameters_and_states(tmp_path: Path) -> None:
    """With the words that vary, so that a program that was read can be written, or cut by steps."""
    program = Cache().program
    found = read(stored(program, tmp_path / "one"))
    assert found.parameters == program.parameters
    assert found.states == program.states
    for one, other in zip(found.steps, program.steps, strict=True):
        assert not isinstance(one, HostStep)
        assert not isinstance(other, HostStep)
        assert sorted(map(repr, one.varies)) == sorted(map(repr, other.varies))
    assert any(one.varies for one in program.steps if not isinstance(one, HostStep))
    stored(found, tmp_path / "two")
    for name in ("memory.bin", "program.json", "program.txt", "program.h"):
        files = [(tmp_path / folder / name).read_bytes() for folder in ("one", "two")]
        assert files[0] == files[1], name
    assert stepwise(found).parameters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(compiled(convolutions()), tmp_path / "program")


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "program.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


CHANGES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda found: found.update(format=FORMAT - 1), rf"format must be {FORMAT}, not {FORMAT - 1}"),
    (lambda found: found.pop("format"), f"format must be {FORMAT}, not None"),
    (lambda found: found.update(bytes=7), r"memory\.bin: must be of 7 bytes, not \d+"),
    (lambda found: found.update(digest="0"), r"memory\.bin: must be the memory of program\.json"),
    (lambda found: found["facts"].update(k_max=7), r"the program needs k_max 7, not \d+, as its"),
    (lambda found: found["target"].update(engine="engine"), r"program\.json: target: engine must"),
    (lambda found: found.pop("layers"), r"program\.json: 'layers'"),
    (lambda found: found["tensors"][0].update(address=1 << 30), "'x' must be within the"),
    (lambda found: found["filled"].append([0, 1 << 30]), "filled must be within the"),
    (lambda found: found["parts"][0]["steps"].pop(), r"must have \d+ steps, not \d+"),
    (lambda found: found["parts"][0]["steps"].reverse(), "a step must be a "),
    (lambda found: found["parts"][0].update(section=2), "must begin at a word of memory, not at 2"),
    (lambda found: found["inputs"][0].update(name="z"), "input 'z' must be a tensor or a buffer"),
    (lambda found: found["tensors"][0].update(shape=[1 << 40, 1, 1, 1]), "'x' must have 0.*codes"),
    (lambda found: found["tensors"][0].update(shape=[-1, 1, 1, 1]), r"shape of \[-1, 1, 1, 1\]"),
    (lambda found: found["host"].update(lacking=["Product 'p'"]), "the host has Product 'p'"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_what_is_not_whole_is_refused(
    change: Callable[[dict[str, Any]], Any], says: str, folder: Path
) -> None:
    changed(folder, change)
    with pytest.raises(FileError, match=says):
        read(folder)


def test_files_that_end_too_early_are_refused(folder: Path) -> None:
    for name in ("memory.bin", "program.json"):
        data = (folder / name).read_bytes()
        for size in (0, 1, len(data) // 2, len(data) - 2):
            (folder / name).write_bytes(data[:size])
            with pytest.raises(FileError, match=name):
                read(folder)
        (folder / name).write_bytes(data)
        (folder / name).rename(folder / "elsewhere")
        with pytest.raises(FileNotFoundError, match=name):
            read(folder)
        (folder / "elsewhere").rename(folder / name)
    read(folder)


def test_another_co_processor_is_refused(folder: Path) -> None:
    """Not one that is the same but for what no job depends on."""
    design = read(folder).target.design
    same_ = Target(Design.parse("coprocessor", {**_texts(design), "outstanding": "8"}))
    read(folder, same_)
    other = Target(Design.parse("coprocessor", {**_texts(design), "sums": "512"}))
    with pytest.raises(FileError, match=r"needs sums 1024, not 512, as the co-processor has it"):
        read(folder, other)


def _texts(design: Design) -> dict[str, str]:
    return {name: str(value).lower() for name, value in design.parameters.items()}


def test_operators_that_are_no_onnx_need_the_model(tmp_path: Path) -> None:
    """They are named."""
    program = compiled(convolutions(between="Softmax"))
    (step,) = program.host
    node = step.nodes[0]
    node.domain = "carrysave"
    parts = tuple(
        replace(step, nodes=(node, *step.nodes[1:])) if part is step else part
        for part in program.parts
    )
    with pytest.raises(FileError, match="the host has Softmax 'Softmax_o'"):
        read(stored(replace(program, parts=parts), tmp_path))
