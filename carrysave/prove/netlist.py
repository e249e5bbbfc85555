"""The circuit of a mapped netlist: functions of its cells, and clock gates as enables."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from carrysave.prove.circuit import GATES, flat
from carrysave.prove.core import NotUnderstoodError
from carrysave.prove.wide import WideDesign
from hw.device import family
from hw.emit import tools, yosys
from hw.emit.verilog import Emission

__all__ = ["FAMILIES", "Cells", "mapped_for", "netlist_circuit"]


@dataclass(frozen=True)
class Cells:
    """What the cells of netlists compute.

    Members
    -------
    models : Verilog of them.
    gates : pins of integrated clock gates, by the names of the cells. Registers behind one get its
        enable: the same, as that one comes from registers of this clock.
    read : commands of Yosys that read models.
    """

    models: str = ""
    gates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    read: str = ""


FAMILIES = {"ecp5": Cells(read="read_verilog -DNO_INCLUDES +/ecp5/cells_sim.v\n")}
"""FPGAs of which Yosys has models of tables, carries and registers."""


def mapped_for(design: WideDesign, target: str) -> str:
    """Return the netlist of a design for an FPGA, mapped as for placement, as Verilog."""
    flow = family(target).flow
    mapping = flow.mapping(flow.bare, f"-top {yosys.word(design.module)}")
    with tools.workplace() as folder:
        (folder / "design.v").write_text(Emission(design).verilog)
        yosys.run(
            ["read_verilog design.v", *mapping, "write_verilog -noattr netlist.v"], cwd=folder
        )
        return (folder / "netlist.v").read_text()


def netlist_circuit(module: str, netlist: str, cells: Cells) -> str:
    """Return the gates and registers of a netlist, as :func:`.circuit.circuit_of` does.

    Raises
    ------
    NotUnderstoodError
        Registers are behind clock gates of another kind.
    hw.emit.yosys.YosysError
        Yosys does not read it.
    """
    text = cells.models
    for cell in cells.gates:
        text = re.sub(rf"\bmodule {re.escape(cell)}\(.*?\bendmodule\n", "", text, flags=re.DOTALL)
    empty = "".join(_empty(cell, pins) for cell, pins in cells.gates.items())
    with tools.workplace() as folder:
        (folder / "design.v").write_text(f"{netlist}\n{text}\n{empty}")
        # Registers with an enable of their own would not get another one.
        legal = "dfflegalize -cell $_DFF_P_ x\n" if cells.gates else ""
        yosys.run(f"{flat(module, cells.read)}{legal}write_json flat.json", cwd=folder)
        tree = json.loads((folder / "flat.json").read_text())
        _ungate(tree["modules"][module]["cells"], cells.gates)
        (folder / "flat.json").write_text(json.dumps(tree))
        yosys.run(f"read_json flat.json\nhierarchy -top {module}\n{GATES}", cwd=folder)
        return (folder / "design.aag").read_text()


def _empty(cell: str, pins: Mapping[str, str]) -> str:
    """Return a clock gate without its inside."""
    ports = ", ".join(
        f"{'output' if role == 'out' else 'input'} {pin}"
        for role, pin in pins.items()
        if role != "style"
    )
    return f"(* blackbox *)\nmodule {cell}({ports});\nendmodule\n"


def _ungate(cells: dict[str, Any], gates: Mapping[str, Mapping[str, str]]) -> None:
    """Give registers behind clock gates the clock, and an enable; remove the gates."""
    by_clock = {
        cell["connections"][gates[cell["type"]]["out"]][0]: cell
        for cell in cells.values()
        if cell["type"] in gates
    }
    for cell in cells.values():
        gate = by_clock.get((cell["connections"].get("C") or [None])[0])
        if gate is None:
            continue
        pins, wires = gates[gate["type"]], gate["connections"]
        known = cell["type"] == "$_DFF_P_" and "posedge" in pins["style"]
        if not known or wires[pins["clock"]][0] in by_clock:
            raise NotUnderstoodError(f"its netlist has {cell['type']} behind {gate['type']}")
        if "test" in pins and wires.get(pins["test"], ["0"]) != ["0"]:
            raise NotUnderstoodError(f"its netlist has a test enable at {gate['type']}")
        cell["type"] = "$_DFFE_PP_"
        cell["port_directions"]["E"] = "input"
        cell["connections"] |= {"C": wires[pins["clock"]], "E": wires[pins["enable"]]}
    for name in [name for name, cell in cells.items() if cell["type"] in gates]:
        del cells[name]
    # AIGER has one clock, and would hide others.
    clocks = {
        (cell["connections"]["C"][0], re.match(r"\$_[A-Z]*DFF[A-Z]*_P", cell["type"]) is None)
        for cell in cells.values()
        if "C" in cell["connections"] and "DFF" in cell["type"]
    }
    if len(clocks) > 1 or any(falling for _, falling in clocks):
        raise NotUnderstoodError("its netlist has registers of other clocks, or of falling edges")
