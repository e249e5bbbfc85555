"""Programs for vendors' tools on a page: their commands, and files that are there."""

import re
from pathlib import Path

import pytest

import carrysave
from hw.catalog import Design
from verif.ip import vivado
from verif.support.snippets import Block, blocks

PAGE = Path(carrysave.__file__).parents[1] / "docs" / "tutorials" / "fpga_block.md"
DESIGNS = {
    "block.tcl": Design("systolic_os", {"m": 12, "n": 13, "target": "xilinx7"}),
    "quartus.tcl": Design(
        "systolic_os", {"m": 4, "n": 4, "pe": "mac", "encoding": "operator", "adder": "operator"}
    ),
}
FLOW: dict[str, tuple[set[str], set[str]]] = {
    "read_verilog": (set(), {"-sv"}),
    "read_xdc": ({"-mode", "-cells", "-ref"}, {"-unmanaged"}),
    "synth_design": ({"-top", "-part", "-mode"}, set()),
    **dict.fromkeys(("opt_design", "place_design", "route_design"), (set(), set())),
    "write_checkpoint": (set(), {"-force"}),
}
"""Commands of Vivado without a project (UG835)."""
QUARTUS = {
    "FAMILY", "DEVICE", "TOP_LEVEL_ENTITY", "VERILOG_FILE", "SDC_FILE", "VIRTUAL_PIN",
}  # fmt: skip
"""Assignments of a project that Intel's settings reference has."""


def program(file: str) -> Block:
    (block,) = (one for one in blocks(PAGE) if one.mark == "file" and one.detail == file)
    return block


def test_vivado_reads_what_generate_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vivado, "_COMMANDS", vivado._COMMANDS | FLOW)
    path = tmp_path / "block.tcl"
    path.write_text(program("block.tcl").text)
    calls, error = vivado.calls_of(path)
    assert error == ""
    name = DESIGNS["block.tcl"].module
    by_name = {call[0]: call[1:] for call in calls}
    assert by_name["read_verilog"] == [f"build/{name}.v"]
    # Constraints with `if` are no XDC: Vivado reads them as a program of Tcl.
    assert by_name["read_xdc"] == ["-unmanaged", "-mode", "out_of_context", f"build/{name}.sdc"]
    assert by_name["synth_design"][:2] == ["-top", name]
    order = [call[0] for call in calls if call[0].endswith("_design")]
    assert order == ["synth_design", "opt_design", "place_design", "route_design"]


def test_quartus_has_the_files_and_the_clock() -> None:
    text, name = program("quartus.tcl").text, DESIGNS["quartus.tcl"].module
    assert f"set name {name}\n" in text
    assert set(re.findall(r"assignment -name (\w+)", text)) == QUARTUS
    assert re.findall(r"build/\S+", text) == ["build/$name.v", "build/$name.sdc"]
    assert "VIRTUAL_PIN OFF -to clk\n" in text


def test_litex_makes_the_block() -> None:
    """Its ports are all of those that the manifest has, and no other."""
    verilog = pytest.importorskip("migen.fhdl.verilog")
    names: dict[str, object] = {}
    exec(compile(program("litex_block.py").text, "litex_block.py", "exec"), names)
    array = names["Array"]
    assert callable(array)
    block = array()
    pins = {signal for one in (block.a, block.b, block.c) for signal in one.flatten()}
    text = str(verilog.convert(block, pins))
    design = Design("systolic_os", {"m": 4, "n": 4, "target": "ecp5"})
    wanted = {"clk", "rst"} | {
        f"{stream}_{part}"
        for stream in ("i_a", "i_b", "o_c")
        for part in ("valid", "ready", "data", "last")
    }
    inside = text[text.index(design.module) :]
    assert set(re.findall(r"\.(\w+)\(", inside)) == wanted - {"i_b_last"}
