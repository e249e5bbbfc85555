"""What the netlist itself says: bits that are constant, and crossings between clocks."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from carrysave.sim.emission import verilog_of
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools, yosys
from hw.emit.flat_ports import fast_clock

__all__ = ["constants", "crossings"]

_READ = "read_verilog models.v\nread_verilog design.v\nhierarchy -top {top}\nproc\n"
_REGISTER = re.compile(r"^\$_?(?:s|a|al)?d(?:ff|latch)")


def constants(name: str, parameters: dict[str, Any]) -> dict[str, list[str]]:
    """Return the bits of each instance that the netlist ties to a constant: a job's function.

    Yosys's `opt` has looked through the design as a whole: a register that keeps its first value
    is one, too.

    Returns
    -------
    ``{"opt1": ["o_carry[0]"], "opt1.pe": [...]}``, of all instances, also of those without any.
    """
    design = Design(name, parameters)
    top = yosys.word(design.module)
    with tools.workplace() as folder:
        _write(design, folder)
        yosys.run(
            f"{_READ.format(top=top)}write_json tree.json\nflatten\nopt -full\nopt_clean\n"
            "write_json flat.json",
            cwd=folder,
        )
        tree = json.loads((folder / "tree.json").read_text())["modules"]
        nets = json.loads((folder / "flat.json").read_text())["modules"][top]["netnames"]
    instances = dict(_instances(tree, top, ""))
    result: dict[str, list[str]] = {_dotted(top, path): [] for path in instances}
    for path, module in instances.items():
        for net, facts in tree[module]["netnames"].items():
            flat = nets.get(f"{path}.{net}" if path else net)
            if facts["hide_name"] or flat is None:
                continue
            bits, low = flat["bits"], facts.get("offset", 0)
            for place, bit in enumerate(bits):
                if bit in ("0", "1"):
                    label = net if len(bits) == 1 else f"{net}[{place + low}]"
                    result[_dotted(top, path)].append(label)
    return result


def _write(design: Design, folder: Path) -> None:
    """Write the design, and models of a device's blocks."""
    text = verilog_of(design)
    (folder / "design.v").write_text(text)
    (folder / "models.v").write_text("".join(one.read_text() for one in models_of(text)))


def _dotted(top: str, path: str) -> str:
    return f"{top}.{path}" if path else top


def _instances(tree: Mapping[str, Any], module: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the module of each instance, the top's path empty."""
    yield path, module
    for cell, facts in tree[module]["cells"].items():
        if facts["type"] in tree:
            yield from _instances(tree, facts["type"], f"{path}.{cell}" if path else cell)


def crossings(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """List registers that read those of another clock: a job's function.

    Returns
    -------
    ``clocks``, by their names, ``related``: whether their edges are of one source, and
    ``crossings``, each ``from to register``, a register once for each clock that it reads.
    """
    design = Design(name, parameters)
    top = yosys.word(design.module)
    with tools.workplace() as folder:
        _write(design, folder)
        yosys.run(
            f"{_READ.format(top=top)}flatten\nmemory -nomap\nopt_clean\nwrite_json flat.json",
            cwd=folder,
        )
        module = json.loads((folder / "flat.json").read_text())["modules"][top]
    names = {bit: net for net, facts in _public_last(module) for bit in facts["bits"]}
    cells = module["cells"].values()
    clock_of = {
        bit: _clock(cell, names)
        for cell in cells
        if _REGISTER.match(cell["type"])
        for bit in cell["connections"]["Q"]
    }
    clocks = sorted(set(clock_of.values()))
    rows: list[dict[str, str]] = []
    if len(clocks) > 1:
        rows = _crossing(cells, clock_of, names)
    return {
        "clocks": clocks,
        "related": len(clocks) <= 1 or fast_clock(design.component()) is not None,
        "crossings": rows,
    }


def _public_last(module: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the nets of a module, those with a name of the source behind the others."""
    return sorted(module["netnames"].items(), key=lambda one: -one[1]["hide_name"])


def _clock(cell: Mapping[str, Any], names: Mapping[Any, str]) -> str:
    pins = cell["connections"]
    bit = (pins.get("CLK") or pins.get("EN") or ["?"])[0]
    return names.get(bit, str(bit)).rpartition(".")[2]


def _crossing(
    cells: Any, clock_of: Mapping[Any, str], names: Mapping[Any, str]
) -> list[dict[str, str]]:
    """Follow each clock's registers through gates and memories to registers of others."""
    drives: dict[Any, list[Any]] = defaultdict(list)
    reads: dict[Any, set[str]] = defaultdict(set)
    for cell in cells:
        pins = cell["connections"]
        ways = cell["port_directions"]
        into = [bit for pin in pins if ways[pin] == "input" for bit in pins[pin]]
        out = [bit for pin in pins if ways[pin] == "output" for bit in pins[pin]]
        if not _REGISTER.match(cell["type"]):
            # Through one node for all of it: a memory has thousands of pins.
            node = id(cell)
            drives[node] = out
            for bit in into:
                drives[bit].append(node)
            continue
        label = f"{names.get(pins['Q'][0], '?')}\n{_clock(cell, names)}"
        for bit in into:
            if bit not in pins.get("CLK", ()):
                reads[bit].add(label)
    rows = set()
    for clock in set(clock_of.values()):
        known = {bit for bit, of in clock_of.items() if of == clock}
        left = list(known)
        while left:
            bit = left.pop()
            rows |= {(clock, *one.split("\n")) for one in reads[bit]}
            new = [one for one in drives[bit] if one not in known and one not in clock_of]
            known.update(new)
            left += new
    return [
        {"from": clock, "to": to, "register": register}
        for clock, register, to in sorted(rows)
        if clock != to
    ]
