"""The block of a page in LiteX's words: its ports are those of the design."""

import re
from pathlib import Path

import pytest

import carrysave
from hw.catalog import Design
from verif.support.snippets import blocks

PAGE = Path(carrysave.__file__).parents[1] / "docs/tutorials/fpga_block.md"


def test_litex_makes_the_block() -> None:
    """Its ports are all of those that the manifest has, and no other."""
    verilog = pytest.importorskip("migen.fhdl.verilog")
    (block,) = (one for one in blocks(PAGE) if one.detail == "litex_block.py")
    names: dict[str, object] = {}
    exec(compile(block.text, "litex_block.py", "exec"), names)
    array = names["Array"]
    assert callable(array)
    made = array()
    pins = {signal for one in (made.a, made.b, made.c) for signal in one.flatten()}
    text = str(verilog.convert(made, pins))
    design = Design("systolic_os", {"m": 4, "n": 4, "target": "ecp5"})
    wanted = {"clk", "rst"} | {
        f"{stream}_{part}"
        for stream in ("i_a", "i_b", "o_c")
        for part in ("valid", "ready", "data", "last")
    }
    inside = text[text.index(design.module) :]
    assert set(re.findall(r"\.(\w+)\(", inside)) == wanted - {"i_b_last"}
