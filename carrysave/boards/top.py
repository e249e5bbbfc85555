"""The top of a board's FPGA: the co-processor, its clock, and its reset."""

import re
from dataclasses import dataclass
from pathlib import Path

from carrysave.boards.board import Board
from carrysave.fpga import place
from hw import device

__all__ = ["TOP", "Clock", "clock_of", "top"]

TOP = "carrysave_board"

_ACHIEVED = re.compile(
    r"clkout0, // ([\d.]+) MHz|Achieved output frequency:\s*([\d.]+) MHz", re.ASCII
)

_STEPS, _STEP = 12, 0.025
"""Frequencies that are asked for, each lower by a share of what is wanted."""


@dataclass(frozen=True)
class Clock:
    """The clock of a design on a board.

    Members
    -------
    mhz : its frequency.
    verilog : of the module ``pll``; empty if it is the board's own clock.
    """

    mhz: float
    verilog: str = ""


def clock_of(board: Board, mhz: float, folder: Path) -> Clock:
    """Make the clock that is the nearest to a frequency, and not above it.

    A PLL's steps are coarse: where the tool's nearest is above, a lower one is asked for.

    Raises
    ------
    ValueError
        The family's PLL makes no such frequency.
    """
    if mhz == board.oscillator_mhz:
        return Clock(mhz)
    flow, part = device.family(board.family).flow, board.part
    assert flow.bitstream is not None
    assert part is not None
    package, tool, *arguments = flow.bitstream.pll
    path = folder / "pll.v"
    clock = ""
    for step in range(_STEPS):
        path.unlink(missing_ok=True)
        wanted = mhz * (1 - _STEP * step)
        filled = [
            word.format(mhz=f"{board.oscillator_mhz:g}", wanted=f"{wanted:g}", pll=part.names[1])
            for word in arguments
        ]
        done = place.call(package, folder, filled, tool)
        match = _ACHIEVED.search(path.read_text()) if path.exists() else None
        if done.code or not match:
            clock = f": {(done.output.strip().splitlines() or ['no frequency'])[-1]}"
            break
        achieved = float(match[1] or match[2])
        if achieved <= mhz * (1 + 1e-6):
            text = _without_comments(path.read_text())
            for word, value in board.pll_words.items():
                text = text.replace(word, value)
            return Clock(achieved, text)
    raise ValueError(
        f"clock must be one that the PLL makes of {board.oscillator_mhz:g} MHz, not {mhz:g} MHz"
        f"{clock}"
    )


def _without_comments(text: str) -> str:
    """Drop what names the tool's run, so that the same clock is the same text."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL).strip() + "\n"


def top(board: Board, module: str, clock: Clock) -> str:
    """Return the Verilog of the top: reset until the clock is stable, and some cycles more."""
    flow = device.family(board.family).flow
    lines = [f"module {TOP}(input clk, input rx, output tx, output busy);"]
    if clock.verilog:
        assert flow.bitstream is not None
        comes, goes = flow.bitstream.pll_ports
        lines += [
            "  wire fast, locked;",
            f"  pll clocks (.{comes}(clk), .{goes}(fast), .locked(locked));",
        ]
    else:
        lines += ["  wire fast = clk, locked = 1'b1;"]
    light = "!light" if board.facts["pins"]["busy"]["inverted"] else "light"
    lines += [
        "  wire light;",
        f"  assign busy = {light};",
        "  reg [4:0] start = 0;",
        "  reg reset = 1;",
        "  always @(posedge fast) begin",
        "    if (locked) start <= start + !start[4];",
        "    reset <= !start[4];",
        "  end",
        f"  {module} block (.clk(fast), .rst(reset), .rx(rx), .tx(tx), .busy(light));",
        "endmodule",
    ]
    return "\n".join(lines) + "\n" + clock.verilog
