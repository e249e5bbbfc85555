"""Synthesis on osu018 and on a small library with a clock gate; netlists checked against RTL."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from carrysave import jobs
from carrysave.asic import abc_scripts, elaborate, hierarchy, mapping, search, sta, synthesis
from carrysave.asic.liberty import cells as liberty
from carrysave.asic.liberty.cells import Library
from carrysave.asic.options import Verilog
from carrysave.jobs.child import MARK
from hw.emit import yosys
from verif.support.gated import gated_osu018

MAC = """
module mac #(parameter W = 4) (input clk, input en, input clear,
    input signed [W-1:0] a, input signed [W-1:0] b, output reg signed [2*W+3:0] sum);
  always @(posedge clk) if (en) sum <= (clear ? 0 : sum) + a * b;
endmodule
"""

PAIR = """
module cell4 #(parameter K = 1) (input clk, input en, input clear, input [3:0] a,
    output reg [3:0] q, output reg [31:0] sum);
  always @(posedge clk) if (en) begin
    q <= a;
    sum <= (clear ? 0 : sum) + a * q * K;
  end
endmodule
module pair(input clk, input en, input clear, input [3:0] a, output [3:0] q, output [95:0] sum);
  wire [3:0] s, t;
  cell4 #(.K(5)) x0(clk, en, clear, a, s, sum[31:0]);
  cell4 #(.K(5)) x1(clk, en, clear, s, t, sum[63:32]);
  cell4 #(.K(5)) x2(.clk(clk), .en(en), .clear(clear), .a(t), .q(q), .sum(sum[95:64]));
endmodule
"""

BENCH = """
module bench;
  reg clk = 0, en = 0, clear = 1;
  reg [{a}:0] a = 0, b = 0;
  wire [{y}:0] want, have;
  integer i, wrong = 0, seen = 0;
  {top}_rtl rtl({rtl});
  {top} netlist({netlist});
  initial begin
    for (i = 0; i < 500; i = i + 1) begin
      en = i < 20 || $random; clear = i < 20 || ($random & 7) == 0; a = $random; b = $random;
      #5 clk = 1; #5 clk = 0;
      if (i >= 20) begin
        seen = seen + 1;
        if (have !== want) wrong = wrong + 1;
      end
    end
    $display("seen %0d wrong %0d", seen, wrong);
  end
endmodule
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


