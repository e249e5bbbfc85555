"""Synthesises for FPGAs: resources by Yosys; place, route and Fmax by nextpnr where it can.

Place and route sees the design between registers: a wrapper feeds every input bit from one shift
register and captures every output bit in another, so that no port needs a pin and every path
through a port counts. The resources are those of the design without the wrapper.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.errors import needs
from hw.device import NAMES, family
from hw.device.family import Flow, Part
from hw.emit import tools, yosys
from hw.emit.sources import Renamed, Sources

__all__ = [
    "TARGETS", "FpgaError", "call", "critical_path", "nextpnr", "nextpnr_version",
    "resources", "synthesise",
]  # fmt: skip

_FORMAT = 3  # of the cached results


class FpgaError(RuntimeError):
    """nextpnr is missing or could not place and route a design."""


TARGETS = NAMES
"""Families to synthesise for."""


def synthesise(
    *,
    top: str,
    target: str,
    clock: str,
    sources: Sources,
    place: bool,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Return resources, and Fmax and period of a placed and routed design.

    Parameters
    ----------
    top, clock : in the words of the sources.
    place : place and route where that is possible.

    Returns
    -------
    ``luts ffs dsps brams carry cells device fmax_mhz period_ns critical_path conditions notes
    names`` (:class:`hw.emit.sources.Renamed`);
    Fmax is None, with the reason in ``notes``, where there is no open place and route or the
    design exceeds the largest device.

    Raises
    ------
    ValueError
        If the design has registers and ``clock`` is none of its inputs.
    YosysError, FpgaError
        If a tool is missing or fails.
    """
    flow = family(target).flow
    parts: list[str | bytes] = [
        str(_FORMAT), repr(flow), yosys.version(), nextpnr_version(target) or "", top, clock,
        str(place), *sources.contents,
    ]  # fmt: skip

    def make() -> dict[str, Any]:
        with tools.workplace() as folder:
            return _implement(folder, target, top, clock, sources, place, progress)

    return cache.remembered("fpga", parts, make)


