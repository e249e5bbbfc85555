"""``carrysave soc``: systems that boot, and run networks; and what it refuses."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.system import command
from verif.support.command import Run
from verif.support.networks import MODELS, quantise
from verif.support.schemas import check
from verif.system.networks import SHAPE, convolutions

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
@pytest.mark.parametrize(
    "board",
    ["ulx3s_85f", "ulx3s_12f", "colorlight_i5", "colorlight_i9", "orangecrab_85f", "ecpix5_45f"],
)
def test_convolutions_on_the_simulated_system(board: str, run: Run, tmp_path: Path) -> None:
    """Jobs on one start, codes that the processor gathers, and the greatest of windows."""
    model, x = tmp_path / "model.onnx", tmp_path / "x.npy"
    onnx.save(convolutions(), model)
    np.save(x, np.random.default_rng(1).integers(0, 256, SHAPE).astype(np.uint8))
    small = ("--board", board, *SMALL[2:])
    done = run(*small, "--model", model, "--input", x, "--simulate", "--json")
    assert done.code == 0, done.err
    simulation = check("soc", done.out)["simulation"]
    assert [layer["differ"] for layer in simulation["layers"]] == [0, 0]
    assert len(simulation["layers"][0]["shapes"]) == 3
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
        ("--board icebreaker", "--board must be one with SDRAM that a system uses, ulx3s_12f,"),
        ("--board tang_nano_20k", "not tang_nano_20k: the system's PLL and its constraints"),
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
