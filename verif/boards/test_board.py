"""Boards: facts against definitions that are not ours, and the design that each gets."""

import sys
from pathlib import Path
from typing import Any

import pytest

from carrysave.boards.board import BOARDS, board_of, design_of
from carrysave.boards.line_rate import divisor_of, rate_of
from hw import device
from hw.emit import constraints, tools
from verif.support.command import Run
from verif.support.schemas import check


@pytest.fixture(params=BOARDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_facts_are_those_of_kept_definitions() -> None:
    """The file is what the script writes today; every board has a row in it, and the reverse."""
    script = Path(constraints.__file__).parents[2] / "scripts" / "upkeep" / "board_facts.py"
    done = tools.run([sys.executable, str(script), "--check"], cwd=script.parents[1])
    assert done.code == 0, done.output
    assert constraints.boards().keys() == BOARDS.keys()


def test_design_and_its_line(name: str) -> None:
    board = BOARDS[name]
    design = design_of(board, {})
    assert design.name == ("coprocessor" if board.processor else "coprocessor_uart")
    smaller = design_of(board, {"m": "1", "n": "1"})
    assert smaller.spec.inside.m == smaller.spec.inside.n == 1
    if board.processor:
        assert not board.facts["pins"]
        return
    hertz = 1e6 * (board.clock_mhz or board.oscillator_mhz)
    rate = rate_of(board.baud, hertz)
    assert board.baud / 3 < rate <= board.baud
    assert abs(hertz / design.spec.divisor / rate - 1) < 0.02
    slow = design_of(board, {}, baud=9600)
    assert abs(hertz / slow.spec.divisor / 9600 - 1) < 0.005


def test_part_is_known_to_the_tools(name: str) -> None:
    """Every board either has a part that nextpnr takes, or a family that no open tool places."""
    board = BOARDS[name]
    flow = device.family(board.family).flow
    assert (board.part is None) == (flow.bitstream is None) == (flow.nextpnr is None)


@pytest.mark.parametrize("form", ["lpf", "pcf", "cst", "xdc"])
def test_constraints_place_every_port(form: str) -> None:
    pins = BOARDS["ecpix5_85f"].facts["pins"]
    text = constraints.pins(form, pins, 100e6)
    for port, pin in pins.items():
        assert any(port in line and pin["site"] in line for line in text.splitlines()), (port, text)
    assert ("100" in text) == (form in {"lpf", "pcf"})
    assert ("-period 10 " in text) == (form == "xdc")


@pytest.mark.parametrize("baud", [1, 300_000_000, 7_000_000])
def test_rate_that_the_clock_cannot_make(baud: int) -> None:
    with pytest.raises(ValueError, match=f"baud rate must be 25 MHz over 4..65535.*not {baud}"):
        divisor_of(25e6, baud)


def test_unknown_board() -> None:
    with pytest.raises(ValueError, match="unknown board 'ulx3s_85'; did you mean ulx3s_85f"):
        board_of("ulx3s_85")


def test_list(run: Run) -> None:
    found: Any = check("boards", run("boards", "--json").out)
    rows: dict[str, Any] = {row["board"]: row for row in found}
    assert list(rows) == list(BOARDS)
    assert rows["arty_a7_35t"]["gops"] is None
    for row in found:
        clock = row["clock_mhz"]
        assert row["gops"] == (clock and pytest.approx(2e-3 * row["m"] * row["n"] * clock))
    text = run("boards").out
    assert all(name in text for name in BOARDS)
    assert run("boards", "kv26").code == 2
