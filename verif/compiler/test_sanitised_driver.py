"""The C driver with its undefined behaviour told of: random steps on floats, and whole programs."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.program.floats import OPERANDS, Format, Operand, Operation
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from hw.catalog import Design
from verif.compiler import programs, test_floats
from verif.compiler.line import Port, by_c
from verif.compiler.programs import DESIGNS, PROGRAMS
from verif.compiler.test_floats import by_both, drawn, numbers, one
from verif.soc.driver.c_link import SANITISED, compile_link
from verif.support.fuzz import SHORT, minutes

WORD = "runtime error"
"""Of what the sanitiser says to stderr, once for each place in the driver."""
QUICK = ("mixed", "states")
SPECIAL = (np.inf, -np.inf, np.nan, 3e38, -3e38, 65520.0, 1e-40, 2.0**31, 2.0**63, -0.0)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compile_link(tmp_path_factory.mktemp("link"), SANITISED)


def test_the_sanitiser_tells(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Else nothing below could fail."""
    file, made = tmp_path / "a.c", tmp_path / "a"
    file.write_text("int main(int n, char **v) { (void)v; return (-n << 3) != -8; }\n")
    subprocess.run(["cc", *SANITISED, "-o", made, file], check=True)
    subprocess.run([made], check=True)
    assert "left shift of negative value" in capfd.readouterr().err


def board_design(name: str) -> Design:
    """Return a co-processor behind a line, where programs are of those of systems."""
    parameters = {"engine": "systolic_os(m=4,n=4,target=ecp5)", **DESIGNS[name]}
    return design_of(BOARDS["ulx3s_85f"], parameters)


def special(rng: np.random.Generator, format_: Format, count: int) -> np.ndarray:
    """Draw numbers, of which some are far from others, or none."""
    values = numbers(rng, format_, count).copy()
    some = rng.random(count) < 0.2
    if format_ in (Format.POWER, Format.FRACTION):
        return values
    if format_ <= Format.I32:
        ends = np.iinfo(format_.type)
        values[some] = rng.choice([ends.min, ends.max, -1, 0], some.sum())
        return values
    with np.errstate(over="ignore"):
        values[some] = rng.choice(SPECIAL, some.sum()).astype(format_.type)
    return values


@minutes
@pytest.mark.parametrize("draw", [numbers, special])
def test_random_steps_on_floats(
    library: Any,
    draw: Any,
    seconds: float,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of all operations; numbers that are none, too, for which no result is promised."""
    monkeypatch.setattr(test_floats, "numbers", draw)
    library.carrysave_floats.restype = ctypes.c_void_p
    for operation in Operation:
        rng = np.random.default_rng(int(operation) + 100)
        for _ in range(10 if seconds == SHORT else 20 * int(seconds)):
            step, memory = drawn(rng, operation)
            words = np.array(step.words, np.int64).astype(np.uint32)
            assert library.carrysave_floats(
                memory.ctypes.data_as(ctypes.c_void_p),
                words.ctypes.data_as(ctypes.c_void_p),
            )
        assert WORD not in (said := capfd.readouterr().err), said


def test_what_is_no_number_is_none_in_16_bits(library: Any) -> None:
    """As numpy has it."""
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 65519.9, 65520, 1.0])
    memory = np.zeros(128, np.uint8)
    memory[64 : 64 + values.nbytes] = values.view(np.uint8)
    operands = {
        "out": Operand(address=0, format=Format.F16, column=2),
        "a": Operand(address=64, format=Format.F64, column=8),
    }
    assert set(operands) == set(OPERANDS[Operation.COPY])
    with np.errstate(over="ignore"):
        step = one(Operation.COPY, rows=1, columns=len(values), operands=operands)
        made = by_both(library, step, memory)[: 2 * len(values)].view(np.float16)
        np.testing.assert_array_equal(made, values.astype(np.float16))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.prove)
        for name, case in PROGRAMS.items()
        if case.design not in (None, "on chip")  # boards of these have no memory on chip
    ],
)
def test_programs(
    name: str,
    library: Any,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Golden's bytes, on a board behind a line, and nothing undefined on the way."""
    monkeypatch.setattr(programs, "design", board_design)
    program, runs = PROGRAMS[name].make(tmp_path)
    port, golden = Port(program), program.memory.copy()
    memory, runner = by_c(library)(program, port)
    for inputs, parameters in runs:
        made = network.run(program, inputs, memory, runner, parameters)
        wanted = network.run(program, inputs, golden, by_golden(program, golden), parameters)
        np.testing.assert_equal(made, wanted)
    assert WORD not in (said := capfd.readouterr().err), said
