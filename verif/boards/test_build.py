"""Builds: bitstreams at a clock that is met, designs that do not fit, projects for Vivado."""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrysave.boards import build as builds
from carrysave.boards.board import BOARDS
from carrysave.boards.build import TooLargeError, build
from carrysave.boards.implement import routed
from carrysave.fpga import place
from verif.support.cases import long
from verif.support.command import Run
from verif.support.schemas import check

OPEN = [name for name, board in BOARDS.items() if board.part is not None]


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Let place and route reach frequencies, by that of the clock; lists the clocks tried."""

    def given(fmax: Callable[[float], float], untimed: bool = False) -> list[float]:
        tried: list[float] = []
        # What is kept of one test is not for the next.
        monkeypatch.setattr(builds, "_FORMAT", f"{fmax} {id(tried)}")
        monkeypatch.setattr(builds, "verilog_of", lambda design: "")

        def implement(
            board: Any, module: str, files: Mapping[str, str], *rest: Any
        ) -> tuple[dict[str, Any], bytes]:
            found = re.search(r'FREQUENCY_PIN_CLKOP="([\d.]+)"', files["carrysave_board.v"])
            mhz = float(found[1]) if found else board.oscillator_mhz
            tried.append(mhz)
            facts = dict.fromkeys(board.part.capacity, 1)
            return {
                **facts,
                "carry": 0,
                "lutrams": 0,
                "fmax_mhz": fmax(mhz),
                "critical_path": [],
                "untimed": untimed,
                "notes": [],
            }, b"bits"

        monkeypatch.setattr(builds, "_implement", implement)
        return tried

    return given


def test_clock_is_what_the_design_reaches(
    reached: Callable[..., list[float]], tmp_path: Path
) -> None:
    """A clock that is missed is lowered until it is met; one that is met by far is raised."""
    board = BOARDS["ulx3s_25f"]
    start = board.clock_mhz or builds._FIRST_MHZ
    tried = reached(lambda mhz: 0.7 * start)
    _, found = build(board, {}, tmp_path, quiet)
    assert found["ok"]
    assert 0.6 * start < found["clock_mhz"] <= 0.7 * start
    assert [(run["seed"], run["clock_mhz"]) for run in found["runs"]] == [*enumerate(tried, 1)]
    assert [run["ok"] for run in found["runs"]] == [False, True, True]
    assert found["gops"] == pytest.approx(2e-3 * 16 * found["clock_mhz"])
    assert check("board", tmp_path / "ulx3s_25f.json") == found
    assert (tmp_path / "ulx3s_25f.bit").read_bytes() == b"bits"

    tried = reached(lambda mhz: 1.5 * start)
    _, found = build(board, {"m": "3"}, tmp_path, quiet)
    assert found["ok"]
    assert 1.35 * start < found["clock_mhz"] <= 1.5 * start
    # Faster, it is not met, and the former is kept.
    tried = reached(lambda mhz: 1.5 * start if mhz <= start else start)
    _, found = build(board, {"m": "2"}, tmp_path, quiet)
    assert found["ok"]
    assert found["clock_mhz"] <= start < max(tried)
    # What tools do not time is no reason to run it faster.
    tried = reached(lambda mhz: 1.5 * start, untimed=True)
    _, found = build(board, {"m": "1"}, tmp_path, quiet)
    assert len(tried) == 1


def test_clock_that_is_asked_for(
    reached: Callable[..., list[float]], run: Run, tmp_path: Path
) -> None:
    tried = reached(lambda mhz: 30.0)
    outcome = run("build", "--board", "ulx3s_25f", "--clock", "40", "-o", tmp_path, "--json")
    assert outcome.code == 1
    found = check("board", outcome.out)
    assert found["ok"] is False
    assert found["clock_mhz"] == 40 == tried[0]
    assert found["baud"] == 2_000_000  # 3,000,000 would be off by 2.5 %
    assert "TOO SLOW" in run("build", "--board", "ulx3s_25f", "--clock", "40", "-o", tmp_path).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--board", "ulx3"], "unknown board 'ulx3'"),
        (["--board", "ulx3s_25f", "--clock", "0.5"], "--clock must be 1..1000 MHz, not 0.5"),
        (["--board", "ulx3s_25f", "--clock", "nan"], "--clock must be 1..1000 MHz, not nan"),
        (["--board", "ulx3s_25f", "--baud", "0"], "--baud must be 1 or more, not 0"),
        (["--board", "ulx3s_25f", "--baud", "99000000"], "baud rate must be"),
        (["--board", "ulx3s_25f", "--seeds", "0"], "--seeds must be 1..100, not 0"),
        (["--board", "kv260", "--load"], "--load needs a bitstream, which Vivado builds for kv260"),
        (["--board", "kv260", "--clock", "50"], "--clock is for boards that open tools build for"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, arguments: list[str], says: str) -> None:
    outcome = run("build", *arguments, "-o", tmp_path / "out")
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert not list(tmp_path.iterdir())


_CROWDED = """\
Info: Device utilisation:
Info: \t         ICESTORM_LC:    4723/   5280    89%
Info: \t        ICESTORM_RAM:      18/     30    60%
Info: \t               SB_GB:       8/      8   100%
ERROR: Unable to find legal placement for all cells, design is probably at utilisation limit.
ERROR: Placing design failed.
"""
"""What nextpnr says of a design that has as many cells, and no place for each."""


@pytest.mark.parametrize(
    ("says", "wanted"),
    [
        (_CROWDED, "4,723 logic cells of 5,280 are too many to be placed"),
        (
            "ERROR: Failed to expand region (0, 0) |_> (9, 9) of 7051 ICESTORM_LCs",
            "7,051 logic cells of 5,280",
        ),
    ],
)
def test_design_without_a_placement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, wanted: str
) -> None:
    """Says how much of what it has; other errors of nextpnr stay as they are."""
    board = BOARDS["icebreaker"]
    finished = SimpleNamespace(code=255, output=says)
    monkeypatch.setattr(place, "call", lambda *rest: finished)
    taken = {"luts": 3000.0, "ffs": 2000.0}
    arguments = board, "design", "top", taken, "", tmp_path, quiet
    with pytest.raises(TooLargeError) as caught:
        routed(*arguments)
    assert str(caught.value).endswith(f"is larger than iCE40UP5K-SG48 of icebreaker: {wanted}")
    assert caught.value.taken["luts"] > 5280
    finished.output = says.replace("legal", "any").replace("expand", "find")
    with pytest.raises(place.FpgaError, match=r"ERROR: (Unable|Failed) to find"):
        routed(*arguments)


@pytest.mark.prove
@pytest.mark.parametrize("name", ["arty_a7_35t", "kv260", *long(["arty_a7_100t", "pynq_z2"])])
def test_project_for_vivado(name: str, run: Run, tmp_path: Path) -> None:
    """Everything that the program reads is there, and it is for the board's part."""
    outcome = run("build", "--board", name, "-p", "m=2", "-p", "n=2", "-o", tmp_path, "--json")
    assert outcome.code == 0, outcome.err
    found = check("board", outcome.out)
    assert found["ok"] is None
    (command,) = re.findall(r"-source (\S+)", found["notes"][0])
    program = Path(command).read_text()
    assert BOARDS[name].facts["part"] in program + found["notes"][0]
    if BOARDS[name].processor:
        assert "block_design" in command
        return
    for file in re.findall(r"^read_\w+ \[file join \$here (\S+)\]", program, re.MULTILINE):
        assert (Path(command).parent / file).stat().st_size
    pins = (tmp_path / "boards" / name / f"{name}.xdc").read_text()
    assert pins.count("PACKAGE_PIN") == 4


