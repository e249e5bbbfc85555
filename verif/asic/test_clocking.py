"""Resets and clocks of anybody's Verilog: ideal, timed, refused; the worst of all paths."""

from pathlib import Path

import pytest

from carrysave.asic import clocking, elaborate, hierarchy, sta, synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.options import Verilog
from carrysave.jobs.child import MARK
from verif.support.command import Run

WIDTH = 200
RESETS = f"""
module taps(input clk, input rst_n, input rst, input [{WIDTH - 1}:0] d,
    output reg [{WIDTH - 1}:0] q);
  reg meta, released;
  always @(posedge clk or negedge rst_n)
    if (!rst_n) {{released, meta}} <= 0; else {{released, meta}} <= {{meta, 1'b1}};
  always @(posedge clk or negedge released)
    if (!released) q <= 0;
    else if (rst) q <= ~0;
    else q <= d ^ q;
endmodule
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


def found(tmp_path: Path, text: str, top: str, clock: str = "clk", **options):
    path = tmp_path / f"{top}.v"
    path.write_text(text)
    return synthesis.synthesise(Verilog([path], top, clock=clock), "osu018", **options)


def test_resets_are_ideal_unless_they_are_timed(tmp_path):
    """Two hundred pins behind one register: nanoseconds, though no logic is on the way."""
    ideal = found(tmp_path, RESETS, "taps")
    assert ideal["conditions"]["resets"] == (
        "ideal: rst_n, rst; asynchronous pins, set or reset by a register, rst_n"
    )
    assert not [step for step in ideal["critical_path"] if step["point"].startswith("rst")]
    assert ideal["critical_path"][-1]["point"].endswith("/D")
    timed = found(tmp_path, RESETS, "taps", time_reset=True)
    assert timed["conditions"]["resets"] == "timed"
    assert timed["cells"] > ideal["cells"]  # buffers
    assert ideal["period_ns"] < timed["period_ns"] < 3


LONG = 12
NETLIST = f"""module slow(input clk, input d, output q);
  wire [{LONG}:0] n;
  DFFPOSX1 s(.CLK(clk), .D(d), .Q(n[0]));
  INVERTERS
  DFFSR f(.CLK(clk), .D(DATA), .R(RESET), .S(1'b1), .Q(q));
endmodule
"""


@pytest.mark.parametrize(("late", "ideal"), [("D", True), ("D", False), ("R", True), ("R", False)])
def test_the_worst_path_of_all_groups_counts(late, ideal):
    """Asynchronous pins have a group of their own, the first one."""
    far = f"n[{LONG}]"
    cells_between = "".join(f"INVX1 i{i}(.A(n[{i}]), .Y(n[{i + 1}]));\n" for i in range(LONG))
    netlist = NETLIST.replace("INVERTERS", cells_between).replace(
        "DATA", far if late == "D" else "d"
    )
    netlist = netlist.replace("RESET", far if late == "R" else "n[0]")
    found = sta.analyse(
        netlist, top="slow", library=cells.osu018(), conditions=sta.Conditions(ideal_resets=ideal)
    )
    path = found["critical_path"]
    slow = late == "D" or not ideal
    assert (path[-1]["point"] == f"f/{late}") == slow
    assert [step["cell"] for step in path].count("INVX1") == (LONG if slow else 0)
    # Recovery may be less than nothing.
    assert found["period_ns"] == pytest.approx(path[-1]["arrival_ns"], abs=0.5)


TWO = """
module half(input ck, input [3:0] d, output reg [3:0] q);
  always @(posedge ck) q <= d + q;
endmodule
module two(input clk_a, input clk_b, input en, input [3:0] d, output [3:0] x, output [3:0] y);
  half a(.ck(clk_a), .d(d), .q(x));
  half b(.ck({b}), .d(x), .q(y));
endmodule
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("clock", "says"),
    [
        ("clk_b", "not 'clk_a': others have 'clk_b';"),
        ("clk_b & en", "not 'clk_a': others have 'clk_b' and 'en';"),
        ("x[0]", "not 'clk_a': others have a clock from a register;"),
        ("clk_a", ""),
        ("clk_a & en", ""),
    ],
)
def test_two_clocks_are_refused_by_name(tmp_path, clock, says):
    text = TWO.replace("{b}", clock)
    if not says:
        assert found(tmp_path, text, "two", clock="clk_a")["period_ns"] > 0
        return
    with pytest.raises(ValueError, match="clock must be that of all registers of two") as error:
        found(tmp_path, text, "two", clock="clk_a")
    assert says in str(error.value)


def test_two_clocks_end_the_command_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.v").write_text(TWO.replace("{b}", "clk_b"))
    outcome = run("synth", "--verilog", "two.v", "--top", "two", "--clock", "clk_b")
    assert outcome.code == 2
    line = outcome.err.splitlines()[-1]
    assert "not 'clk_b'" in line
    assert "'clk_a'" in line


@pytest.mark.parametrize("name", ["rst", "RST_N", "aresetn", "s_axi_aresetn", "wb_rst_i", "srst0"])
def test_names_of_resets(name):
    assert clocking.is_reset(name)


@pytest.mark.parametrize("name", ["burst", "first", "clear", "reset_count", "rst_value", "thirsty"])
def test_names_that_are_none(name):
    assert not clocking.is_reset(name)


def test_resets_of_modules_that_are_timed_by_themselves_are_ideal(tmp_path, monkeypatch):
    monkeypatch.setitem(elaborate.HIERARCHIES, "auto", 0)
    monkeypatch.setattr(elaborate, "KEEP_GATES", 10)
    text = """
module item(input clk, input r_n, input [7:0] d, output reg [7:0] q);
  always @(posedge clk or negedge r_n) if (!r_n) q <= 0; else q <= q + d;
endmodule
module many(input clk, input rst, input [7:0] d, output [79:0] q);
  wire [7:0] w [0:10]; assign w[0] = d;
  genvar i; generate for (i = 0; i < 10; i = i + 1) begin : g
    item x(.clk(clk), .r_n(~rst), .d(w[i]), .q(w[i + 1])); assign q[8*i +: 8] = w[i + 1];
  end endgenerate
endmodule
"""
    asked = []
    analyse = sta.analyse

    def seen(*given, **options):
        asked.append(options["conditions"].resets)
        return analyse(*given, **options)

    monkeypatch.setattr(sta, "analyse", seen)
    monkeypatch.setenv(MARK, "here")  # as within a job: no process that knows another analysis
    monkeypatch.setattr(hierarchy, "TIMED_WHOLE", 10)
    parts = found(tmp_path, text, "many")
    assert [row["module"] for row in parts["hierarchy"]] == ["many", "item"]
    assert asked[-2:] == [("r_n",), ("rst",)]
