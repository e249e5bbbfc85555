"""``carrysave build --model``: what it writes runs on a board, here a pseudo-terminal's."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.boards import build as builds
from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.front.options import ReadOptions
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.read import read
from carrysave.compiler.program.write import write
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stored import batches
from carrysave.sim.device import with_device
from carrysave.system.board_network import board_program, rates
from hw.catalog import Design
from verif.boards.test_attached import Device
from verif.support.command import Run
from verif.support.networks import MODELS, quantise
from verif.support.schemas import check
from verif.system.networks import SHAPE, convolutions
from verif.system.timed_line import timed

BOARD = BOARDS["ulx3s_25f"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Place and route nothing: the design is what counts here."""

    def implement(board: Any, *rest: Any) -> tuple[dict[str, Any], bytes]:
        facts = dict.fromkeys(board.part.capacity, 1)
        more = {"carry": 0, "lutrams": 0, "fmax_mhz": 200.0, "critical_path": []}
        return {**facts, **more, "untimed": True, "notes": []}, b"bits"

    monkeypatch.setattr(builds, "_FORMAT", f"{id(monkeypatch)}")
    monkeypatch.setattr(builds, "_implement", implement)


@pytest.fixture(params=["", pytest.param("--flash", marks=pytest.mark.prove)])
def built(
    quick: None, run: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[dict[str, Any], Path, Device]]:
    onnx.save(convolutions(4), tmp_path / "model.onnx")
    line = ("build", "--board", BOARD.name, "--model", tmp_path / "model.onnx", "-o", tmp_path)
    done = run(*line, "--json", *filter(None, [request.param]))
    assert done.code == 0, done.err
    folder = tmp_path / "boards" / BOARD.name
    found = check("board", done.out)
    assert check("board", folder / f"{BOARD.name}.json") == found
    device = Device(Design("coprocessor_uart", found["parameters"]))
    if flash := found["network"]["flash"]:
        command = f"openFPGALoader -b ulx3s -f -o 0x100000 {folder / 'flash.bin'}"
        assert (flash["address"], flash["command"]) == (1 << 20, command)
        device.link.flash = Path(flash["image"]).read_bytes()
        device.link.digest = int(Design("coprocessor_uart", found["parameters"]).digest, 16)
        device.memory[:] = 0xA5
        device.link.reset()
    yield found, folder, device
    device.close()


