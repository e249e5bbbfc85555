"""Products on a board over its serial port: here a pseudo-terminal with a device in software."""

import json
import os
import re
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from carrysave.boards import attached
from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.run.alone import Alone, of_work
from carrysave.compiler.target.target import Target
from carrysave.driver import CoprocessorError, LinkError
from carrysave.driver.batch import Work
from carrysave.errors import UsageError
from golden.soc.serial.host_link import HostLink
from hw.catalog import CATALOG, Design
from verif.networks.graphs import Builder
from verif.soc.driver.software_device import SoftwareDevice
from verif.support.command import Run
from verif.support.schemas import check

BOARD = BOARDS["ulx3s_25f"]
TARGET = Target(design_of(BOARD, {}))


class Device:
    """A co-processor in software behind a pseudo-terminal.

    Members
    -------
    port : its name.
    torn : how many of the answers lose a byte.
    """

    def __init__(self, design: Design) -> None:
        self.memory = np.zeros(design.spec.memory_bytes, np.uint8)
        self.hardware = SoftwareDevice(design.spec, self.memory)
        self.hardware.constants |= {
            "hash_lo": int(design.digest, 16) & 0xFFFFFFFF,
            "hash_hi": int(design.digest, 16) >> 32,
            "engine": design.engine.entry.number if design.engine else 0,
        }
        self.link = HostLink(self.memory, self)
        self.torn = 0
        self._own, other = os.openpty()
        tty.setraw(other)
        tty.setraw(self._own)
        self._other = other
        self.port = os.ttyname(other)
        self._server = threading.Thread(target=self._serve, daemon=True)
        self._server.start()

    def read(self, address: int) -> tuple[int, int]:
        """Read a register."""
        return self.hardware.read(address), 0

    def write(self, address: int, value: int) -> int:
        """Write a register."""
        self.hardware.write(address, value)
        return 0

    def _serve(self) -> None:
        while True:
            try:
                data = os.read(self._own, 4096)
            except OSError:  # the other end was closed
                return
            answer = b"".join(self.link.take(byte) for byte in data)
            if self.torn and answer:
                self.torn -= 1
                answer = answer[: len(answer) // 2] + answer[len(answer) // 2 + 1 :]
            if answer:
                os.write(self._own, answer)

    def close(self) -> None:
        """End it."""
        os.close(self._other)
        # Only then may the number of the file be another's, who would share its bytes.
        self._server.join()
        os.close(self._own)


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device(design_of(BOARD, {}))
    yield made
    made.close()


def report(folder: Path, design: Design, baud: int) -> None:
    """Write what a build's report says of its design."""
    path = folder / BOARD.name / f"{BOARD.name}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"parameters": dict(design.parameters), "baud": baud}))


def product(rng: np.random.Generator) -> Alone:
    work = Work(a=rng.integers(-128, 128, (5, 9)), b=rng.integers(-128, 128, (9, 7)))
    return of_work("", work, TARGET)


def test_products_over_a_line_that_loses_bytes(device: Device) -> None:
    """Torn answers are asked for again, and no number is wrong."""
    rng = np.random.default_rng(1)
    some = [product(rng) for _ in range(3)]
    run = attached.block(BOARD, design_of(BOARD, {}), device.port, 115200)
    told: list[int] = []
    device.torn = 5
    found = run([(one.job, one.rows) for one in some], told.append)
    assert device.torn == 0
    for one, (c, counters) in zip(some, found, strict=True):
        assert np.array_equal(c, one.golden(TARGET))
        assert counters.cycles >= 0
    assert told == [1, 2, 3]


def test_other_design_on_the_board(device: Device) -> None:
    one = product(np.random.default_rng(1))
    ours = device.hardware.spec
    other = design_of(BOARD, {"sums": "128", "m": "2"})
    device.hardware.constants["engine"] = CATALOG["systolic_ws"].number
    run = attached.block(BOARD, other, device.port, 115200)
    says = (
        rf"ulx3s_25f at .*another design, .* and not {other.digest} \(engine systolic_ws, not"
        rf" systolic_os, tile_m {ours.inside.m}, not 2, sums {ours.sums}, not 128\): load it with"
    )
    with pytest.raises(CoprocessorError, match=says):
        run([(one.job, one.rows)], lambda done: None)


def test_design_of_another_board(device: Device, run: Run, tmp_path: Path) -> None:
    """It is called by the name of its board, if that was built; damaged reports are passed over."""
    builds = tmp_path / "build" / "boards"
    report(builds, design_of(BOARD, {"memory_bytes": "8192"}), 115200)
    for name in ("icebreaker", "ulx3s_85f", "other"):
        (builds / name).mkdir()
        (builds / name / f"{name}.json").write_text("{")
    test = ("board", "test", "--board", BOARD.name, "--port", device.port)
    found = run(*test)
    assert (found.code, "another design" in found.err, "that of" in found.err) == (1, True, False)
    whole = dict(design_of(BOARD, {}).parameters)
    path = builds / "orangecrab_25f" / "orangecrab_25f.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"parameters": whole, "baud": 9600}))
    found = run(*test)
    says = r"another design, that of orangecrab_25f, \w+ and not \w+ \(memory_bytes \d+, not 8192\)"
    assert re.search(says, " ".join(found.err.split())), found.err


def test_board_that_does_not_answer() -> None:
    one = product(np.random.default_rng(1))
    own, other = os.openpty()
    tty.setraw(other)
    run = attached.block(BOARD, design_of(BOARD, {}), os.ttyname(other), 115200)
    with pytest.raises(LinkError, match=r"ulx3s_25f at .*, 115200 baud: no answer to HELLO"):
        run([(one.job, one.rows)], lambda done: None)
    os.close(own)
    os.close(other)


def test_network_on_a_board(device: Device, run: Run, tmp_path: Path) -> None:
    """From the command line; the report of a build says which design, and at which rate."""
    rng = np.random.default_rng(1)
    graph = Builder(rng)
    scale, zero = graph.scale(), graph.constant(0, np.int8)
    weights = [graph.codes((16, 8), np.int8), graph.scale(), graph.constant(0, np.int8)]
    graph.node("QLinearMatMul", ["x", scale, zero, *weights, scale, zero], "y")
    model = tmp_path / "m.onnx"
    onnx.save(graph.model((4, 16), np.int8, np.int8, (4, 8)), model)
    np.save(tmp_path / "x.npy", rng.integers(-128, 128, (4, 16), np.int8))
    report(tmp_path / "out" / "boards", design_of(BOARD, {}), 115200)
    line = [
        "run",
        model,
        "--input",
        tmp_path / "x.npy",
        "--board",
        "ulx3s_25f",
        "--simulate",
        "all",
        "--energy",
        "none",
        "-o",
        tmp_path / "out",
    ]
    found = run(*line, "--port", device.port, "--json")
    assert found.code == 0, found.err
    facts = check("run", found.out)
    assert facts["simulation_equal"] is True
    assert device.hardware.starts
    found = run(*line, "--port", device.port, "-p", "m=2")
    assert (found.code, found.err.strip()) == (
        2,
        "carrysave: -p is not for --port: the design is the one that was built",
    )
    found = run(*line, "--port", tmp_path / "none")
    assert found.code in {1, 2}
    assert str(tmp_path / "none") in found.err
    assert len(found.err.strip().splitlines()[-1]) < 300


def test_report_of_a_build(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"port needs the report of `carrysave build --board u"):
        attached.built(BOARD, tmp_path)
    own = design_of(BOARD, {"m": "2"}, baud=9600)
    report(tmp_path, own, 9600)
    assert attached.built(BOARD, tmp_path) == (own, 9600, None)
    path = tmp_path / BOARD.name / f"{BOARD.name}.json"
    for torn in ("", "{", "[]", '{"parameters": {"m": 0}, "baud": 1}', '{"parameters": 1}'):
        path.write_text(torn)
        with pytest.raises(ValueError, match=r"ulx3s_25f.json: not a report of"):
            attached.built(BOARD, tmp_path)
    with pytest.raises(UsageError, match="kv260 has a processor"):
        attached.built(BOARDS["kv260"], tmp_path)


def test_memory_of_a_board(device: Device, run: Run, tmp_path: Path) -> None:
    """All bytes are as they were written; one that is not is told, with its bits."""
    design = design_of(BOARD, {})
    report(tmp_path / "build" / "boards", design, 115200)
    test = ("board", "test", "--board", BOARD.name, "--port", device.port, "--json")
    found = check("board_test", run(*test).out)
    assert found["ok"]
    assert found["memory_bytes"] == design.spec.memory_bytes
    assert found["tested"] > 2 * 2**15
    assert found["read_bytes"] > 0

    take = device.link.take

    def stuck(byte: int) -> bytes:
        device.memory[5::8] |= 4
        return take(byte)

    device.link.take = stuck  # type: ignore[method-assign]
    outcome = run(*test, "--size", "2048")
    assert outcome.code == 1
    found = check("board_test", outcome.out)
    assert not found["ok"]
    assert (found["high"], found["low"]) == (4 << 40, 0)
    assert found["first"][0] == {"test": "data wires", "address": 5, "wrote": 0, "read": 4}
    assert found["cycles"] is None