def verilog(tmp_path: Path, text: str, name: str = "design.v") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def mismatches(
    tmp_path: Path, top: str, rtl: str, netlist: str, library: Library, ports: dict[str, str]
) -> tuple[int, int]:
    """Simulate RTL and netlist side by side; return (cycles compared, mismatches)."""
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    connect = ", ".join(f".{port}({signal})" for port, signal in ports.items())
    width = {"mac": (3, 11), "pair": (3, 99)}[top]
    renamed = re.sub(r"\bmodule (\w+)", r"module \1_rtl", rtl)
    renamed = re.sub(r"(?m)^  cell4 ", "  cell4_rtl ", renamed)
    files = {
        "rtl.v": renamed,
        "netlist.v": netlist,
        "cells.v": liberty.cell_models(library),
        "bench.v": BENCH.format(
            a=width[0],
            y=width[1],
            top=top,
            rtl=connect.replace("@", "want"),
            netlist=connect.replace("@", "have"),
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["iverilog", "-o", "run", *files], cwd=tmp_path, check=True)
    log = subprocess.run(
        ["vvp", "run"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    found = re.search(r"seen (\d+) wrong (\d+)", log)
    assert found is not None
    return int(found[1]), int(found[2])


MAC_PORTS = {"clk": "clk", "en": "en", "clear": "clear", "a": "a", "b": "b", "sum": "@"}
PAIR_PORTS = {
    "clk": "clk",
    "en": "en",
    "clear": "clear",
    "a": "a",
    "q": "@[99:96]",
    "sum": "@[95:0]",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("front", list(mapping.FRONTS))
@pytest.mark.parametrize("gated", [False, True], ids=["enables", "clock-gate"])
def test_netlist_equals_rtl(tmp_path, front, gated):
    library = gated_osu018(tmp_path) if gated else liberty.osu018()
    design = elaborate.elaborate([verilog(tmp_path, MAC)], "mac")
    flow = mapping.Flow(design, (), library, sta.Conditions())
    found = mapping.point(flow, mapping.Recipe(front, "dch2"), 0.001)
    netlist = Path(found["netlist"]).read_text()
    assert ("CKGATE" in netlist) == gated
    assert mismatches(tmp_path, "mac", MAC, netlist, library, MAC_PORTS) == (480, 0)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(abc_scripts.MAPS))
def test_every_mapping_equals_rtl(tmp_path, name):
    design = elaborate.elaborate([verilog(tmp_path, MAC)], "mac")
    flow = mapping.Flow(design, (), liberty.osu018(), sta.Conditions())
    found = mapping.point(flow, mapping.Recipe("tree", name), 1.5)
    netlist = Path(found["netlist"]).read_text()
    assert mismatches(tmp_path, "mac", MAC, netlist, flow.library, MAC_PORTS) == (480, 0)


def test_wrong_netlist_is_seen(tmp_path):
    library = liberty.osu018()
    result = synthesis.synthesise(Verilog([verilog(tmp_path, MAC)], "mac"), library)
    netlist = Path(result["netlist"]).read_text()
    broken, count = re.subn(r"\bXOR2X1\b", "XNOR2X1", netlist, count=1)
    assert count == 1
    seen, wrong = mismatches(tmp_path, "mac", MAC, broken, library, MAC_PORTS)
    assert seen == 480
    assert wrong > 100


@pytest.mark.parametrize(
    ("late", "tried"),
    [
        (0.0, [("amap", 4.0)]),
        (0.3, [("amap", 4.0), ("amap", 0.92 * 4.0 - 0.3)]),
        (5.0, [("amap", 4.0), ("amap", 0.001), ("wide", 4.0)]),
    ],
)
def test_few_mappings_are_tried_until_one_meets_the_clock(monkeypatch, tmp_path, late, tried):
    """Points are made up: logic takes as long as its target, and, with "amap", some more."""
    design = elaborate.elaborate([verilog(tmp_path, MAC)], "mac")
    flow = mapping.Flow(design, (), liberty.osu018(), sta.Conditions())

    def made_up(wanted, *, ordered):
        assert ordered
        for job in wanted:
            target, slow = job.facts["delay_target_ns"], job.facts["recipe"] == "tree+amap"
            yield jobs.Outcome(
                job=job,
                key=job.key,
                value={
                    "critical_path": [],
                    "period_ns": max(target, 1.0) + late * slow,
                    "hierarchy": [{"instances": 1, "area_um2": 9.0 - target}],
                },
            )

    monkeypatch.setattr(jobs, "run", made_up)
    monkeypatch.setattr(search.Search, "fronts", lambda *_: ["tree"])
    variants = [search.Variant("flat", flow, None, {})]
    own = search.Search(
        variants, objective="area", overhead_ns=0.0, period_ns=4.0, maps=("amap", "wide")
    )
    best = own.single()
    found = [(point["recipe"], pytest.approx(point["delay_target_ns"])) for point in own.points]
    assert found == [("tree+dch2", 0.001), *((f"tree+{map_}", target) for map_, target in tried)]
    assert best["period_ns"] <= 4.0


def test_result_keys_and_sums(tmp_path):
    progress: list[str] = []
    result = synthesis.synthesise(
        Verilog([verilog(tmp_path, MAC)], "mac", operations=2), "osu018", progress=progress.append
    )
    assert {
        "design", "target", "area_um2", "cells", "period_ns", "fmax_mhz", "power_mw", "activity",
        "gops", "gops_per_mm2", "gops_per_w", "versions", "luts", "ffs", "dsps", "brams",
    } <= set(result)  # fmt: skip
    assert result["gops"] == pytest.approx(2 / result["period_ns"])
    assert result["gops_per_mm2"] == pytest.approx(result["gops"] / result["area_um2"] * 1e6)
    assert result["area_sequential_um2"] == 12 * 96  # 12 flip-flops DFFPOSX1
    assert result["area_um2"] == pytest.approx(
        result["area_sequential_um2"] + result["area_combinational_um2"]
    )
    assert result["kge"] == pytest.approx(result["area_um2"] / 24e3)
    netlist = Path(result["netlist"]).read_text()
    cells = re.findall(r"(?m)^  ([A-Z]+\w*X\d|LATCH) ", netlist)
    assert len(cells) == result["cells"]
    assert sum(liberty.osu018().cells[cell].area for cell in cells) == result["area_um2"]
    assert 0.01 < result["power_mw"] < 100
    assert result["critical_path"][-1]["arrival_ns"] < result["period_ns"]
    assert len(progress) == len(result["sweep"]) >= 1


def test_repeated_call_runs_nothing(tmp_path, monkeypatch):
    source = verilog(tmp_path, MAC)
    first = synthesis.synthesise(Verilog([source], "mac"), "osu018")
    monkeypatch.setattr(yosys, "run", lambda *_, **__: pytest.fail("ran again"))
    assert synthesis.synthesise(Verilog([source], "mac"), "osu018") == first


@pytest.mark.prove
def test_sweep_is_no_worse_than_one_point(tmp_path):
    source = verilog(tmp_path, MAC)
    one = synthesis.synthesise(Verilog([source], "mac", operations=2), "osu018")
    best = synthesis.synthesise(Verilog([source], "mac", operations=2), "osu018", sweep=True)
    assert best["gops_per_mm2"] >= one["gops_per_mm2"]
    assert best["gops_per_mm2"] == pytest.approx(max(p["gops_per_mm2"] for p in best["sweep"]))
    slow = synthesis.synthesise(Verilog([source], "mac"), "osu018", period_ns=2 * one["period_ns"])
    assert slow["period_ns"] <= 2 * one["period_ns"]
    assert slow["area_um2"] <= one["area_um2"]


@pytest.mark.prove
def test_hierarchy_multiplies_and_simulates(tmp_path, monkeypatch):
    monkeypatch.setitem(elaborate.HIERARCHIES, "auto", 200)
    source = verilog(tmp_path, PAIR)
    library = liberty.osu018()
    result = synthesis.synthesise(Verilog([source], "pair"), library)
    rows = {row["module"]: row for row in result["hierarchy"]}
    assert rows["cell4_K_5"]["instances"] == 3
    assert rows["cell4_K_5"]["area_sequential_um2"] == 36 * 96
    assert result["area_um2"] == pytest.approx(
        3 * rows["cell4_K_5"]["area_um2"] + rows["pair"]["area_um2"]
    )
    netlist = Path(result["netlist"]).read_text()
    assert netlist.count("endmodule") == 2
    assert mismatches(tmp_path, "pair", PAIR, netlist, library, PAIR_PORTS) == (480, 0)
    for few in ("coarse", "flat"):
        flat = synthesis.synthesise(Verilog([source], "pair"), library, hierarchy=few)
        assert [row["module"] for row in flat["hierarchy"]] == ["pair"]


def fan_out(count: int) -> str:
    """Write a module of so many cells, whose operands are registered once for all of them."""
    cells = "\n".join(
        f"  cell4 x{i}(.clk(clk), .en(en), .clear(clear), .a(a), .sum(sum[{32 * i} +: 32]));"
        for i in range(count)
    )
    ports = f"input clk, input en, input clear, input [3:0] a, output [{32 * count - 1}:0] sum"
    return PAIR.split("module pair")[0] + f"module wide({ports});\n{cells}\nendmodule\n"


REGISTERED = (
    fan_out(8)
    .replace("input [3:0] a, output [255", "input [3:0] d, output [255")
    .replace(");\n  cell4 x0", ");\n  reg [3:0] a; always @(posedge clk) a <= d;\n  cell4 x0")
)


@pytest.mark.prove
@pytest.mark.parametrize(("top", "text"), [("pair", PAIR), ("wide", REGISTERED)])
def test_timing_module_by_module_agrees(top, text, tmp_path, monkeypatch):
    monkeypatch.setitem(elaborate.HIERARCHIES, "auto", 200)
    source = verilog(tmp_path, text)
    whole = synthesis.synthesise(Verilog([source], top), "osu018")
    monkeypatch.setattr(hierarchy, "TIMED_WHOLE", 10)
    monkeypatch.setenv(MARK, "here")  # as within a job: no process that knows another number
    parts = synthesis.synthesise(Verilog([source], top), "osu018")
    assert parts["recipe"] == whole["recipe"]
    print(parts["period_ns"], whole["period_ns"])
    assert parts["period_ns"] == pytest.approx(whole["period_ns"], rel=0.05)
    assert "module by module" in parts["notes"][-1]


@pytest.mark.prove
def test_wide_fan_out_across_modules_is_buffered(tmp_path):
    count = 20
    result = synthesis.synthesise(Verilog([verilog(tmp_path, fan_out(count))], "wide"), "osu018")
    netlist = Path(result["netlist"]).read_text()
    cell, wide = (
        netlist[netlist.index(f"module {name}(") :].partition("endmodule")[0]
        for name in ("cell4", "wide")
    )
    for port in ("en", "clear", r"a\[2\]"):
        pins = len(re.findall(rf"\.\w+\({port}\)", cell))
        name = port.partition("\\")[0]
        nets = re.findall(rf"cell4 \w+ \([^;]*?\.{name}\((?:{{ )?([^,}})]+)", wide)
        assert pins > 0
        assert len(nets) == count
        most = max(1, hierarchy.FANOUT // pins)
        assert max(Counter(nets).values()) <= most, (port, pins)


def look_up(cell: str, arc: str, table: str, first: float, second: float) -> float:
    """Interpolate in a table of osu018, read without the parser under test."""
    text = liberty.osu018().text
    text = text[text.index(f"cell ({cell})") :]
    text = text[text.index(arc) :]
    text = text[text.index(f"{table}(") :]
    rows = re.findall(r'"([-\d., ]+)"', text[: text.index("}")])
    xs, ys, *values = [[float(number) for number in row.split(",")] for row in rows]
    i = max([k for k, x in enumerate(xs[:-1]) if x <= first], default=0)
    j = max([k for k, y in enumerate(ys[:-1]) if y <= second], default=0)
    u = (first - xs[i]) / (xs[i + 1] - xs[i])
    v = (second - ys[j]) / (ys[j + 1] - ys[j])
    low = values[i][j] * (1 - v) + values[i][j + 1] * v
    high = values[i + 1][j] * (1 - v) + values[i + 1][j + 1] * v
    return low * (1 - u) + high * u


def test_period_of_a_loop_by_hand(tmp_path):
    netlist = verilog(
        tmp_path,
        "module loop(input clk, output q);\n  wire n;\n  DFFPOSX1 f(.CLK(clk), .D(n), .Q(q));\n"
        "  INVX1 v(.A(q), .Y(n));\nendmodule\n",
    )
    library = liberty.osu018()
    found = sta.analyse(
        netlist.read_text(), top="loop", library=library, conditions=sta.Conditions()
    )
    on_q, on_n = library.load_ff / 1e3 + 0.00932456, 0.00882947  # pF
    periods = []
    for edge, inverted in (("rise", "fall"), ("fall", "rise")):
        launch = look_up("DFFPOSX1", "timing_sense : non_unate", f"cell_{edge}", on_q, 0)
        slew = look_up("DFFPOSX1", "timing_sense : non_unate", f"{edge}_transition", on_q, 0)
        gate = look_up("INVX1", 'related_pin : "A"', f"cell_{inverted}", on_n, slew)
        slew = look_up("INVX1", 'related_pin : "A"', f"{inverted}_transition", on_n, slew)
        setup = look_up("DFFPOSX1", "setup_rising", f"{inverted}_constraint", 0, slew)
        periods.append(launch + gate + setup)
    assert found["period_ns"] == pytest.approx(max(periods), rel=1e-3)
    assert [step["cell"] for step in found["critical_path"]] == [
        "DFFPOSX1",
        "DFFPOSX1",
        "INVX1",
        "DFFPOSX1",
    ]


def test_path_into_a_clock_gate_counts(tmp_path):
    gated = gated_osu018(tmp_path)
    buffers = "".join(f"  BUFX2 b{i}(.A(w{i}), .Y(w{i + 1}));\n" for i in range(40))
    wires = "".join(f"  wire w{i};\n" for i in range(41))
    netlist = verilog(
        tmp_path,
        f"module slow(input clk, input en, input d, output q);\n{wires}  wire g;\n"
        f"  assign w0 = en;\n{buffers}  CKGATE i(.CLK(clk), .E(w40), .GCLK(g));\n"
        "  DFFPOSX1 f(.CLK(g), .D(d), .Q(q));\nendmodule\n",
    )
    found = sta.analyse(netlist.read_text(), top="slow", library=gated, conditions=sta.Conditions())
    assert [step["cell"] for step in found["critical_path"]].count("BUFX2") == 40
    arrival = found["critical_path"][-1]["arrival_ns"]
    assert found["period_ns"] == pytest.approx(arrival + 0.1, abs=1e-3)  # its setup


def test_clock_gate_saves_area_and_keeps_sums(tmp_path):
    source = verilog(tmp_path, MAC)
    plain = synthesis.synthesise(Verilog([source], "mac"), "osu018")
    gated = synthesis.synthesise(Verilog([source], "mac"), gated_osu018(tmp_path))
    assert gated["area_sequential_um2"] == plain["area_sequential_um2"] + 80
    assert gated["area_combinational_um2"] < plain["area_combinational_um2"]


def test_combinational_design_needs_no_clock(tmp_path):
    text = "module add(input [7:0] a, input [7:0] b, output [8:0] y); assign y = a + b; endmodule\n"
    result = synthesis.synthesise(Verilog([verilog(tmp_path, text)], "add"), "osu018")
    assert result["area_sequential_um2"] == 0
    assert 0.3 < result["period_ns"] < 5


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"top": "nothing"}, "Module `nothing' not found"),
        ({"clock": "ck"}, "clock must be an input of mac \\(.*clk.*\\), not 'ck'"),
        (
            {"objective": "speed"},
            "one of density, period, area, energy, not 'speed'",
        ),
        ({"hierarchy": "deep"}, "hierarchy must be one of auto, coarse, flat, not 'deep'"),
        ({"period_ns": 0.0}, "period_ns must be greater than 0 ns, and finite, not 0"),
        (
            {"target": "tsmc"},
            "target must be one of osu018, generic, ecp5, ice40, .*, not 'tsmc'",
        ),
        ({"top": "a b; !true"}, "'.*a b; !true' which is not allowed"),
    ],
)
def test_synth_errors_name_the_value(tmp_path, arguments, text):
    given = {"target": "osu018"} | arguments
    top, clock = given.pop("top", "mac"), given.pop("clock", "clk")
    with pytest.raises((ValueError, yosys.YosysError), match=text):
        synthesis.synthesise(Verilog([verilog(tmp_path, MAC)], top, clock), **given)


