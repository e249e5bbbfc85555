"""Clocks and tops of boards."""

from pathlib import Path

import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.top import TOP, Clock, clock_of, top
from hw import device
from hw.emit import tools, yosys
from hw.emit.verilog import Emission
from verif.support.cases import long

OPEN = [name for name, board in BOARDS.items() if board.part is not None]


@pytest.mark.parametrize("name", ["ulx3s_85f", "icebreaker", "tang_nano_9k"])
def test_clock_is_at_most_what_is_asked_for(name: str, tmp_path: Path) -> None:
    """By the family's own tool: near, not above, and the same text each time."""
    board = BOARDS[name]
    for mhz in (41.3, 61.7):
        clock = clock_of(board, mhz, tmp_path)
        assert 0.85 * mhz < clock.mhz <= mhz
        assert clock == clock_of(board, mhz, tmp_path)
        assert "module pll" in clock.verilog
        for port in device.family(board.family).flow.bitstream.pll_ports:  # type: ignore[union-attr]
            assert port in clock.verilog
    assert clock_of(board, board.oscillator_mhz, tmp_path) == Clock(board.oscillator_mhz)


def test_clock_that_no_pll_makes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="clock must be one that the PLL makes of 25 MHz, not 1 "):
        clock_of(BOARDS["ulx3s_85f"], 1.0, tmp_path)


@pytest.mark.parametrize(
    "name", ["icebreaker", *long([name for name in OPEN if name != "icebreaker"])]
)
def test_top_connects_all_ports(name: str) -> None:
    """Every port of the design is a pin, or made at the board's top; Yosys reads it."""
    board = BOARDS[name]
    emission = Emission(design_of(board, {"m": "1", "n": "1"}))
    ports = {port["name"] for port in emission.ports}
    assert ports == {"clk", "rst", *board.facts["pins"]}
    text = top(board, emission.design.module, Clock(board.oscillator_mhz))
    for port in ports:
        assert f".{port}(" in text
    inverted = board.facts["pins"]["busy"]["inverted"]
    assert ("assign busy = !light" in text) == inverted


def test_reset_waits_for_the_clock() -> None:
    """Until the PLL has locked the design is in reset, and for 16 cycles more."""
    board = BOARDS["ulx3s_85f"]
    text = top(
        board,
        "block",
        Clock(
            50.0,
            "module pll(input clkin, output clkout0, locked);\n"
            "assign clkout0 = clkin; reg [3:0] n = 0; always @(posedge clkin) n <= n + !n[3];\n"
            "assign locked = n[3]; endmodule\n",
        ),
    )
    text += "module block(input clk, rst, rx, output tx, busy); assign busy = !rst;\n"
    text += "assign tx = rx; endmodule\n"
    with tools.workplace() as folder:
        (folder / "t.v").write_text(text)
        yosys.run(
            [
                "read_verilog t.v",
                f"prep -top {TOP} -flatten",
                "sim -clock clk -n 40 -zinit -vcd t.vcd",
            ],
            cwd=folder,
        )
        vcd = (folder / "t.vcd").read_text()
    code = next(
        line.split()[3] for line in vcd.splitlines() if line.startswith("$var") and " busy " in line
    )
    time, rises = 0, None
    for line in vcd.splitlines():
        if line.startswith("#"):
            time = int(line[1:])
        elif line in {f"1{code}", f"b1 {code}"} and rises is None:
            rises = time
    assert rises is not None
    period = 10
    assert 8 + 16 <= rises // period <= 8 + 16 + 2