def test_load(
    reached: Callable[..., list[float]], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a program of the loader's name that writes down what it is asked for, or fails."""
    reached(lambda mhz: mhz)
    path = tmp_path / "bin"
    path.mkdir()
    program = path / "openFPGALoader"
    for tool in ("sh", "cat"):
        (path / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(path))
    line = ["build", "--board", "orangecrab_25f", "--load", "-o", tmp_path / "out"]
    outcome = run(*line)
    assert outcome.code == 1
    assert (
        "openFPGALoader is not installed: run `sudo apt-get install openfpgaloader`" in outcome.err
    )
    assert not (tmp_path / "out").exists()

    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    program.chmod(0o755)
    assert run(*line).code == 0
    image = tmp_path / "out" / "boards" / "orangecrab_25f" / "orangecrab_25f.bit"
    assert (tmp_path / "asked").read_text().split() == ["-b", "orangeCrab", str(image)]

    program.write_text("#!/bin/sh\necho unable to open ftdi device; exit 1\n")
    outcome = run(*line)
    assert outcome.code == 1
    assert "openFPGALoader -b orangeCrab: unable to open ftdi device" in outcome.err


@pytest.mark.prove
@pytest.mark.parametrize("name", OPEN)
def test_bitstream(name: str, run: Run, tmp_path: Path) -> None:
    """The default build of each board fits, meets its clock, and is the one of the list."""
    outcome = run("build", "--board", name, "-o", tmp_path, "--json")
    assert outcome.code == 0, outcome.err
    found = check("board", outcome.out)
    assert found["ok"]
    assert found["fmax_mhz"] > found["clock_mhz"]
    assert found["clock_mhz"] > 0.98 * BOARDS[name].clock_mhz
    for part, limit in found["capacity"].items():
        assert found[part] <= limit
    images = [path for path in map(Path, found["files"]) if path.stem == name]
    assert max(path.stat().st_size for path in images if path.suffix in {".bit", ".fs"}) > 100_000
    drivers = tmp_path / "boards" / name / "drivers"
    assert found["files"][-1] == str(drivers)
    for file in (
        "c/carrysave_uart.c",
        "c/carrysave_coprocessor.h",
        "python/carrysave_driver/uart.py",
    ):
        assert (drivers / file).stat().st_size > 1000
