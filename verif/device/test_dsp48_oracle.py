"""DSP48 blocks by Yosys's model in place of ours: that is not by us."""

from itertools import product
from pathlib import Path

import pytest

from hw.device import models_of
from verif.device.test_block_oracle import said_of, texts_of
from verif.support.cases import long

_DSP48_BENCH = """
module bench;
  reg clk = 0;
  reg [29:0] a, acin;
  reg [17:0] b, bcin;
  reg [47:0] c, pcin;
  reg [6:0] opmode;
  reg [4:0] on;
  wire [143:0] ours [0:{last}], theirs [0:{last}];
  integer step, number, wrong = 0, seen = 0;
{blocks}
  initial begin
    for (step = 0; step < {steps}; step = step + 1) begin
      // Random bits, often of one sign.
      {{a, acin, b, bcin, c, pcin}} = {{$random, $random, $random, $random, $random, $random}};
      if (step[4]) {{a, b}} = {{48{{step[9]}}}};
      // A product or none, or C; and nothing, the sum above, the sum, or C.
      opmode[3:0] = step[3:1] == 0 ? 4'b0000 : step[3:1] == 1 ? 4'b1100 : 4'b0101;
      opmode[6:4] = $random & 3;
      on = step < 8 ? ~0 : $random | $random;
      a = {{{{5{{a[24]}}}}, a[24:0]}}; acin = {{{{5{{acin[24]}}}}, acin[24:0]}};
      #1 clk = 1; #1 clk = 0;
      for (number = 0; number <= {last}; number = number + 1) begin
        seen = seen + 1;
        if (ours[number] !== theirs[number]) wrong = wrong + 1;
      end
    end
    $display("%0d of %0d wrong", wrong, seen);
  end
endmodule
"""
_DSP48_OFF = {
    "D": "25'b0", "ALUMODE": "4'b0", "INMODE": "5'b0", "CARRYINSEL": "3'b0",
    **dict.fromkeys(("CARRYIN", "CARRYCASCIN", "MULTSIGNIN"), "1'b0"),
    **{f"RST{name}": "1'b0" for name in (
        "A", "ALLCARRYIN", "ALUMODE", "B", "C", "CTRL", "D", "INMODE", "M", "P",
    )},
    **dict.fromkeys(("CEAD", "CEALUMODE", "CECARRYIN", "CED", "CEINMODE", "CECTRL"), "1'b1"),
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["DSP48E1", "DSP48E2"])
@pytest.mark.parametrize("steps", [2000, *long([1 << 17])])
def test_dsp48_is_that_of_yosys(name: str, steps: int, tmp_path: Path) -> None:
    """From power-up on. Of DSP48E2 what it has in common with DSP48E1: Yosys has no other model."""
    ways = [
        {"AREG": a, "ACASCREG": 1, "BREG": b, "BCASCREG": 1, "CREG": c, **inputs}
        for a, b, c in product((1, 2), (1, 2), (0, 1))
        for inputs in ({}, {"A_INPUT": '"CASCADE"'}, {"B_INPUT": '"CASCADE"'})
    ]
    always = dict.fromkeys(
        ("ALUMODEREG", "INMODEREG", "CARRYINREG", "CARRYINSELREG"), 0
    )  # as they are used
    ports = {
        "CLK": "clk",
        "A": "a",
        "ACIN": "acin",
        "B": "b",
        "BCIN": "bcin",
        "C": "c",
        "PCIN": "pcin",
        **{f"CE{one}": f"on[{at}]" for at, one in enumerate(("A1", "A2", "C", "M", "P"))},
        "CEB1": "on[0]",
        "CEB2": "on[1]",
        **_DSP48_OFF,
    }
    blocks = ""
    for number, way in enumerate(ways):
        how = ", ".join(f".{key} ({value})" for key, value in {**way, **always}.items())
        for whose, kind, mode in (
            ("ours", name, "{2'b0, opmode}" if name == "DSP48E2" else "opmode"),
            ("theirs", "theirs", "opmode"),
        ):
            pins = ", ".join(f".{key} ({value})" for key, value in ports.items())
            out = f"{whose}[{number}]"
            blocks += (
                f"  {kind} #({how}) {whose}{number} (.OPMODE ({mode}), {pins}, .P ({out}[47:0]),"
                f" .PCOUT ({out}[95:48]), .ACOUT ({out}[125:96]), .BCOUT ({out}[143:126]));\n"
            )
    bench = _DSP48_BENCH.format(last=len(ways) - 1, steps=steps, blocks=blocks)
    theirs = texts_of("xilinx", "DSP48E1")["DSP48E1"].replace("module DSP48E1", "module theirs")
    (model,) = models_of(f"  {name} u ()\n")
    assert said_of(f"{theirs}\n{bench}", model, tmp_path) == f"0 of {steps * len(ways)} wrong\n"
