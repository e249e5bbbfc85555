"""``carrysave soc``: systems that boot, and run networks; and what it refuses."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.passes.tables import tables
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.write import write
from carrysave.compiler.run import golden
from carrysave.compiler.target.target import Target
from carrysave.system import command
from hw.catalog import Design
from verif.support.command import Run
from verif.support.networks import MODELS, quantise
from verif.support.schemas import check
from verif.system import software_firmware
from verif.system.networks import SHAPE, convolutions
from verif.system.software_firmware import Firmware

SMALL = ("--board", "ulx3s_85f", "-p", "engine=systolic_os(m=4,n=4,target=ecp5)")
"""One build of the simulator for all tests here."""


@pytest.fixture
def run(run: Run) -> Run:
    """Run a system."""
    return partial(run, "soc")


@pytest.fixture(scope="module", params=["digits"])
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Train and quantise a network; returns it, and the files of its inputs and labels."""
    folder = tmp_path_factory.mktemp(request.param)
    task = MODELS[request.param](folder)
    model = quantise(task, folder / "quantised.onnx")
    np.save(folder / "x.npy", task.inputs[:20])
    np.save(folder / "y.npy", task.labels[:20])
    return [model, folder / "x.npy", folder / "y.npy"]


def simulated(
    run: Run, network: list[Path], folder: Path, count: int, *more: str
) -> dict[str, Any]:
    """Run inputs on the simulated system; it must make the golden model's codes."""
    model, x, y = network
    done = run(*SMALL, "--model", model, "--input", x, "--labels", y, "--count", count,
               "--simulate", "--json", "-o", folder, *more)  # fmt: skip
    assert done.code == 0, done.err
    found = check("soc", done.out)
    simulation: dict[str, Any] = found["simulation"]
    assert simulation["wrong"] == []
    assert simulation["inputs"] == len(simulation["classes"]) == count
    assert sum(layer["codes"] for layer in simulation["layers"]) > count
    for layer in simulation["layers"]:
        assert layer["differ"] == 0
        assert layer["macs"] == sum(m * k * n for m, k, n in layer["shapes"])
    assert all(Path(file).exists() for file in found["files"])
    return simulation


@pytest.mark.prove
def test_digits_on_the_simulated_system(run: Run, network: list[Path], tmp_path: Path) -> None:
    """It boots, takes a network and images at its serial pins, and gives classes back."""
    simulation = simulated(run, network, tmp_path, 2)
    assert simulation["classes"] == np.load(network[2])[:2].tolist()
    assert simulation["right"] == 2
    assert simulation["frames_per_second"] > 1000
    for layer in simulation["layers"]:
        assert abs(layer["deviation"]) <= 0.05


@pytest.mark.prove
def test_convolutions_on_the_simulated_system(run: Run, tmp_path: Path) -> None:
    """Jobs on one start, codes that the processor gathers, and the greatest of windows."""
    model, x = tmp_path / "model.onnx", tmp_path / "x.npy"
    onnx.save(convolutions(), model)
    np.save(x, np.random.default_rng(1).integers(0, 256, SHAPE).astype(np.uint8))
    done = run(*SMALL, "--model", model, "--input", x, "--simulate", "--json")
    assert done.code == 0, done.err
    simulation = check("soc", done.out)["simulation"]
    assert [layer["differ"] for layer in simulation["layers"]] == [0, 0]
    assert len(simulation["layers"][0]["shapes"]) == 2
    assert simulation["right"] is None


@pytest.mark.prove
@pytest.mark.parametrize("bus", ["wishbone", "axi"])
@pytest.mark.parametrize("cpu", ["vexriscv", "picorv32"])
def test_digits_by_each_processor_and_bus(
    run: Run, network: list[Path], tmp_path: Path, cpu: str, bus: str
) -> None:
    """Every start is awaited in the processor's own handler of interrupts."""
    simulation = simulated(run, network, tmp_path, 3, "--cpu", cpu, "--bus", bus)
    assert simulation["right"] == 3
    for layer in simulation["layers"]:
        assert abs(layer["deviation"]) <= 0.05


