"""Products without a multiplier block: exact, as late as told, and in the device's cells."""

import subprocess
from itertools import product
from pathlib import Path

import pytest
from amaranth import ClockDomain, ClockSignal, Module, Signal, Value
from amaranth.back import rtlil  # type: ignore[attr-defined]

from hw.device import family, models_of
from hw.device.choice import groups_of_blocks
from hw.device.fabric import fabric_product, fabric_registers
from hw.emit import yosys
from verif.support.cases import cover, long
from verif.support.formal import holds

FAMILIES = ["ecp5", "gowin"]  # cells that are named, and what is left to the mapper
SIGNS = [*product([True, False], repeat=2)]


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("name", "x_signed", "y_signed", "x_width", "y_width"),
    cover(FAMILIES, SIGNS, [(2, 2), (3, 2), (2, 3), (4, 5), (5, 4)]),
)
@pytest.mark.parametrize("more", [0, *long([-3, -1, 2])])
def test_product_without_a_block_is_exact(
    name: str, x_signed: bool, y_signed: bool, x_width: int, y_width: int, more: int
) -> None:
    """With as many registers as levels of adders, fewer, or more; one at least."""
    registers = max(fabric_registers(y_width) + more, 1)

    def claim(m: Module, x: Value, y: Value) -> Value:
        x = x.as_signed() if x_signed else x
        y = y.as_signed() if y_signed else y
        found = fabric_product(m, family(name).times_digit, x, y, registers if more else None)
        assert len(found) <= x_width + y_width + y_width % 2
        expected: Value = x * y
        for _ in range(registers):
            late = Signal(expected.shape())
            m.d.sync += late.eq(expected)
            expected = late
        return found == expected

    assert holds(claim, x_width, y_width, cycles=registers)


_BENCH = """
module bench;
  reg clk = 0;
  reg [7:0] x, y;
  wire [15:0] p;
  reg [15:0] expected [0:LATE];
  integer step, at, wrong = 0, seen = 0;
  multiply only (.clk (clk), .x (x), .y (y), .p (p));
  initial begin
    for (step = 0; step < 65536 + LATE; step = step + 1) begin
      {x, y} = step;
      for (at = LATE; at > 0; at = at - 1) expected[at] = expected[at - 1];
      expected[0] = $signed(X) * $signed(Y);
      #1;
      if (step >= LATE) begin
        seen = seen + 1;
        if (p !== expected[LATE]) wrong = wrong + 1;
      end
      #1 clk = 1; #1 clk = 0;
    end
    $display("%0d of %0d wrong", wrong, seen);
  end
endmodule
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "x_signed", "y_signed", "registers"),
    cover(FAMILIES, SIGNS, [1, 2, 3, 5]),
)
def test_product_of_eight_bits_is_exact(
    name: str, x_signed: bool, y_signed: bool, registers: int, tmp_path: Path
) -> None:
    """All operands."""
    m = Module()
    m.domains.sync = ClockDomain("sync", reset_less=True)
    x, y, p = Signal(8, name="x"), Signal(8, name="y"), Signal(16, name="p")
    operands = x.as_signed() if x_signed else x, y.as_signed() if y_signed else y
    m.d.comb += p.eq(fabric_product(m, family(name).times_digit, *operands, registers))
    ports: dict[str, tuple[Value, None]] = {port.name: (port, None) for port in (x, y, p)}
    ports["clk"] = (ClockSignal(), None)
    text = rtlil.convert(m, name="multiply", ports=ports, emit_src=False)
    (tmp_path / "multiply.v").write_text(yosys.verilog_of_rtlil(text))
    bench = _BENCH.replace("LATE", str(registers))
    for port, is_signed in (("x", x_signed), ("y", y_signed)):
        bench = bench.replace(
            f"$signed({port.upper()})", f"$signed({{{int(is_signed)} & {port}[7], {port}}})"
        )
    bench = bench.replace("{1 &", "{1'b1 &").replace("{0 &", "{1'b0 &")
    (tmp_path / "bench.v").write_text(bench)
    files = ["bench.v", "multiply.v", *map(str, models_of(text))]
    subprocess.run(["iverilog", "-g2005", "-obench", "-sbench", *files], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["vvp", "-n", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert said == "0 of 65536 wrong\n"


def test_groups_get_blocks_as_long_as_there_are_any() -> None:
    assert [groups_of_blocks(dsps, 4, 3, "a column") for dsps in (0, 3, 5, 6, 12, 13, 65536)] == [
        0,
        1,
        1,
        2,
        4,
        4,
        4,
    ]
    for dsps in (1, 2):
        with pytest.raises(
            ValueError, match=f"dsps must be 0 or 3..65536, for 3 in a column, not {dsps}"
        ):
            groups_of_blocks(dsps, 4, 3, "a column")
