"""Runs of several inputs on a board."""

import json
from pathlib import Path

import pytest

from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check
from verif.system.software_firmware import Firmware
from verif.system.test_command import SMALL
from verif.system.test_command import network as network
from verif.system.test_command import run as run
from verif.system.test_on_board import Port
from verif.system.test_on_board import reported as reported


def test_two_inputs_a_run(
    run: Run,
    network: list[Path],
    reported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cycles are those of an input; there is no class."""
    model, x, y = network
    report = json.loads(reported.read_text())
    firmware = Firmware(Design("coprocessor", report["parameters"]).spec)
    monkeypatch.setattr("serial.Serial", lambda *given, **more: Port(firmware, 5))
    pairs = (*SMALL, "--model", model, "--input", x, "--batch", "2", "--port", "/dev/ttyX",
             "--json", "-o", tmp_path)  # fmt: skip
    done = run(*pairs, "--count", "4")
    assert done.code == 0, done.err
    two = check("soc", done.out)["attached"]
    assert (two["inputs"], two["batch"], two["cycles"], firmware.runs) == (4, 2, 500, 3)
    assert (two["classes"], two["wrong"]) == ([], [])
    for odd, says in (
        (("--count", "3"), "--count must be a multiple of 2, not 3"),
        (("--labels", y), "--batch needs --model, and no --labels"),
    ):
        done = run(*pairs, *odd)
        assert (done.code, says in done.err) == (2, True)
