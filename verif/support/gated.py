"""A library with a clock gate, which osu018 lacks."""

from pathlib import Path

from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library

__all__ = ["gated_osu018"]


def gated_osu018(tmp_path: Path) -> Library:
    """osu018 with one more cell, a clock gate timed like a flip-flop's D pin."""
    table = 'rise_constraint(scalar) { values("0.1"); } fall_constraint(scalar) { values("0.1"); }'
    delay = " ".join(
        f'{kind}(scalar) {{ values("0.2"); }}'
        for kind in ("cell_rise", "cell_fall", "rise_transition", "fall_transition")
    )
    cell = f"""
cell (CKGATE) {{ area : 80; clock_gating_integrated_cell : "latch_posedge";
  statetable ("CLK E", "EN") {{ table : "L L : - : L, L H : - : H, H - : - : N"; }}
  pin (EN) {{ direction : internal; internal_node : "EN"; }}
  pin (CLK) {{ direction : input; capacitance : 0.01; clock : true;
    clock_gate_clock_pin : true; }}
  pin (E) {{ direction : input; capacitance : 0.01; clock_gate_enable_pin : true;
    timing() {{ related_pin : "CLK"; timing_type : setup_rising; {table} }} }}
  pin (GCLK) {{ direction : output; capacitance : 0; max_capacitance : 1;
    clock_gate_out_pin : true; state_function : "CLK*EN";
    timing() {{ related_pin : "CLK"; timing_sense : positive_unate; {delay} }} }}
}}
"""
    text = cells.osu018().text.rstrip()
    assert text.endswith("}")
    path = tmp_path / "gated.lib"
    path.write_text(
        text[:-1].replace("library(osu018_stdcells)", "library(osu018_gated)") + cell + "}\n"
    )
    return Library.load(path)