@pytest.mark.prove
@pytest.mark.parametrize("network", ["digits", "digits_conv"], indirect=True)
def test_networks_on_the_simulated_system(run: Run, network: list[Path], tmp_path: Path) -> None:
    simulation = simulated(run, network, tmp_path, 20)
    assert simulation["right"] >= 17
    for layer in simulation["layers"]:
        assert abs(layer["deviation"]) <= 0.05


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--board orangecrab_25f", "--board must be one with SDRAM that a system uses, ulx3s_25f,"),
        ("--board ulx3s_85e", "unknown board 'ulx3s_85e'; did you mean ulx3s_85f"),
        ("--board ulx3s_85f --simulate", "--simulate needs --model and --input"),
        ("--board ulx3s_85f --port p", "--port needs --model and --input"),
        ("--board ulx3s_85f --port p --simulate", "--simulate is in place of a board at --port"),
        ("--board ulx3s_85f --load --simulate", "--load is for a board, not for --simulate"),
        ("--board ulx3s_85f --model m.onnx", "--model and --input need each other"),
        ("--board ulx3s_85f --clock 200", "--clock must be 20..100 MHz, not 200"),
        ("--board ulx3s_85f --cpu cortex", "--cpu must be vexriscv or picorv32, not cortex"),
        ("--board ulx3s_85f --bus avalon", "--bus must be wishbone or axi, not avalon"),
        (
            "--board ulx3s_85f --cpu picorv32 --baud 3000000",
            "--baud must be 9600..937500, not 3000000",
        ),
        ("--board ulx3s_85f --baud 9000000", "--baud must be 9600..7500000, not 9000000"),
        ("--board ulx3s_85f --count 0 --model m --input x", "--count must be 1 or more, not 0"),
        ("--board ulx3s_85f --batch 0 --model m --input x", "--batch must be 1 or more, not 0"),
        ("--board ulx3s_85f --model m.onnx --input x.npy --simulate", "m.onnx"),
    ],
)
def test_refuses(run: Run, tmp_path: Path, line: str, says: str) -> None:
    done = run(*line.split(), "-o", tmp_path / "out")
    assert done.code == 2
    assert done.err.count("\n") <= 2
    assert says in done.err
    assert not (tmp_path / "out").exists()


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
    run: Run, network: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the system that was built; an answer is lost on the way."""
    model, x, y = network
    few = ("--count", "3", "--labels", y, "--port", "/dev/ttyX", "--json", "-o", tmp_path)
    line = (*SMALL, "--model", model, "--input", x, *few)
    done = run(*line)
    assert (done.code, "--port needs the report of `carrysave soc" in done.err) == (2, True)
    monkeypatch.setattr(
        command, "bitstream_of", lambda *given: ({"ok": True, "fmax_mhz": 60.0}, b"bits")
    )
    assert run(*SMALL, "--json", "-o", tmp_path).code == 0
    report = tmp_path / "soc" / "ulx3s_85f" / "soc.json"
    before = report.read_text()
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


@pytest.mark.sample(1)
@pytest.mark.parametrize(("fmax", "code"), [(68.3, 0), (51.6, 1)])
def test_bitstream(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fmax: float, code: int
) -> None:
    """All but mapping, placing and routing: they get the system, its firmware and its pins."""
    monkeypatch.setattr(command, "_FORMAT", str(tmp_path))
    taken: dict[str, float] = {}

    def mapped(
        board: Any, module: str, top: str, sources: list[Path], *rest: Any
    ) -> tuple[Any, Any]:
        texts = {path.name: path.read_text() for path in sources}
        assert {f"{top}.v", f"{module}.v", "VexRiscv.v"} == set(texts)
        whole = "".join(texts.values())
        assert {f"module {name}" in whole for name in (top, module, "VexRiscv")} == {True}
        assert "EHXPLLL" in texts[f"{top}.v"]
        rom = sources[0].with_name(f"{top}_rom.init").read_text().split()
        assert any(int(word, 16) for word in rom)
        taken.update(dict.fromkeys(board.part.capacity, 1.0))
        return taken, {}

    def routed(*given: Any) -> tuple[dict[str, Any], bytes]:
        assert 'LOCATE COMP "sdram_dq[15]" SITE' in given[4]
        assert 'FREQUENCY PORT "clk25" 25 MHZ;' in given[4]
        facts = {"fmax_mhz": fmax, "critical_path": [], "untimed": False, "notes": []}
        return {**given[3], **facts}, b"bits"

    monkeypatch.setattr(command, "mapped", mapped)
    monkeypatch.setattr(command, "routed", routed)
    done = run(*SMALL)
    assert done.code == code, done.err
    assert ("TOO SLOW" in done.out) is (code == 1)
    found = check("soc", Path("build/soc/ulx3s_85f/soc.json"))
    assert found["bitstream"]["ok"] is (code == 0)
    assert found["simulation"] is None
    assert Path("build/soc/ulx3s_85f/ulx3s_85f.bit").read_bytes() == b"bits"
