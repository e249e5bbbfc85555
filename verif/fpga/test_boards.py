"""Boards: constraints against a description that is not ours, designs, and bitstreams."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from amaranth_boards.ice40_hx8k_b_evn import ICE40HX8KBEVNPlatform
from amaranth_boards.ulx3s import ULX3S_85F_Platform

from carrysave.fpga import boards
from carrysave.fpga.boards import BOARDS, build, design_of
from hw.emit import yosys
from hw.emit.verilog import Emission
from verif.support.cases import long
from verif.support.command import Run
from verif.support.schemas import check

PLATFORMS: dict[str, Any] = {
    "ice40_hx8k_b_evn": ICE40HX8KBEVNPlatform,
    "ulx3s_85f": ULX3S_85F_Platform,
}
SIZES = {"LFE5U-85F": "--85k", "iCE40HX8K": "--hx8k --package ct256"}


@pytest.fixture(params=BOARDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def pins_of(text: str) -> dict[str, str]:
    """Read places of ports."""
    return dict(
        re.findall(r'LOCATE COMP "(\w+)" SITE "(\w+)"', text)
        or re.findall(r"set_io (?:-pullup yes )?(\w+) (\w+)", text)
    )


def test_pins_are_those_of_the_board(name: str) -> None:
    platform = PLATFORMS[name]()
    uart = {part.name: part.ios[0].names[0] for part in platform.lookup("uart", 0).ios}
    clock = platform.lookup(platform.default_clk, 0)
    light = platform.lookup("led", 0)
    assert pins_of(BOARDS[name].constraints) == {
        "clk": clock.ios[0].names[0],
        "rx": uart["rx"],
        "tx": uart["tx"],
        "busy": light.ios[0].names[0],
    }
    assert BOARDS[name].clock_hz == clock.clock.frequency
    assert f" {BOARDS[name].clock_hz / 1e6}" in BOARDS[name].constraints
    assert SIZES[platform.device] in " ".join(BOARDS[name].device)


def test_line_has_the_rate(name: str) -> None:
    design = design_of(name, 115200, {})
    assert abs(BOARDS[name].clock_hz / design.spec.divisor / 115200 - 1) < 0.005
    smaller = design_of(name, 115200, {"m": "1", "n": "1"})
    assert smaller.spec.inside.m == smaller.spec.inside.n == 1


@pytest.mark.parametrize("baud", [1, 300_000_000, 7_000_000])
def test_rate_that_the_clock_cannot_make(baud: int) -> None:
    with pytest.raises(ValueError, match=f"baud rate must be 25 MHz over 4..65535.*not {baud}"):
        design_of("ulx3s_85f", baud, {})


@pytest.mark.parametrize("mapped", [False, *long([True])])
def test_design_that_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped: bool
) -> None:
    """As Yosys counts; in the short run, with the count that it gives after half a minute."""
    if not mapped:
        count = json.dumps({"design": {"num_cells_by_type": {"SB_LUT4": 6000, "SB_RAM40_4K": 74}}})
        emit = yosys.run

        def told(script: str, cwd: Path) -> str:
            if "design.stat" not in script:
                return emit(script, cwd=cwd)
            (cwd / "design.stat").write_text(count)
            return ""

        monkeypatch.setattr(yosys, "run", told)
    more = {"m": "1", "n": "1", "memory_bytes": "32768"}
    design = design_of("ice40_hx8k_b_evn", 115200, more)
    with pytest.raises(ValueError, match=r"larger than the board.s FPGA: 74 brams of 32"):
        build("ice40_hx8k_b_evn", design, tmp_path, lambda text: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.prove
def test_bitstream(name: str, run: Run, tmp_path: Path) -> None:
    """The default build of each board fits, is fast enough, and unpacks."""
    outcome = run("build", "--board", name, "-o", tmp_path, "--json")
    assert outcome.code == 0, outcome.err
    found = check("board", outcome.out)
    assert found["ok"]
    assert found["fmax_mhz"] > found["clock_mhz"]
    for part, limit in found["capacity"].items():
        assert found[part] <= limit
    image = tmp_path / "boards" / name / f"{name}.bit"
    assert image.stat().st_size > 100_000
    drivers = tmp_path / "boards" / name / "drivers"
    assert found["files"][-1] == str(drivers)
    for file in (
        "c/carrysave_uart.c",
        "c/carrysave_coprocessor.h",
        "python/carrysave_driver/uart.py",
    ):
        assert (drivers / file).stat().st_size > 1000


def test_top_connects_all_ports(name: str) -> None:
    """Every port of the design is a pin, or made at the board's top."""
    emission = Emission(design_of(name, 115200, {}))
    ports = {port["name"] for port in emission.ports}
    assert ports == {"clk", "rst", *pins_of(BOARDS[name].constraints)}
    for port in ports:
        assert f".{port}(" in boards._wrapper(emission.design.module)
