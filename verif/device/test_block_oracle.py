"""Blocks by Yosys's models in place of ours: those are not by us."""

import re
import subprocess
from pathlib import Path

import pyosys
import pytest

from hw.device import models_of
from verif.support.cases import long


def texts_of(vendor: str, *blocks: str) -> dict[str, str]:
    """Return Yosys's models of blocks, with those that are in them."""
    path = Path(str(pyosys.__file__)).parent / f"share/{vendor}/cells_sim.v"
    modules = re.findall(r"^(module (\w+) .*?^endmodule)$", path.read_text(), re.M | re.S)
    known = {name: text for text, name in modules}
    found: dict[str, str] = {}
    waiting = [*blocks]
    while waiting:
        name = waiting.pop()
        found[name] = known[name]
        waiting += set(re.findall(r"^\t(\w+) #\(", known[name], re.M)) - found.keys()
    return found


def said_of(bench: str, model: Path, folder: Path) -> str:
    """Simulate a bench with our model of a block; return what it prints."""
    (folder / "bench.v").write_text(bench)
    files = ["bench.v", str(model)]
    subprocess.run(["iverilog", "-g2005", "-obench", "-sbench", *files], cwd=folder, check=True)
    done = subprocess.run(["vvp", "bench"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


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
    theirs = texts_of("ice40", "SB_MAC16")["SB_MAC16"].replace("module SB_MAC16", "module theirs")
    bench = _BENCH.format(last=len(ways) * 4 - 1, blocks=blocks, steps=steps)
    assert said_of(theirs + bench, model, tmp_path) == f"0 of {(steps - 7) * 16} wrong\n"


_NEXUS_BENCH = """
module bench;
  reg clk = 0;
  reg [159:0] in;
  reg load;
  wire [53:0] ours, theirs;
  integer step, wrong = 0, seen = 0;
  {name} #({how}) ours_only (.Z (ours[{top}:0]), {ports});
  theirs_{name} #({how}) theirs_only (.Z (theirs[{top}:0]), {ports});
  initial begin
    for (step = 0; step < {steps}; step = step + 1) begin
      // Random bits, often of one sign; for operands of 9 bits all of the first two.
      in = {{$random, $random, $random, $random, $random}};
      if (step[4]) in = {{160{{step[9]}}}};
      in[17:0] = step * 40503;
      load = step < 4 || $random % 5 == 0;
      #1 clk = 1; #1 clk = 0;
      if (step > 5) begin
        seen = seen + 1;
        if (ours[{top}:0] !== theirs[{top}:0]) wrong = wrong + 1;
      end
    end
    $display("%0d of %0d wrong", wrong, seen);
  end
endmodule
"""


def _on(*names: str) -> dict[str, str]:
    """Enable registers, and never reset them."""
    return {f"CE{name}": "1'b1" for name in names} | {f"RST{name}": "1'b0" for name in names}


@pytest.mark.parametrize("steps", [3000, *long([1 << 18])])
@pytest.mark.parametrize(
    ("name", "size"),
    [("MULT9X9", 9), ("MULT18X18", 18), ("MULTADDSUB18X18", 18), ("MULTADDSUB9X9WIDE", 9)],
)
def test_blocks_of_nexus_are_those_of_yosys(
    name: str, size: int, steps: int, tmp_path: Path
) -> None:
    """In the one way in which each is used; sums are kept, or begin with others."""
    ports = {"CLK": "clk"}
    how = dict.fromkeys(("REGINPUTA", "REGINPUTB", "REGOUTPUT"), "REGISTER")
    if name.startswith("MULTADDSUB"):
        plain = ("REGINPUTC", "REGADDSUB", "REGLOADC", "REGLOADC2", "REGPIPELINE")
        how |= dict.fromkeys(plain, "BYPASS")
        ports |= _on("C", "CTRL", "PIPE", "OUT")
        ports |= {"SIGNED": "1'b1", "LOADC": "load", "C": "in[159:106]"}
    else:
        ports |= _on("A", "B", "OUT") | {"SIGNEDA": "1'b1", "SIGNEDB": "1'b1"}
    if name.endswith("WIDE"):
        how = {key: value for key, value in how.items() if key[-1] not in "AB"}
        how |= {f"REGINPUTAB{pair}": "REGISTER" for pair in range(4)}
        ports |= _on("A0A1", "A2A3", "B0B1", "B2B3") | {"ADDSUB": "4'b0"}
        ports |= {
            f"{port}{pair}": f"in[{9 * (2 * pair + at)} +: 9]"
            for pair in range(4)
            for at, port in enumerate("AB")
        }
    else:
        ports |= {"A": f"in[0 +: {size}]", "B": f"in[{size} +: {size}]"}
    if name == "MULTADDSUB18X18":
        how["REGCIN"] = "BYPASS"
        ports |= _on("A", "B", "CIN") | {"ADDSUB": "1'b0", "CIN": "1'b0"}
    (model,) = models_of(f"  {name} u ()\n")
    bench = _NEXUS_BENCH.format(
        name=name,
        steps=steps,
        top=53 if name.startswith("MULTADDSUB") else 2 * size - 1,
        how=", ".join(f'.{key} ("{value}")' for key, value in how.items()),
        ports=", ".join(f".{key} ({value})" for key, value in ports.items()),
    )
    texts = texts_of("nexus", name)
    theirs = "".join(f"{text}\n" for text in texts.values())
    for inside in texts:
        theirs = re.sub(rf"^(module |\t)({inside}) ", r"\1theirs_\2 ", theirs, flags=re.M)
    assert said_of(theirs + bench, model, tmp_path) == f"0 of {steps - 6} wrong\n"
