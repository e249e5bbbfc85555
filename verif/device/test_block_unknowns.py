"""Our models of devices' blocks where something is x: as silicon, which has a value there."""

import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from hw.device import models_of

X = 2
"""An unknown bit in arrays of bits."""


def merged(known: np.ndarray) -> np.ndarray:
    """Add to each axis of a table a place for x: what is there where its two values agree, or x."""
    for axis in range(known.ndim):
        low, high = np.take(known, 0, axis), np.take(known, 1, axis)
        both = np.where(low == high, low, X)
        known = np.concatenate([known, np.expand_dims(both, axis)], axis)
    return known


def simulated(folder: Path, block: str, bench: str) -> str:
    """Return what a bench of a block's model prints."""
    (model,) = models_of(f"  {block} u ()\n")
    (folder / "bench.v").write_text(bench)
    command = ["iverilog", "-g2005", "-obench", "-sbench", "bench.v", str(model)]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(
        ["vvp", "-n", "bench"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def table_bench(block: str, how: str, inputs: list[str], outputs: list[str]) -> str:
    """Write a bench that prints the outputs for each input at 0, 1 or x, the first one slowest."""
    pins = ", ".join(f".{name} (at[{bit}])" for bit, name in enumerate(inputs))
    outs = ", ".join(f".{name} (out[{bit}])" for bit, name in enumerate(outputs))
    loops = "".join(
        f"    for (i{bit} = 0; i{bit} < 3; i{bit} = i{bit} + 1) begin"
        f" at[{bit}] = i{bit} == 2 ? 1'bx : i{bit};\n"
        for bit in range(len(inputs))
    )
    return (
        f"module bench;\n  reg [{len(inputs) - 1}:0] at;\n  wire [{len(outputs) - 1}:0] out;\n"
        f"  integer {', '.join(f'i{bit}' for bit in range(len(inputs)))};\n"
        f"  {block} #({how}) only ({pins}, {outs});\n  initial begin\n{loops}"
        f'    #1 $display("%b", out);\n    {"end " * len(inputs)}\n  end\nendmodule\n'
    )


def table(folder: Path, block: str, how: str, inputs: list[str], outputs: list[str]) -> np.ndarray:
    """Return the outputs, an axis of three for each input, and at last one of outputs."""
    lines = simulated(folder, block, table_bench(block, how, inputs, outputs)).split()
    digits = np.array([list(line[::-1]) for line in lines])
    bits = np.select([digits == "0", digits == "1"], [0, 1], X)
    return bits.reshape(*(3,) * len(inputs), len(outputs))


@pytest.mark.parametrize("entries", [0, 0xFFFF, 0x8000, 0xCA53, 0x663C, 0x7888])
def test_table_is_x_where_it_depends_on_an_x(entries: int, tmp_path: Path) -> None:
    found = table(tmp_path, "LUT4", f".INIT (16'd{entries})", ["D", "C", "B", "A"], ["Z"])
    known = np.array([entries >> at & 1 for at in range(16)]).reshape(2, 2, 2, 2)
    assert np.array_equal(found[..., 0], merged(known))


@pytest.mark.parametrize("entries", [0x663C, 0x7888, 0x8777, 0x000A])
def test_slice_is_known_where_it_selects(entries: int, tmp_path: Path) -> None:
    """Its first sum exactly; what depends on its carry is never known where silicon's is not."""
    inputs = ["CIN", "D0", "C0", "B0", "A0", "D1", "C1", "B1", "A1"]
    how = ", ".join(f'.INIT{half} (16\'d{entries}), .INJECT1_{half} ("NO")' for half in "01")
    found = table(tmp_path, "CCU2C", how, inputs, ["S0", "S1", "COUT"])
    known = found[(slice(2),) * len(inputs)]
    assert not (known == X).any()
    exact = np.stack([merged(known[..., out]) for out in range(3)], axis=-1)
    assert np.array_equal(found[..., 0], exact[..., 0])
    assert ((found == exact) | (found == X)).all()
    # A sum that is not kept: whatever it is, what is added in its place comes out.
    if entries == 0x663C:
        for half, carry in product((0, 1), (0, 1)):
            at: list[int] = [carry, 0, 1, 0, 0, 0, 1, 0, 0]
            at[4 * half + 4] = X
            assert found[tuple(at)][half] != X


_BENCH = """
module bench;
  reg clk = 0;
  reg [17:0] a, b;
  wire [{top}:0] z;
  {block} #({how}) only ({pins});
  task try(input [17:0] left, input [17:0] right); begin
    a = left; b = right;
    repeat (6) begin #1 clk = 1; #1 clk = 0; end
    $display("%b", z);
  end endtask
  initial begin
    #1 $display("%b", z);
    try(0, 18'bx); try(18'bx, 0); try(3, 18'bx); try(18'bx, -5); try(3, -5);
  end
endmodule
"""
_ON = {"CLK": "clk", "SIGNEDA": "1'b1", "SIGNEDB": "1'b1"}
_LOAD = {"CLK": "clk", "SIGNED": "1'b1", "LOADC": "1'b1", "C": "54'b0"}
_MAC = ", ".join([
    *(f".{name} (1'b1)" for name in ("A_REG", "B_REG", "A_SIGNED", "B_SIGNED")),
    *(f".{name} (1'b1)" for name in ("PIPELINE_16x16_MULT_REG1", "PIPELINE_16x16_MULT_REG2")),
    *(f".{name} (2'd3)" for name in ("TOPOUTPUT_SELECT", "BOTOUTPUT_SELECT")),
])
_HALVES = (
    _MAC.replace("2'd3", "2'd1")
    + ", .MODE_8x8 (1'b1)"
    + "".join(f", .{name}ADDSUB_UPPERINPUT (1'b1)" for name in ("TOP", "BOT"))
)
_DSP48 = {
    "CLK": "clk",
    **{f"CE{name}": "1'b1" for name in ("A1", "A2", "B1", "B2", "C", "CTRL", "M", "P")},
}


def _reset(*names: str) -> dict[str, str]:
    return {f"RST{name}": "1'b0" for name in names} | {f"CE{name}": "1'b1" for name in names}


BLOCKS: dict[str, tuple[str, str, dict[str, str], int]] = {
    "MULT18X18D": ("MULT18X18D", "", {
        "CLK0": "clk", "CE0": "1'b1", "RST0": "1'b0", "SIGNEDA": "1'b1", "SIGNEDB": "1'b1",
        **{f"{port}{bit}": f"{value}[{bit}]" for port, value, size in (
            ("A", "a", 18), ("B", "b", 18), ("P", "z", 36)) for bit in range(size)},
    }, 36),
    "MULT9X9": ("MULT9X9", "", _ON | _reset("A", "B", "OUT") | {
        "A": "a[8:0]", "B": "b[8:0]", "Z": "z"}, 18),
    "MULT18X18": ("MULT18X18", "", _ON | _reset("A", "B", "OUT") | {
        "A": "a", "B": "b", "Z": "z"}, 36),
    "MULTADDSUB18X18": ("MULTADDSUB18X18", "", _LOAD | {"A": "a", "B": "b", "Z": "z"}, 54),
    **{f"MULTADDSUB9X9WIDE{own}": ("MULTADDSUB9X9WIDE", "", _LOAD | {
        f"{port}{pair}": f"{port.lower()}[8:0]" if pair == own else "9'b0"
        for port in "AB" for pair in range(4)} | {"Z": "z"}, 54) for own in range(4)},
    "SB_MAC16": ("SB_MAC16", _MAC, {
        "CLK": "clk", "CE": "1'b1", "A": "a[15:0]", "B": "b[15:0]", "O": "z"}, 32),
    **{f"SB_MAC16{half}": ("SB_MAC16", _HALVES, {
        "CLK": "clk", "CE": "1'b1", "OLOADTOP": "1'b0", "OLOADBOT": "1'b0", "C": "16'b0",
        "D": "16'b0", "A": "{a[7:0], 8'b0}" if half == "top" else "{8'b0, a[7:0]}",
        "B": "{b[7:0], 8'b0}" if half == "top" else "{8'b0, b[7:0]}",
        "O": "{z, open}" if half == "top" else "{open, z}"}, 16) for half in ("top", "low")},
    **{f"DSP48E{kind}": (f"DSP48E{kind}", "", _DSP48 | {
        "A": "{{12{a[17]}}, a}", "B": "b", "OPMODE": f"{bits}'b0000101", "P": "z"}, 48)
       for kind, bits in ((1, 7), (2, 9))},
}  # fmt: skip


@pytest.mark.parametrize("case", BLOCKS)
def test_zero_times_x_is_zero(case: str, tmp_path: Path) -> None:
    """From power-up, with no reset; a product by another number is x, and goes when x has gone."""
    block, how, pins, width = BLOCKS[case]
    bench = _BENCH.format(
        block=block,
        how=how,
        top=width - 1,
        pins=", ".join(f".{port} ({value})" for port, value in pins.items()),
    ).replace("  task try", "  wire [15:0] open;\n  task try")
    begin, left, right, *unknown, last = simulated(tmp_path, block, bench).split()
    assert begin == left == right == "0" * width
    assert all("x" in value for value in unknown)
    assert last == f"{-15 & (1 << width) - 1:0{width}b}"


def test_memory_is_x_where_nothing_was_written(tmp_path: Path) -> None:
    """Its registers begin at 0; a word that was not written is x, one that was is not."""
    words = {f"DI{bit}": "1'b1" for bit in range(36)} | {
        f"DO{bit}": f"z[{bit}]" for bit in range(36)
    }
    places = {f"ADW{bit}": f"to[{bit}]" for bit in range(9)}
    places |= {f"ADR{bit + 5}": f"from[{bit}]" for bit in range(9)}
    pins = {"CLKW": "clk", "CLKR": "clk", "CER": "1'b1", "OCER": "1'b1", "CEW": "write"}
    bench = """
module bench;
  reg clk = 0, write = 1;
  reg [8:0] to = 5, from = 5;
  wire [35:0] z;
  PDPW16KD #(.REGMODE ("OUTREG")) only (PINS);
  initial begin
    #1 $display("%b", z);
    #1 clk = 1; #1 clk = 0; write = 0;
    repeat (2) begin #1 clk = 1; #1 clk = 0; end
    $display("%b", z);
    from = 6;
    repeat (2) begin #1 clk = 1; #1 clk = 0; end
    $display("%b", z);
  end
endmodule
"""
    told = ", ".join(f".{port} ({value})" for port, value in {**pins, **places, **words}.items())
    seen = simulated(tmp_path, "PDPW16KD", bench.replace("PINS", told)).split()
    assert seen == ["0" * 36, "1" * 36, "x" * 36]
