"""Runs of a network on a board with a system, by its serial port."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.write import write
from carrysave.compiler.run import golden
from carrysave.compiler.target.target import Target
from carrysave.system import command, generate
from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check
from verif.system import software_firmware
from verif.system.software_firmware import Firmware
from verif.system.test_command import SMALL
from verif.system.test_command import network as network
from verif.system.test_command import run as run


@pytest.fixture
def reported(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the report of a system that is on a board: none is written, and no bitstream made."""
    none = SimpleNamespace(sources=[], data=[], firmware_bytes=4096)
    monkeypatch.setattr(generate, "write", lambda *given: none)
    monkeypatch.setattr(
        command, "bitstream_of", lambda *given: ({"ok": True, "fmax_mhz": 60.0}, b"bits")
    )
    assert run(*SMALL, "--json", "-o", tmp_path).code == 0
    return tmp_path / "soc" / "ulx3s_85f" / "soc.json"


def test_no_report(run: Run, network: list[Path], tmp_path: Path) -> None:
    model, x, _ = network
    done = run(*SMALL, "--model", model, "--input", x, "--port", "/dev/ttyX", "-o", tmp_path)
    assert (done.code, "--port needs the report of `carrysave soc" in done.err) == (2, True)


class Port:
    """A serial port, at whose other end is the firmware of a system."""

    timeout: float | None = 0.2
    baudrate = 3_000_000

    def __init__(self, firmware: Firmware, lose: int) -> None:
        self.firmware, self.lose = firmware, lose
        self.came = bytearray()

    def __enter__(self) -> "Port":
        return self

    def __exit__(self, *none: object) -> None:
        """Close it."""

    def write(self, data: bytes) -> None:
        """Send; of some messages the answer is lost."""
        answer = b"".join(map(self.firmware.take, data))
        self.lose -= 1
        if self.lose:
            self.came += answer

    def read(self, size: int) -> bytes:
        """Take what came."""
        found, self.came = bytes(self.came[:size]), self.came[size:]
        return found


def test_digits_on_a_board(
    run: Run,
    network: list[Path],
    reported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the system that was built; an answer is lost on the way."""
    model, x, y = network
    few = ("--count", "3", "--labels", y, "--port", "/dev/ttyX", "--json", "-o", tmp_path)
    line = (*SMALL, "--model", model, "--input", x, *few)
    report, before = reported, reported.read_text()
    spec = Design("coprocessor", json.loads(before)["parameters"]).spec
    firmware = Firmware(spec)
    asked: list[Any] = []

    def serial(*given: Any, **more: Any) -> Port:
        asked.append((*given, more))
        return Port(firmware, 5)

    monkeypatch.setattr("serial.Serial", serial)
    done = run(*line)
    assert done.code == 0, done.err
    found = check("soc", done.out)
    assert asked == [("/dev/ttyX", 3_000_000, {"timeout": 0.2})]
    ran = found["attached"]
    assert (ran["inputs"], firmware.runs, ran["wrong"], ran["cycles"]) == (3, 4, [], 1000)
    assert ran["right"] == 3
    assert report.read_text() == before
    assert found["files"] == [str(report.with_name("run.json"))]
    # The same from a program's folder, without the model.
    target = Target(Design("coprocessor", json.loads(before)["parameters"]))
    graph = load(model)
    given = {next(iter(graph.inputs)): np.load(x)[:1]}
    program = compile_network(tables(lower(graph, target)), target, given)
    write(program, tmp_path / "digits", facts(program, "", ""))
    done = run(*SMALL, "--model", tmp_path / "digits", "--input", x, *few)
    assert done.code == 0, done.err
    again = check("soc", done.out)["attached"]
    assert (again["classes"], again["wrong"], firmware.runs) == (ran["classes"], [], 8)
    # Memory that is not what was written: codes differ, and it is said.
    execute = golden.execute

    def wrong(spec: Any, memory: np.ndarray, start: int) -> None:
        execute(spec, memory, start)
        scores, count = memory[start + 8 : start + 16].view("<u4").tolist()
        memory[scores : scores + count] ^= 1

    monkeypatch.setattr(software_firmware, "execute", wrong)
    done = run(*line)
    assert done.code == 1
    (last,) = check("soc", done.out)["attached"]["wrong"]
    assert last == ran["layers"][-1]["layer"]
    report.write_text("{}")
    done = run(*line)
    assert (done.code, "not a report of `carrysave soc`" in done.err) == (2, True)
