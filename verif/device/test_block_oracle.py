"""Blocks by Yosys's models in place of ours: those are not by us."""

import re
import subprocess
from pathlib import Path

import pyosys
import pytest

from hw.device import models_of
from verif.support.cases import long


def text_of(vendor: str, block: str) -> str:
    """Return Yosys's model of a block."""
    path = Path(str(pyosys.__file__)).parent / f"share/{vendor}/cells_sim.v"
    found = re.search(rf"^module {block} .*?^endmodule$", path.read_text(), re.M | re.S)
    assert found is not None
    return found[0]


_MAC16 = """
  SB_MAC16 #({how}) ours{number} (.CLK (clk), .CE (1'b1), .A (a), .B (b), .C (c), .D (d),
    .OLOADTOP (top), .OLOADBOT (low), .O (ours[{number}]), {off});
  theirs #({how}) theirs{number} (.CLK (clk), .CE (1'b1), .A (a), .B (b), .C (c), .D (d),
    .OLOADTOP (top), .OLOADBOT (low), .O (theirs[{number}]), {off});
"""

_BENCH = """
module bench;
  reg clk = 0;
  reg [15:0] a, b, c, d;
  reg top, low;
  wire [31:0] ours [0:{last}], theirs [0:{last}];
  integer step, number, wrong = 0, seen = 0;
  reg [15:0] at;
{blocks}
  initial begin
    for (step = 0; step < {steps}; step = step + 1) begin
      at = step * 40503;
      // All operands of the lower half; for the rest random bits, often all the same.
      a = {{step[3] ? $random : {{8{{step[9]}}}}, at[15:8]}};
      b = {{step[5] ? $random : {{8{{step[10]}}}}, at[7:0]}};
      c = $random; d = $random;
      top = step < 4 || $random % 7 == 0; low = step < 4 || $random % 5 == 0;
      #1 clk = 1; #1 clk = 0;
      if (step > 6) for (number = 0; number <= {last}; number = number + 1) begin
        seen = seen + 1;
        if (ours[number] !== theirs[number]) wrong = wrong + 1;
      end
    end
    $display("%0d of %0d wrong", wrong, seen);
  end
endmodule
"""


@pytest.mark.parametrize("steps", [1000, *long([65546])])
def test_mac16_is_that_of_yosys(steps: int, tmp_path: Path) -> None:
    """In each way in which it is used: products and sums, of halves or not, signed or not."""
    whole = {"PIPELINE_16x16_MULT_REG1": 1, "PIPELINE_16x16_MULT_REG2": 1, "MODE_8x8": 0}
    whole |= dict.fromkeys(("TOPADDSUB_LOWERINPUT", "BOTADDSUB_LOWERINPUT"), 2)
    halves = {"MODE_8x8": 1} | dict.fromkeys(("TOPADDSUB_LOWERINPUT", "BOTADDSUB_LOWERINPUT"), 1)
    sums = dict.fromkeys(("TOPOUTPUT_SELECT", "BOTOUTPUT_SELECT"), 1)
    ways: list[dict[str, int]] = [
        whole | {"TOPADDSUB_CARRYSELECT": 2} | sums,
        whole | dict.fromkeys(("TOPOUTPUT_SELECT", "BOTOUTPUT_SELECT"), 3),
        halves | sums,
        halves | sums | dict.fromkeys(("TOPADDSUB_UPPERINPUT", "BOTADDSUB_UPPERINPUT"), 1),
    ]
    always = dict.fromkeys(("A_REG", "B_REG", "TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG"), 1)
    all_ways = [
        way | always | {"A_SIGNED": x, "B_SIGNED": y}
        for way in ways
        for x in (0, 1)
        for y in (0, 1)
    ]
    off = (
        "AHOLD BHOLD CHOLD DHOLD IRSTTOP IRSTBOT ORSTTOP ORSTBOT OHOLDTOP OHOLDBOT ADDSUBTOP"
        " ADDSUBBOT CI ACCUMCI SIGNEXTIN"
    )
    blocks = "".join(
        _MAC16.format(
            number=number,
            how=", ".join(f".{name} ({value})" for name, value in way.items()),
            off=", ".join(f".{name} (1'b0)" for name in off.split()),
        )
        for number, way in enumerate(all_ways)
    )
    (model,) = models_of("  SB_MAC16 u ()\n")
    theirs = text_of("ice40", "SB_MAC16").replace("module SB_MAC16", "module theirs")
    bench = _BENCH.format(last=len(ways) * 4 - 1, blocks=blocks, steps=steps)
    (tmp_path / "bench.v").write_text(theirs + bench)
    files = ["bench.v", str(model)]
    subprocess.run(["iverilog", "-g2005", "-obench", "-sbench", *files], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert said == f"0 of {(steps - 7) * 16} wrong\n"
