"""What is changed in a netlist before it is placed; registers in block RAMs are proven the same.

The proof takes a block for any memory with the same ports, and is bounded to a few cycles.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.fpga.netlist import finish_netlist
from carrysave.fpga.wrapper import TOP
from hw.device import family
from hw.emit import yosys

FLOW = family("ecp5").flow
CYCLES = 7
INSIDE = "t"
"""The design under test."""


def memory(
    width: int,
    depth: int,
    register: str,
    *,
    clock: str = "posedge clk",
    behind: str = "",
    seen: str = "0",
) -> str:
    """Return Verilog of a memory, and of a register behind it; and what else is seen of both.

    The register's clock is that of what is read, if not said.
    """
    bits = (depth - 1).bit_length() - 1
    return f"""
module {INSIDE}(input clk, other, we, re, en, clear, input [{bits}:0] to, from,
                input [{width - 1}:0] d, output reg [{width - 1}:0] q, output [{width - 1}:0] seen);
  (* no_rw_check *) reg [{width - 1}:0] words [0:{depth - 1}];
  reg [{width - 1}:0] r;
  assign seen = {seen};
  always @(posedge clk) if (we) words[to] <= d;
  always @({clock}) if (re) r <= words[from];
  always @({behind or clock}) {register}
endmodule
"""


MODEL = (
    (
        """
module DP16KD #(
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG",
  parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC", GSR = "AUTO",
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", CLKAMUX = "CLKA", CLKBMUX = "CLKB",
  parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL"
) (input PORTS, output OUTPUTS);
  localparam wide = DATA_WIDTH_A == 36;
  reg [35:0] words [0:3];
  reg [35:0] latch = 0, held = 0;
  reg [17:0] latch_a = 0, held_a = 0;
  wire [35:0] read = REGMODE_B == "OUTREG" ? held : latch;
  always @(posedge CLKA) begin
    if (CEA && WEA) words[{ADA9, ADA5}] <= {DIB0, DIA8, DIA0, DIA1};
    if (CEA) latch_a <= words[{ADA9, ADA5}] ^ {ADA8, ADA4, ADA3};
    if (OCEA) held_a <= latch_a;
  end
  always @(posedge CLKB) begin
    if (CEB) latch <= words[{ADB9, ADB5}] ^ {ADB8, ADB4, ADB3, 16'b0, ADB7, ADB6};
    if (OCEB) held <= latch;
  end
"""
        + "".join(
            f'  assign DOA{bit} = wide ? read[{bit + 18}] : REGMODE_A == "OUTREG" ? held_a[{bit}]'
            f" : latch_a[{bit}];\n  assign DOB{bit} = read[{bit}];\n"
            for bit in range(18)
        )
        + "endmodule\n"
    )
    .replace(
        "PORTS",
        ", ".join(
            f"{name}{port}{bit}"
            for port in "AB"
            for name, bits in (
                *((name, [""]) for name in ("CE", "OCE", "CLK", "WE", "RST")),
                ("CS", range(3)),
                ("AD", range(14)),
                ("DI", range(18)),
            )
            for bit in bits
        ),
    )
    .replace("OUTPUTS", ", ".join(f"DO{port}{bit}" for port in "AB" for bit in range(18)))
)
"""A block whose words are a few bits of what is written, at any of four places."""


def mapped(text: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Map a design; return the netlist's file, and what is in it."""
    (folder / "t.v").write_text(text)
    options = FLOW.bare, f"-top {INSIDE} -json t.json"
    yosys.run(["read_verilog t.v", *FLOW.mapping(*options)], cwd=folder)
    design = json.loads((folder / "t.json").read_text())
    # Blocks are read from their models.
    design["modules"] = {INSIDE: design["modules"][INSIDE]}
    (folder / "t.json").write_text(json.dumps(design))
    return folder / "t.json", design


def cells(design: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [cell for cell in design["modules"][INSIDE]["cells"].values() if cell["type"] == kind]


def same(before: dict[str, Any], after: dict[str, Any], folder: Path) -> bool:
    """Decide whether two netlists do the same in each of some cycles, whatever comes."""
    (folder / "model.v").write_text(MODEL)
    script = ["read_verilog -overwrite +/ecp5/cells_sim.v", "read_verilog -overwrite model.v"]
    for name, design in (("gold", before), ("gate", after)):
        for cell in cells(design, "DP16KD"):
            given = cell["parameters"]
            cell["parameters"] = {one: given[one] for one in given if "INITVAL" not in one}
        (folder / f"{name}.json").write_text(json.dumps(design))
        script += [f"read_json {name}.json", f"rename {INSIDE} {name}"]
    script += [
        "miter -equiv -make_outputs gold gate both",
        "hierarchy -top both",
        "proc",
        "flatten",
        "memory",
        "opt -full",
        f"sat -seq {CYCLES} -set-init-zero -prove trigger 0 both",
    ]
    log = yosys.run(script, cwd=folder)
    proven = "no model found: SUCCESS!" in log
    assert proven != ("model found: FAIL!" in log), log
    return proven


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("width", "depth", "register"),
    [
        (36, 512, "if (en) q <= r;"),
        (9, 2048, "q <= r;"),
        (80, 512, "if (en) q <= r;"),
        (18, 1024, "if (en) q <= r;"),
    ],
)
def test_registers_behind_block_ram_are_its_own(
    width: int, depth: int, register: str, tmp_path: Path
) -> None:
    path, before = mapped(memory(width, depth, register), tmp_path)
    assert len(cells(before, "TRELLIS_FF")) == width
    assert finish_netlist(FLOW, path) == width
    after = json.loads(path.read_text())
    assert not cells(after, "TRELLIS_FF")
    assert same(before, after, tmp_path)
    # A second time there is nothing to be moved.
    assert finish_netlist(FLOW, path) == 0
    if "en" in register:
        for cell in cells(after, "DP16KD"):
            cell["connections"]["OCEB"] = ["1"]
        assert not same(before, after, tmp_path)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("register", "more", "left"),
    [
        ("if (clear) q <= 0; else q <= r;", {}, 18),
        ("q <= ~r;", {}, 18),
        ("begin q[17:1] <= r[17:1]; if (en) q[0] <= r[0]; end", {}, 18),
        ("if (~en) q <= r;", {}, 18),
        ("q <= r;", {"seen": "{17'b0, r[5]}"}, 18),
        ("q <= r;", {"clock": "negedge clk"}, 18),
        ("q <= r;", {"behind": "negedge clk"}, 18),
        ("q <= r;", {"behind": "posedge other"}, 18),
        ("q <= r; initial q = 1;", {}, 18),
        # What nobody looks at is not in the way.
        ("q[16:0] <= r[16:0];", {}, 0),
    ],
)
def test_other_registers_are_left(
    register: str, more: dict[str, str], left: int, tmp_path: Path
) -> None:
    path, before = mapped(memory(18, 1024, register, **more), tmp_path)
    finish_netlist(FLOW, path)
    after = json.loads(path.read_text())
    assert len(cells(after, "TRELLIS_FF")) == left
    assert (after == before) == bool(left)