def test_missing_source_and_syntax_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="source file not found"):
        synthesis.synthesise(Verilog([tmp_path / "none.v"], "mac"), "osu018")
    with pytest.raises(yosys.YosysError, match="ERROR: syntax error"):
        synthesis.synthesise(Verilog([verilog(tmp_path, "module mac(;")], "mac"), "osu018")


def test_missing_opensta_names_the_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    sta.version.cache_clear()
    with pytest.raises(sta.StaError, match="sudo apt-get install opensta"):
        sta.version()


def test_yosys_crash_is_an_error(tmp_path):
    with pytest.raises(yosys.YosysError, match="No such command"):
        yosys.run("no_such_command\n", cwd=tmp_path)


@pytest.mark.prove
def test_fpga_resources(tmp_path):
    result = synthesis.synthesise(Verilog([verilog(tmp_path, MAC)], "mac"), "xilinx7")
    assert result["dsps"] == 0 or result["ffs"] <= 12
    assert result["luts"] + result["dsps"] > 0
    assert result["fmax_mhz"] is None
    assert result["area_um2"] is None


@pytest.mark.prove
def test_fpga_place_and_route(tmp_path):
    result = synthesis.synthesise(Verilog([verilog(tmp_path, MAC)], "mac", operations=2), "ice40")
    assert result["ffs"] == 12
    assert 20 < result["luts"] < 300
    assert 20 < result["fmax_mhz"] < 500
    assert result["gops"] == pytest.approx(2 * result["fmax_mhz"] / 1e3)
    assert result["critical_path"][-1]["arrival_ns"] == pytest.approx(result["period_ns"], rel=0.01)


def test_clock_gates_are_copied_before_they_are_overloaded(tmp_path):
    """A gate carries 1 pF: with 1.2 pF of registers behind one enable there must be two."""
    library = gated_osu018(tmp_path)
    pin = next(pin for pin in library.cells["DFFPOSX1"].pins if pin.name == "CLK")
    most = int(1000 / pin.capacitance)
    width = 12 * most // 10
    text = f"""
    module wide(input clk, input en, input [{width - 1}:0] d, output reg [{width - 1}:0] q);
      always @(posedge clk) if (en) q <= d;
    endmodule
    """
    result = synthesis.synthesise(Verilog([verilog(tmp_path, text)], "wide"), library)
    netlist = Path(result["netlist"]).read_text()
    clocks = re.findall(r"DFFPOSX1 \S+ \(\s*\.CLK\((\S+?)\)", netlist)
    assert len(clocks) == width
    loads = {net: clocks.count(net) for net in clocks}
    assert len(loads) == 2
    assert max(loads.values()) == most
    assert netlist.count("CKGATE ") == 2