def test_both_drivers_on_the_board(
    built: tuple[dict[str, Any], Path, Device], run: Run, tmp_path: Path
) -> None:
    """The programs that it writes, and `run --port`, make golden's outputs."""
    found, folder, device = built
    taken = found["network"]
    assert taken["bound"] == "serial line"
    assert taken["inputs_per_second"] == pytest.approx(
        1 / (taken["cycles"] / (1e6 * found["clock_mhz"]) + taken["line_seconds"])
    )
    assert all(Path(file).exists() for file in found["files"])
    jobs = taken["cycles"] / (1e6 * found["clock_mhz"])
    assert taken["block_inputs_per_second"] == pytest.approx(1 / jobs)
    assert taken["gops_peak"] == pytest.approx(found["gops"])
    assert taken["gops_jobs"] == pytest.approx(2e-9 * taken["macs"] / jobs)
    # A depthwise convolution, and a product of 24 codes to ten classes.
    assert taken["macs"] == 6 * 16 * 9 + 24 * 10
    assert taken["gops_sustained"] < taken["gops_jobs"] < taken["gops_peak"]
    page = (folder / "network.html").read_text()
    shown = f"{taken['inputs_per_second']:,.1f}", f"{taken['gops_peak']:.3g}", found["part"], "luts"
    assert [text for text in shown if text not in page] == []
    program = read(folder / "network")
    x = np.random.default_rng(3).integers(0, 256, (2, *SHAPE[1:])).astype(np.uint8)
    np.save(tmp_path / "x.npy", x)
    memory = program.memory.copy()
    expected = np.concatenate([
        network.run(program, {"x": one[None]}, memory, by_golden(program, memory))["y"] for one in x
    ])
    line = [sys.executable, folder / "run.py", device.port, tmp_path / "x.npy", tmp_path / "y.npz"]
    subprocess.run([*map(str, line)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"], expected)
    done = run(
        "run", folder / "network", "--input", tmp_path / "x.npy", "--port", device.port,
        "--simulate", "all", "-o", tmp_path,
    )  # fmt: skip
    assert (done.code, ": 2; all of memory is golden" in done.out) == (0, True), done.err + done.out
    _in_c(folder, device.port, x, tmp_path)
    assert (tmp_path / "y.raw").read_bytes() == expected.tobytes()
    _refused(folder, device, tmp_path)


def _in_c(folder: Path, port: str, x: np.ndarray, place: Path) -> None:
    """Compile the program in C by the command that it names, and run it."""
    lines = (folder / "board_program.c").read_text().split("systems:\n *\n", 1)[1].split("\n */")[0]
    command = "".join(line.removeprefix(" *").rstrip("\\") for line in lines.splitlines())
    subprocess.run(f"{command} -Wall -Wextra -Werror", shell=True, cwd=folder, check=True)
    (place / "x.raw").write_bytes(x.tobytes())
    run_it = [folder / "board_program", port, place / "x.raw", place / "y.raw"]
    subprocess.run([*map(str, run_it)], cwd=folder, check=True)


def _refused(folder: Path, device: Device, place: Path) -> None:
    """Run both programs on another design: they say so, and send nothing."""
    device.hardware.constants["hash_lo"] ^= 1
    device.memory[:] = 0
    python = [sys.executable, folder / "run.py", device.port, place / "x.npy", place / "y.npz"]
    in_c = [folder / "board_program", device.port, place / "x.raw", place / "y.raw"]
    named = f"board_program: {device.port}: it has another design than ulx3s_25f's"
    for line, says in ((python, "the board has another design, "), (in_c, named)):
        done = subprocess.run(
            [*map(str, line)], cwd=folder, check=False, capture_output=True, text=True
        )
        assert (done.returncode, says in done.stderr) == (1, True), done.stderr
    assert not device.memory.any()


def test_what_does_not_fit_is_refused_before_synthesis(run: Run, tmp_path: Path) -> None:
    onnx.save(convolutions(4), tmp_path / "model.onnx")
    line = ("build", "--model", tmp_path / "model.onnx", "-o", tmp_path, "--board")
    for more, says in (
        (
            [BOARD.name, "-p", "memory_bytes=2048"],
            r"--model model.onnx needs [3-9],\d{3} bytes of memory, and the co-processor of"
            r" ulx3s_25f has 2,048: -p memory_bytes=N may give it more, and -p memory=external"
            r" 33,554,432",
        ),
        (
            [BOARD.name, "-p", "memory=external", "-p", "memory_bytes=2048"],
            r"needs [3-9],\d{3} bytes of memory, and the co-processor of ulx3s_25f has 2,048: the"
            r" board's SDRAM has 33,554,432",
        ),
        (["kv260"], "--model must be left out: kv260 has a processor, which runs the files of"),
        (["ecpix5_45f", "--flash"], "flash must be left out on ecpix5_45f: amaranth-boards and"),
        (
            [BOARD.name, "--flash", "-p", "flash=0xffff00"],
            "the image of --model needs [3-9],.* bytes of flash, and ulx3s_25f has 256 from 0xff",
        ),
        (["icebreaker"], "bias must be true: zero points are taken out with it"),
        ([BOARD.name, "--batch", "0"], "--batch must be 1 or more, not 0"),
    ):
        done = run(*line, *more)
        assert done.code == 2
        assert re.search(says, done.err.replace("\n", " ")), done.err
    done = run("build", "--board", BOARD.name, "--batch", "2")
    assert (done.code, "and --state need --model" in done.err) == (2, True)
    assert not (tmp_path / "boards").exists()


@pytest.mark.prove
def test_digits_through_the_pins_of_the_simulated_block(
    quick: None, run: Run, tmp_path: Path
) -> None:
    """The Python driver sends image and inputs over the line: all of memory is golden's."""
    task = MODELS["digits"](tmp_path)
    model = quantise(task, tmp_path / "digits.onnx")
    np.save(tmp_path / "x.npy", task.inputs[:2])
    done = run("build", "--board", BOARD.name, "-p", "divisor=4", "--model", model, "-o", tmp_path)
    assert done.code == 0, done.err
    folder = tmp_path / "boards" / BOARD.name / "network"
    done = run(
        "run", folder, "--input", tmp_path / "x.npy", "--simulate", "all", "-o", tmp_path, "--json"
    )
    assert done.code == 0, done.err
    found = check("program_run", done.out)
    assert (found["simulated"], found["different"], found["port"]) == (2, None, None)


_JOBS_ALONE = {
    "engine": "systolic_os(m=4,n=4,target=ecp5)",
    "windows": "true",
    "taps": "3",
    "requantisers": "4",
    "vector": "vector_unit(lanes=4,length=256,width=16)",
}


@pytest.mark.prove
def test_images_a_second_over_the_pins_are_those_that_the_build_says(tmp_path: Path) -> None:
    """Five times the 106 of products alone, of eight images a batch, with all that is on the line.

    The line has 4 cycles a bit here, not 25, so that it takes no hour: its share is counted apart.
    """
    board, divisor = BOARDS["ulx3s_85f"], 4
    design = design_of(board, _JOBS_ALONE | {"divisor": str(divisor)})
    task = MODELS["digits_conv"](tmp_path)
    model = quantise(task, tmp_path / "digits_conv.onnx")
    program = board_program(model, None, 8, ReadOptions(), board, design)
    given = list(batches(program, task.inputs[:16], "x"))
    write(program, tmp_path / "network", facts(program, "", "digits_conv.onnx"))
    called = partial(timed, folder=tmp_path / "network", batches=given)
    target = program.target
    size = len(program.memory)
    found = with_device(target.design, called, tmp_path, size=size, memory=target.memory)
    memory = program.memory.copy()
    for batch, (outputs, cycles) in zip(given, found, strict=True):
        expected = network.run(program, batch, memory, by_golden(program, memory))
        for key, values in expected.items():
            np.testing.assert_array_equal(outputs[key], values)
        said = rates(program, 75.0, 3_000_000)
        line = cycles - said["cycles"]
        on_it = 10 * (said["sent_bytes"] + said["received_bytes"])
        assert 0.9 * divisor * on_it < line < 1.1 * divisor * on_it
        # At 75 MHz a bit of 3 Mbaud is 25 cycles.
        seconds = (said["cycles"] + 25 / divisor * line) / 75e6
        assert 8 / seconds > 5 * 106
        assert 8 / seconds == pytest.approx(said["inputs_per_second"], rel=0.1)