@pytest.mark.parametrize(("register", "left"), [("q <= r;", 0), ("if (en) q <= r;", 36)])
def test_between_clocks_only_what_has_no_enable_is_moved(
    register: str, left: int, tmp_path: Path
) -> None:
    """Of a block of 36 bits, half leaves by the outputs of the port that the other clock has."""
    path, _ = mapped(memory(36, 512, register, clock="posedge other"), tmp_path)
    finish_netlist(FLOW, path)
    assert len(cells(json.loads(path.read_text()), "TRELLIS_FF")) == left


def test_ports_that_are_tied_low_are_opened(tmp_path: Path) -> None:
    def cell(kind: str, **connections: list[Any]) -> dict[str, Any]:
        directions = dict.fromkeys(connections, "input")
        return {"type": kind, "connections": connections, "port_directions": directions}

    cells = {
        "low": cell("VLO", Z=[9]),
        "high": cell("VHI", Z=[8]),
        "a": cell("CCU2", CIN=["0"], A=["0"]),
        "b": cell("CCU2", CIN=[9]),
        "c": cell("CCU2", CIN=["x"]),
        "d": cell("CCU2", CIN=[5]),
        "e": cell("CCU2", CIN=[8]),
        "f": cell("LUT4", CIN=["0"]),
        "g": cell("CCU2", A=[3]),
        "h": cell("CCU2", CIN=["1"]),
        "all": cell("CCU2", CIN=["0", "x", 9]),
    }
    path = tmp_path / "wrapper.json"
    path.write_text(json.dumps({"modules": {TOP: {"cells": cells}}}))
    assert not finish_netlist(family("nexus").flow, path)
    found = json.loads(path.read_text())["modules"][TOP]["cells"]
    for name, own in cells.items():
        due = set(own["connections"]) - ({"CIN"} if name in {"a", "b", "c", "all"} else set())
        assert (name, set(found[name]["connections"])) == (name, due)
        assert set(found[name]["port_directions"]) == due
