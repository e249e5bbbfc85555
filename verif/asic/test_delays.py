"""Delays of a netlist: those of the library, those of OpenSTA's own report."""

from pathlib import Path

import numpy as np
import pytest

from carrysave.asic import sta, synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.asic.power.delays import timing
from carrysave.asic.power.flat_netlist import Flat, flatten
from hw.catalog import Design
from verif.support.gated import gated_osu018

# What stands in a library: delays that depend on nothing.
CELLS = """
cell (INVT) { area : 1;
  pin (A) { direction : input; capacitance : 0.01; }
  pin (Y) { direction : output; function : "!A";
    timing() { related_pin : "A"; timing_sense : negative_unate;
      cell_rise(scalar) { values("0.3"); } cell_fall(scalar) { values("0.5"); } SLEWS } } }
cell (DFFT) { area : 1;
  ff (IQ, IQN) { clocked_on : "CLK"; next_state : "D"; }
  pin (CLK) { direction : input; capacitance : 0.01; clock : true; }
  pin (D) { direction : input; capacitance : 0.01; }
  pin (Q) { direction : output; function : "IQ";
    timing() { related_pin : "CLK"; timing_type : rising_edge; timing_sense : non_unate;
      cell_rise(scalar) { values("0.7"); } cell_fall(scalar) { values("0.9"); } SLEWS } }
  pin (QN) { direction : output; function : "IQN";
    timing() { related_pin : "CLK"; timing_type : rising_edge; timing_sense : non_unate;
      cell_rise(scalar) { values("1.1"); } cell_fall(scalar) { values("1.3"); } SLEWS } } }
""".replace(
    "SLEWS",
    " ".join(f'{edge}_transition(scalar) {{ values("0.2"); }}' for edge in ("rise", "fall")),
)
WIRES = """
wire_load("w") { capacitance : 0.01; resistance : 0.5; area : 0; slope : 1; fanout_length(1, 1); }
default_wire_load : "w";
"""


def library_of(tmp_path: Path, wires: str = "") -> Library:
    """Return osu018 with the cells above, and with wires if there shall be some."""
    text = cells.osu018().text.rstrip().removesuffix("}") + CELLS + "}\n"
    path = tmp_path / "timed.lib"
    path.write_text(text.replace("cell (AND2X1)", f"{wires}\ncell (AND2X1)", 1))
    return Library.load(path)


def flat_of(tmp_path: Path, text: str, library: Library | None = None) -> Flat:
    netlist = tmp_path / "top.v"
    netlist.write_text(text)
    return flatten(netlist, "top", library or cells.osu018())


def test_delays_are_those_of_the_library(tmp_path: Path) -> None:
    library = library_of(tmp_path)
    flat = flat_of(
        tmp_path,
        """
module top(clk, q); input clk; output q; wire r, n;
  INVT back(.A(r), .Y(n));
  DFFT one(.CLK(clk), .D(n), .Q(r), .QN(q));
endmodule
""",
        library,
    )
    found = timing(flat, tmp_path / "top.v", library, sta.Conditions(), 10.0).delays
    none = np.nan
    np.testing.assert_allclose(found["top", "INVT", "Y"], [[[[none, 0.3], [0.5, none]]]], rtol=1e-6)
    falls, rises = [none, none], [0.9, 0.7]
    np.testing.assert_allclose(found["top", "DFFT", "Q"][0, 0], [falls, rises], rtol=1e-6)
    np.testing.assert_allclose(found["top", "DFFT", "QN"][0, 0], [falls, [1.3, 1.1]], rtol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "clock gates", "wires"])
def test_delays_are_those_of_the_critical_path(tmp_path: Path, kind: str) -> None:
    """Every step of the path that OpenSTA reports is one of the arcs of its cell."""
    library = {
        "plain": cells.osu018,
        "clock gates": lambda: gated_osu018(tmp_path),
        "wires": lambda: library_of(tmp_path, WIRES),
    }[kind]()
    design = Design("opt1", {"a_width": 4, "b_width": 4, "accumulator_width": 12})
    result = synthesis.synthesise_design(design, library, activity="assumed")
    flat = flatten(Path(result["netlist"]), design.module, library)
    found = timing(flat, Path(result["netlist"]), library, sta.Conditions(), result["period_ns"])
    where = {
        (name, pin.name): found.delays[design.module, group.cell.name, pin.name][cell]
        for group in flat.modules[design.module].groups
        for pin in group.cell.outputs
        for cell, name in enumerate(group.names)
    }
    compared = 0
    for step in result["critical_path"]:
        cell, _, pin = step["point"].partition("/")
        if (cell, pin) in where:
            arcs = where[cell, pin]
            assert np.nanmin(np.abs(arcs - step["delay_ns"])) < 2e-5, step
            compared += 1
    assert compared > 5


def test_delays_of_modules_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netlist that is too large as a whole has the same delays where they depend on nothing."""
    library = library_of(tmp_path)
    flat = flat_of(
        tmp_path,
        """
module half(clk, i, o); input clk, i; output o; wire r;
  INVT back(.A(r), .Y(o));
  DFFT one(.CLK(clk), .D(i), .Q(r));
endmodule
module top(clk, q); input clk; output q; wire n;
  half first(.clk(clk), .i(q), .o(n));
  half second(.clk(clk), .i(n), .o(q));
endmodule
""",
        library,
    )
    whole = timing(flat, tmp_path / "top.v", library, sta.Conditions(), 10.0).delays
    monkeypatch.setattr("carrysave.asic.power.delays.DELAYS_WHOLE", 0)
    parts = timing(flat, tmp_path / "top.v", library, sta.Conditions(), 10.0).delays
    assert (
        set(whole)
        == set(parts)
        == {("half", "INVT", "Y"), ("half", "DFFT", "Q"), ("half", "DFFT", "QN")}
    )
    for key, delays in whole.items():
        np.testing.assert_allclose(parts[key], delays, rtol=1e-6)
    assert np.nanmax(parts["half", "INVT", "Y"]) == pytest.approx(0.5)
