"""Engines for targets as Yosys maps them, with Yosys's models of the cells."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pyosys
import pytest

from carrysave.sim.runner import Result, verify
from hw.catalog import Design
from hw.device import family, models_of
from hw.emit import yosys
from hw.emit.verilog import verilog_of
from verif.support.cases import case_name, long

# There is no open model of a block RAM of Xilinx's or of Nexus.
FAMILIES = {
    "ecp5": ("ecp5", ""),
    "ice40": ("ice40", family("ice40").flow.parts[-1].synth),
    "xilinx7": ("xilinx", "-nobram"),
    "ultrascale": ("xilinx", "-nobram"),
    "nexus": ("nexus", "-nobram"),
}
"""Folder of Yosys's models, and what the mapping needs besides the family's own."""

DEFINES = "`define SB_DFF_INIT initial Q = 0;\n" + "".join(
    f"`define ICE40_DEFAULT_ASSIGNMENT_{value}\n" for value in ("0", "1", "V(v)")
)
"""What models of iCE40 need: registers begin at 0, and ports have no values of their own."""


@cache
def models_of_yosys(folder: str) -> dict[str, str]:
    """Return its models of cells, by name, without timing; not those that are empty."""
    share = Path(str(pyosys.__file__)).parent / "share" / folder
    text = "".join(
        path.read_text() for path in (share / "cells_sim.v", *sorted(share.glob("*_sim.vh")))
    )
    text = re.sub(r'`include "(\w+\.vh)"', lambda found: (share / found[1]).read_text(), text)
    # Checks, also of registers before the first clock, are left out with it.
    text = re.sub(r"`ifdef YOSYS.*?`endif|^ *specify.*?endspecify", "", text, flags=re.M | re.S)
    text = re.sub(r"`ifndef YOSYS.*?`endif", "", text, flags=re.S)
    found = re.findall(r"(\(\* blackbox \*\)\s*)?^(module (\w+).*?^endmodule)", text, re.M | re.S)
    models = {name: f"{model}\n" for empty, model, name in found if not empty}
    # It takes no inverted OPMODE.
    plain = "OPMODEr <= OPMODE;"
    if "DSP48E1" in models:
        assert plain in models["DSP48E1"]
        models["DSP48E1"] = models["DSP48E1"].replace(
            plain, "OPMODEr <= OPMODE ^ IS_OPMODE_INVERTED;"
        )
    return models


def models_in(netlist: str, folder: str) -> str:
    """Return the models of a netlist's cells: Yosys's, or ours where it has none."""
    known, chosen = models_of_yosys(folder), dict[str, str]()
    ours = {path.stem: path.read_text() for path in models_of(netlist)}

    def add(text: str) -> None:
        for name in sorted(set(re.findall(r"^\s*([A-Z]\w+) (?:#|\w|\\)", text, re.M))):
            if name not in chosen:
                chosen[name] = known[name] if name in known else ours[name]
                add(chosen[name])

    add(netlist)
    return "".join(chosen.values())


def verify_mapped(name: str, parameters: dict[str, Any], folder: Path) -> Result:
    """Map an engine, and run its bench on the netlist."""
    target = parameters["target"]
    models, own = FAMILIES[target]
    flow = family(target).flow
    design = Design(name, parameters)
    (folder / "design.v").write_text(verilog_of(design))
    mapping = flow.mapping(flow.bare, own, f"-top {design.module}")
    yosys.run(["read_verilog design.v", *mapping, "write_verilog -noattr netlist.v"], cwd=folder)
    netlist, cells = folder / "netlist.v", folder / "cells.v"
    text = netlist.read_text()
    blocks = re.findall(rf"^\s*({'|'.join(flow.counts['dsps'])}) #", text, re.M)
    assert 0 < len(blocks) <= parameters.get("dsps", len(blocks))
    cells.write_text(DEFINES + models_in(text, models))
    return verify(design, netlist=[netlist, cells], directory=folder)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("systolic_os", {"m": 2, "n": 2, "k_max": 20, "target": "ecp5"}),
    ("systolic_os", {"m": 2, "n": 2, "k_max": 20, "target": "xilinx7"}),
    ("systolic_os", {"m": 2, "n": 2, "k_max": 20, "target": "ultrascale"}),
    ("systolic_os", {"m": 3, "n": 3, "k_max": 90, "target": "xilinx7", "packing": "pair"}),
    ("adder_tree", {"n": 2, "k": 3, "k_max": 30, "target": "xilinx7"}),
    ("cube", {"m": 2, "n": 2, "k": 2, "k_max": 20, "target": "ultrascale"}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 20, "b_width": 4, "target": "ecp5"}),
    ("cube", {"m": 2, "n": 2, "k": 4, "k_max": 40, "target": "ecp5", "packing": "winograd"}),
    ("systolic_ws", {"m": 3, "n": 3, "k": 2, "k_max": 60, "target": "xilinx7"}),
    ("systolic_ws", {"m": 1, "n": 2, "k": 3, "k_max": 60, "target": "xilinx7"}),
    ("systolic_os", {"m": 2, "n": 2, "k_max": 70000, "target": "ice40"}),
    ("matrix_2d", {"m": 2, "n": 1, "k_max": 90, "a_width": 12, "b_width": 14, "target": "ice40"}),
    ("systolic_os", {"m": 2, "n": 4, "k_max": 20, "target": "ecp5", "dsps": 2}),
    ("systolic_os", {"m": 2, "n": 4, "k_max": 20, "target": "ecp5", "dsps": 6}),
    ("systolic_os", {"m": 2, "n": 3, "k_max": 20, "target": "xilinx7", "dsps": 4}),
    ("systolic_os", {"m": 2, "n": 4, "k_max": 20, "target": "ice40", "dsps": 2}),
    ("systolic_ws", {"m": 3, "n": 3, "k": 2, "k_max": 60, "target": "ecp5", "dsps": 4}),
    ("systolic_os", {"m": 2, "n": 2, "k_max": 20, "target": "nexus"}),
    ("cube", {"m": 2, "n": 2, "k": 4, "k_max": 40, "target": "nexus", "dsps": 2}),
    ("matrix_2d", {"m": 2, "n": 2, "k_max": 40, "target": "nexus", "packing": "none"}),
    ("systolic_ws", {"m": 3, "n": 2, "k": 2, "k_max": 60, "target": "nexus"}),
]


@pytest.mark.prove
@pytest.mark.parametrize(
    ("name", "parameters"),
    long(CASES, *range(2, len(CASES))),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_netlist_matches_golden(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify_mapped(name, parameters, tmp_path)
    assert result.ok, result
