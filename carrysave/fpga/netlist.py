"""Changes a mapped netlist before it is placed: what mappers leave undone."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hw.device.description import Flow, OutputRegister

__all__ = ["finish_netlist"]

_Module = Mapping[str, Any]
_Loads = Mapping[Any, list[tuple[str, str]]]

_OUTSIDE = "", ""
"""What a port of a module is to a net, in place of a cell and its port."""


class _Behind(NamedTuple):
    """A register behind an output: the output, the register's cell, its net and its enable."""

    port: str
    register: str
    q: Any
    enable: Any


def finish_netlist(flow: Flow, path: Path) -> int:
    """Change a netlist, in Yosys's JSON, as nextpnr wants it and as is better for its timing.

    Ports that it wants open and that are tied low are disconnected. Registers right behind block
    RAMs become the output registers that the blocks have: the same registers, in another place, so
    that all is as it was in each cycle.

    Returns
    -------
    How many flip-flops are in blocks now.
    """
    if not flow.open_ports and not flow.output_registers:
        return 0
    design = json.loads(path.read_text())
    moved = 0
    for module in design["modules"].values():
        _open(flow, module)
        moved += _use_output_registers(flow, module)
    path.write_text(json.dumps(design))
    return moved


def _open(flow: Flow, module: _Module) -> None:
    """Disconnect ports that are tied low."""
    cells = module["cells"].values()
    low = {"0", "x"} | {
        bit for cell in cells if cell["type"] == "VLO" for bit in cell["connections"]["Z"]
    }
    for cell in cells:
        port = flow.open_ports.get(cell["type"])
        if port and set(cell["connections"].get(port, ())) <= low:
            cell["connections"].pop(port, None)
            cell["port_directions"].pop(port, None)


def _use_output_registers(flow: Flow, module: _Module) -> int:
    """Move registers into the blocks in front of them; return how many."""
    cells = module["cells"]
    kinds = {register.cell for register in flow.output_registers}
    blocks = [cell for cell in cells.values() if cell["type"] in kinds]
    if not blocks:
        return 0
    loads = _loads(module)
    moved = 0
    for block in blocks:
        for register in flow.output_registers:
            behind = _behind(cells, loads, block, register)
            if not behind:
                continue
            block["parameters"] |= dict.fromkeys(register.modes, "OUTREG")
            for enable in register.enables:
                block["connections"][enable] = [behind[0].enable]
                block["port_directions"][enable] = "input"
            for one in behind:
                block["connections"][one.port] = [one.q]
                del cells[one.register]
            moved += len(behind)
    return moved


def _loads(module: _Module) -> _Loads:
    """Return the cells, and their ports, that each net goes to."""
    loads: dict[Any, list[tuple[str, str]]] = defaultdict(list)
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) != "output":
                for bit in bits:
                    loads[bit].append((name, port))
    for port in module.get("ports", {}).values():
        for bit in port["bits"]:
            loads[bit].append(_OUTSIDE)
    return loads


def _behind(
    cells: _Module, loads: _Loads, block: _Module, register: OutputRegister
) -> list[_Behind]:
    """Return what the block's registers can take over: all of a port, or none."""
    if block["type"] != register.cell or not _may(block, register):
        return []
    connections = block["connections"]
    behind = []
    for port in _outputs(block, register):
        for bit in connections[port]:
            if not loads.get(bit):
                continue
            name, pin = loads[bit][0]
            cell = cells.get(name)
            if len(loads[bit]) > 1 or cell is None or pin != "DI":
                return []
            enable = _enable(cell, connections[register.clock])
            if enable is None:
                return []
            behind.append(_Behind(port, name, cell["connections"]["Q"][0], enable))
    enables = {one.enable for one in behind}
    clocks = {tuple(connections.get(port, ())) for port in register.clocks}
    # One enable for all; where the block has two clocks, none that changes.
    return behind if len(enables) == 1 and (len(clocks) == 1 or enables == {"1"}) else []


def _may(block: _Module, register: OutputRegister) -> bool:
    """Return whether a block is one of those, and its registers are free and are not reset."""
    parameters, connections = block["parameters"], block["connections"]
    return (
        int(parameters.get(register.width, "0"), 2) in register.widths
        and all(parameters.get(mode, "NOREG").strip() == "NOREG" for mode in register.modes)
        and parameters.get(f"{register.clock}MUX", register.clock).strip() == register.clock
        and all(set(connections.get(reset, "0")) <= {"0", "x"} for reset in register.resets)
        and len(connections.get(register.clock, ())) == 1
    )


def _outputs(block: _Module, register: OutputRegister) -> Iterator[str]:
    """Yield a block's data outputs of a port."""
    for port, direction in block["port_directions"].items():
        name = port.rstrip("0123456789")
        if direction == "output" and name in register.outputs and block["connections"].get(port):
            yield port


def _enable(cell: _Module, clock: list[Any]) -> Any | None:
    """Return the enable of a flip-flop that a block's register can be; None if it cannot."""
    if cell["type"] != "TRELLIS_FF" or cell.get("attributes", {}).get("keep"):
        return None
    connections = cell["connections"]
    given = {name: str(value).strip() for name, value in cell["parameters"].items()}
    plain = {"CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET", "LSRMODE": "LSR"}
    if any(given.get(name, value) != value for name, value in plain.items()):
        return None
    if connections["CLK"] != clock or not set(connections.get("LSR", "0")) <= {"0", "x"}:
        return None
    enable = {"1": ["1"], "CE": connections.get("CE")}.get(given.get("CEMUX", "1"))
    return enable[0] if enable else None
