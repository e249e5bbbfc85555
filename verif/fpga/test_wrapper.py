"""The top that designs are measured in: every bit is reached, nothing is shared with the design."""

import json
from pathlib import Path

import pytest

from carrysave.fpga.wrapper import TOP, wrapper
from hw.emit import yosys

_PORTS = {
    name: {"direction": direction, "bits": [0] * width}
    for direction, name, width in (
        ("input", "clk", 1),
        ("input", "x", 4),
        ("input", "y", 3),
        ("output", "z", 4),
    )
}
_DESIGN = """
module top(input clk, input [3:0] x, input [2:0] y, output reg [3:0] z);
  reg [3:0] x1; reg [2:0] y1, y2;
  always @(posedge clk) begin x1 <= x; y1 <= y; y2 <= y1; z <= x1 + y2; end
endmodule
"""


@pytest.mark.parametrize("source", ["", "buffer made (.o (clk));"])
def test_wrapper_reaches_every_bit_and_shares_nothing(tmp_path: Path, source: str) -> None:
    """The optimiser leaves 18 flip-flops of the design beside those of the wrapper."""
    text = wrapper("top", "clk", _PORTS, source)
    made = "module buffer(output o);\nendmodule\n" if source else ""
    (tmp_path / "all.v").write_text(_DESIGN + made + text)
    yosys.run(
        f"read_verilog all.v\n{'blackbox buffer' if source else ''}\n"
        f"synth -flatten -top {TOP}\ntee -q -o found.stat stat -json",
        cwd=tmp_path,
    )
    cells = json.loads((tmp_path / "found.stat").read_text())["design"]["num_cells_by_type"]
    registers = sum(count for kind, count in cells.items() if "DFF" in kind)
    design, shifts, around = 4 + 3 + 3 + 4, 7 + 4, 7 + 4
    assert registers == design + shifts + around


@pytest.mark.parametrize("port", ["x", "z"])
def test_wrapper_of_a_design_without_inputs_or_outputs(tmp_path: Path, port: str) -> None:
    ports = {name: _PORTS[name] for name in ("clk", port)}
    (tmp_path / "all.v").write_text(_DESIGN + wrapper("top", "clk", ports))
    yosys.run(f"read_verilog all.v\nhierarchy -top {TOP}\nproc\ncheck -assert {TOP}", cwd=tmp_path)


def test_wrapper_is_as_wide_as_the_ports() -> None:
    assert wrapper("top", "clk", _PORTS).splitlines() == [
        f"module {TOP}(input clk, input si, input load, output so);",
        "  reg [6:0] shift_in;",
        "  reg [3:0] shift_out;",
        "  reg [3:0] input_x;",
        "  reg [2:0] input_y;",
        "  wire [3:0] from_z;",
        "  reg [3:0] output_z;",
        "  \\top design (.\\clk (clk), .\\x (input_x), .\\y (input_y), .\\z (from_z));",
        "  always @(posedge clk) begin",
        "    shift_in <= {shift_in, si};",
        "    if (load) {input_x, input_y} <= shift_in;",
        "    {output_z} <= {from_z};",
        "    shift_out <= load ? {output_z} : {shift_out, 1'b0};",
        "  end",
        "  assign so = shift_out[3];",
        "endmodule",
    ]
    alone = wrapper("top", "clk", {"clk": _PORTS["clk"]}, "made").splitlines()
    assert alone[:5] == [
        f"module {TOP}(input si, input load, output so);",
        "  wire clk;",
        "  made",
        "  reg [0:0] shift_in;",
        "  reg [0:0] shift_out;",
    ]
    assert alone[-3:] == ["  end", "  assign so = shift_out[0];", "endmodule"]
    assert "    shift_out <= load ? 1'b0 : {shift_out, 1'b0};" in alone