def _implement(
    folder: Path,
    target: str,
    top: str,
    clock: str,
    sources: Sources,
    place: bool,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Map, and place and route if possible; return the results."""
    flow = family(target).flow
    progress(f"{target}: mapping {top}")
    design = sources.design(top, folder, "memory_collect", check=False)
    # A design goes to the mapper as it was read, unless it has new names.
    read = ["read_rtlil design.il"] if design.names else sources.commands
    yosys.run([
        *read, f"{flow.synth} -top {yosys.word(design.top)}", "tee -q -o design.stat stat -json",
    ], cwd=folder)  # fmt: skip
    cells = json.loads((folder / "design.stat").read_text())["design"]["num_cells_by_type"]
    taken = resources(flow, cells)
    result: dict[str, Any] = {
        **taken,
        "cells": sum(count for kind, count in cells.items() if not kind.startswith("$")),
        "device": None, "fmax_mhz": None, "period_ns": None, "critical_path": None,
        "conditions": {"ports": "not placed"}, "notes": [], "names": design.names,
    }  # fmt: skip
    inputs = [name for name, port in design.ports.items() if port["direction"] == "input"]
    own_clock = design.port(clock)
    if taken["ffs"] and own_clock not in inputs:
        theirs = ", ".join(design.names.get(name, name) for name in inputs)
        raise ValueError(f"clock must be an input of {top} ({theirs}), not {clock!r}")
    device = next((d for d in flow.parts if _fits(taken, d.capacity)), None)
    if flow.nextpnr is None:
        result["notes"] = ["no open place and route: no Fmax"]
    elif not place:
        result["notes"] = ["not placed, no Fmax"]
    elif device is None:
        result["notes"] = [f"larger than {flow.parts[-1].name}: not placed, no Fmax"]
    elif own_clock not in inputs:
        result["notes"] = ["no registers and no clock: not placed, no Fmax"]
    else:
        progress(f"{target}: placing and routing on {device.name}")
        result |= _place(flow, device, folder, design, own_clock, read)
    return result


def resources(flow: Flow, cells: dict[str, int]) -> dict[str, float]:
    """Count the resources of a mapped design, by cells."""
    found = {}
    for resource, patterns in flow.counts.items():
        total = sum(
            count * each
            for kind, count in cells.items()
            for pattern, each in patterns.items()
            if re.fullmatch(pattern, kind.removeprefix("\\"))
        )
        found[resource] = int(total) if total == int(total) else total
    return found


def _fits(taken: dict[str, float], capacity: dict[str, int]) -> bool:
    # Beyond about nine tenths of the cells, routing fails more often than it works.
    return all(
        taken[name] <= limit * (0.9 if name in {"luts", "ffs"} else 1)
        for name, limit in capacity.items()
    )


@functools.cache
def nextpnr_version(target: str) -> str | None:
    """Return the version of the family's nextpnr package; None if there is none for it.

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed.
    """
    name = family(target).flow.nextpnr
    if name is None:
        return None
    needs(name)
    return package_version(name)


def wrapper(top: str, clock: str, ports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the Verilog of ``carrysave_wrapper``, which has four pins.

    Parameters
    ----------
    ports : of the top module, as in Yosys's JSON.
    """
    sized = [(port["direction"], name, len(port["bits"])) for name, port in ports.items()]
    ins = [(name, w) for direction, name, w in sized if direction == "input" and name != clock]
    outs = [(name, w) for direction, name, w in sized if direction == "output"]
    width_in, width_out = sum(w for _, w in ins), sum(w for _, w in outs)
    connections = [f".\\{clock} (clk)"]  # escaped, since it may be a word of Verilog
    for bus, group in (("i", ins), ("o", outs)):
        low = 0
        for name, width in group:
            connections.append(f".\\{name} ({bus}[{low + width - 1}:{low}])")
            low += width
    return f"""module carrysave_wrapper(input clk, input si, input load, output so);
  reg [{max(width_in, 1) - 1}:0] i;
  wire [{max(width_out, 1) - 1}:0] o;
  reg [{max(width_out, 1) - 1}:0] captured, shifted;
  \\{top} design ({", ".join(connections)});
  always @(posedge clk) begin
    i <= {{i, si}};
    captured <= o;
    shifted <= load ? captured : {{shifted, 1'b0}};
  end
  assign so = shifted[{max(width_out, 1) - 1}];
endmodule
"""


def _place(
    flow: Flow,
    device: Part,
    folder: Path,
    design: Renamed,
    clock: str,
    read: Sequence[str | Sequence[str]],
) -> dict[str, Any]:
    (folder / "wrapper.v").write_text(wrapper(design.top, clock, design.ports))
    yosys.run([
        *read, "read_verilog wrapper.v",
        f"{flow.synth} -top carrysave_wrapper -json wrapper.json",
    ], cwd=folder)  # fmt: skip
    facts = nextpnr(
        flow, folder, [*device.arguments, "--json", "wrapper.json", "--timing-allow-fail"]
    )
    if not facts["fmax"]:
        return {"device": device.name, "notes": ["no path between registers: no Fmax"]}
    fmax = min(clock["achieved"] for clock in facts["fmax"].values())
    return {
        "device": device.name, "fmax_mhz": fmax, "period_ns": 1e3 / fmax,
        "critical_path": critical_path(facts),
        "conditions": {"ports": "registered by a shift-register wrapper", "seed": 1},
    }  # fmt: skip


def nextpnr(flow: Flow, folder: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Place and route in a folder, with its files as arguments; returns nextpnr's report.

    Raises
    ------
    FpgaError
        It fails; says why.
    """
    done = call(str(flow.nextpnr), "", folder, [*arguments, "--report", "report.json",
                                                  "--seed", "1"])  # fmt: skip
    report = folder / "report.json"
    if done.code or not report.exists():
        errors = [line for line in done.output.splitlines() if line.startswith("ERROR")]
        raise FpgaError(f"nextpnr: {(errors or done.output.strip().splitlines()[-1:])[0]}")
    return json.loads(report.read_text())


def call(package: str, tool: str, folder: Path, arguments: Sequence[str]) -> tools.Finished:
    """Run a tool of a package of nextpnr's, the one that it is named for if `tool` is empty."""
    program = tool or package.removeprefix("yowasp_")
    code = f"import sys, {package}; sys.exit({package}.run_{program}(sys.argv[1:]))"
    return tools.run([sys.executable, "-c", code, *arguments], cwd=folder)


def critical_path(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of the slowest path between registers."""
    clocked = [
        path["path"] for path in report.get("critical_paths", [])
        if "async" not in path["from"] and "async" not in path["to"]
    ]  # fmt: skip
    if not clocked:
        return []
    steps, arrival = [], 0.0
    for step in max(clocked, key=lambda path: sum(step["delay"] for step in path)):
        arrival += step["delay"]
        steps.append({
            "point": step["to"]["cell"] or step["to"].get("port", ""),
            "cell": step["type"],
            "delay_ns": step["delay"],
            "arrival_ns": arrival,
        })
    return steps
