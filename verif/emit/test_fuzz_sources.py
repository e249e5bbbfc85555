"""Broken Verilog: what it includes is read, or refused in one line, before any tool sees it."""

import os
from pathlib import Path

import pytest

from hw.emit.sources import Sources
from hw.emit.tools import workplace
from hw.emit.yosys import YosysError
from verif.support.fuzz import LONG, broken, budgets, fuzz

GOOD = (
    b'`include "part.vh"\n// none: `include X\nmodule t(input clk, input [3:0] d, output reg q);\n'
    b'  reg [3:0] m [0:3];\n  initial $readmemh("data.hex", m);\n'
    b"  always @(posedge clk) q <= ^(d & m[d[1:0]]);\nendmodule\n",
    b'`define F "part.vh"\n`ifdef G\n`include "other.vh"\n`endif\n'
    b"module t #(parameter W = 2) (input [W-1:0] a, output [W-1:0] y);\n"
    b"  genvar i; generate for (i = 0; i < W; i = i + 1) assign y[i] = ~a[i]; endgenerate\n"
    b"endmodule\n",
)
WORDS = (
    b"`include ",
    b"`include F",
    b'"pipe"',
    b'"/dev/zero"',
    b'"."',
    b"`F",
    b"/*",
    b"//",
    b'\\a" ',
    b"$readmemh(",
    b"module ",
    b"endmodule",
    b"`define A `A`A",
    b"`A",
)
REFUSED = (
    b'`include "/dev/zero"\n',
    b'`include "pipe"\n',
    b'`include "."\n',
    b'`define F "/dev/zero"\n`include `F\n',
    b'`include /* */ "/dev/zero"\n',
    b'module t; reg m[0:1]; initial $readmemh("/dev/zero", m); endmodule\n',
    b'`include "' + b"x/" * 3000 + b'"\n`include\n',
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "part.vh").write_text("`define PART 1\n")
    (tmp_path / "data.hex").write_text("0 1 2 3\n")
    return tmp_path


@pytest.mark.parametrize("text", REFUSED)
def test_includes_of_no_files_are_refused(folder: Path, text: bytes) -> None:
    (folder / "t.v").write_bytes(text)
    with pytest.raises(ValueError, match=r"t.v: line .: `include must have|must be a regular file"):
        Sources.read([folder / "t.v"])


@budgets
def test_broken_sources(folder: Path, seconds: float) -> None:
    file = folder / "t.v"

    def read(data: bytes) -> None:
        file.write_bytes(data)
        sources = Sources.read([file])
        if seconds == LONG:
            with workplace() as work:
                sources.design("t", work)

    fuzz(read, broken(GOOD, WORDS), seconds, REFUSED, (ValueError, YosysError))
