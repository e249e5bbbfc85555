"""Synthesises for FPGAs: resources by Yosys; place, route and Fmax by nextpnr where it can.

Place and route sees the design between registers, in :mod:`carrysave.fpga.wrapper`, so that no port
needs a pin and every path through a port counts. The resources are those of the design without it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.fpga.netlist import finish_netlist
from carrysave.fpga.place import FpgaError, from_seeds, median, nextpnr_version
from carrysave.fpga.wrapper import TOP, wrapper
from hw.device import NAMES, family
from hw.device.description import Flow, Part, Untimed
from hw.emit import tools, yosys
from hw.emit.naming import naming
from hw.emit.sources import Renamed, Sources
from hw.unknown import nearest

__all__ = [
    "MOST_SEEDS",
    "SEEDS",
    "TARGETS",
    "FpgaError",
    "mapping",
    "part_of",
    "read_once",
    "resources",
    "synthesise",
    "untimed_of",
]

_FORMAT = 6  # of the cached results

TARGETS = NAMES
"""Families to synthesise for."""

MOST_SEEDS = 100
SEEDS = 3
"""By default."""


def part_of(target: str, name: str) -> Part:
    """Return a part of a family by its name.

    Raises
    ------
    ValueError
        If there is none.
    """
    parts = {part.name: part for part in family(target).flow.parts}
    if not parts:
        raise ValueError(f"part must be none for {target}, which is not placed, not {name!r}")
    if name not in parts:
        raise nearest(name, parts, f"part of {target}")
    return parts[name]


@dataclass(frozen=True, kw_only=True)
class _Work:
    """What is done: see :func:`synthesise`."""

    target: str
    flow: Flow
    top: str
    clock: str
    sources: Sources
    place: bool
    seeds: Sequence[int]
    parts: Sequence[Part]
    key: Sequence[str | bytes]
    progress: Callable[[str], None]
    kinds: frozenset[str] = frozenset()


def synthesise(
    *,
    top: str,
    target: str,
    clock: str,
    sources: Sources,
    place: bool,
    progress: Callable[[str], None],
    seeds: int = SEEDS,
    part: str | None = None,
) -> dict[str, Any]:
    """Return resources, and Fmax and period of a placed and routed design.

    Parameters
    ----------
    top, clock : in the words of the sources.
    place : place and route where that is possible.
    seeds : how often, from 1 to :data:`MOST_SEEDS`, each time from another seed of the placer.
    part : the part to take; the first of the family that the design fits on if None.

    Returns
    -------
    ``luts ffs dsps brams carry`` and what else the family has; ``blocks``, the number of each of
    its blocks; ``cells device fmax_mhz fmax_best_mhz fmax_logic_mhz period_ns seeds
    critical_path conditions notes names findings`` (:class:`hw.emit.sources.Renamed`).
    Fmax is the median of the seeds, the lower one of the middle two. It is None, with the reason
    in ``notes``, where there is no open place and route, the design exceeds the largest device,
    or it has blocks that are not timed: ``fmax_logic_mhz`` is then of the paths around these.

    Raises
    ------
    ValueError
        If the design has registers and ``clock`` is none of its inputs; has blocks of another
        family; or an argument is out of range.
    YosysError, FpgaError
        If a tool is missing or fails.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise ValueError(f"seeds must be 1 to {MOST_SEEDS}, not {seeds!r}")
    flow = family(target).flow
    tools_of = (repr(flow), yosys.version(), nextpnr_version(target) or "")
    key: list[str | bytes] = [str(_FORMAT), *tools_of, top, clock, *sources.contents]
    work = _Work(
        target=target,
        flow=flow,
        top=top,
        clock=clock,
        sources=sources,
        place=place,
        seeds=range(1, seeds + 1),
        parts=(part_of(target, part),) if part is not None else flow.parts,
        key=key,
        progress=progress,
    )

    def make() -> dict[str, Any]:
        with tools.workplace() as folder, naming(sources.origins):
            return _implement(work, folder)

    return cache.remembered("fpga", [*key, str(place), str(seeds), part or ""], make)


def _implement(work: _Work, folder: Path) -> dict[str, Any]:
    """Map, and place and route if possible; return the results."""
    flow, top = work.flow, work.top
    work.progress(f"{work.target}: mapping {top}")
    design, kinds = read_once(work.sources, top, folder)
    # A design goes to the mapper as it was read, unless it has new names or blocks.
    work = replace(work, kinds=kinds)
    plain = (
        not design.names
        and not work.sources.parameters
        and all(kind.startswith("$") for kind in kinds)
    )
    read: list[str | Sequence[str]] = (
        [*work.sources.commands] if plain else ["read_rtlil design.il"]
    )
    taken, device = _map(work, folder, design, read)
    netlist = json.loads((folder / "mapped.json").read_text())["modules"][design.top]
    cells: dict[str, int] = json.loads((folder / "design.stat").read_text())["design"][
        "num_cells_by_type"
    ]
    result: dict[str, Any] = {
        **taken,
        "blocks": _blocks(flow, cells),
        "cells": sum(count for kind, count in cells.items() if not kind.startswith("$")),
        "device": None,
        "fmax_mhz": None,
        "fmax_best_mhz": None,
        "fmax_logic_mhz": None,
        "period_ns": None,
        "critical_path": None,
        "seeds": [],
        "conditions": {"ports": "not placed"},
        "notes": [],
        "names": design.names,
        # Registers of an FPGA have initial values.
        "findings": [str(one) for one in design.findings if one.construct != "initial value"],
    }
    inputs = [name for name, port in design.ports.items() if port["direction"] == "input"]
    own_clock = design.port(work.clock)
    if taken["ffs"] and own_clock not in inputs:
        theirs = ", ".join(design.names.get(name, name) for name in inputs)
        raise ValueError(f"clock must be an input of {top} ({theirs}), not {work.clock!r}")
    unplaced = _unplaced(work, taken, device)
    if unplaced is not None:
        result["notes"] = [unplaced]
    elif own_clock not in inputs:
        result["notes"] = ["no registers and no clock: not placed, no Fmax"]
    else:
        assert device is not None
        result |= _place(work, device, folder, design, own_clock, read, taken["luts"])
        _label(result, flow, netlist["cells"])
    if device is not None and device.infers and not _infers(flow, kinds) and "$mul" in kinds:
        result["notes"].append("multiplications that name no block are in LUTs")
    return result


def _unplaced(work: _Work, taken: Mapping[str, float], device: Part | None) -> str | None:
    """Return why a design is not placed, whatever its clock is; None if it can be."""
    if work.flow.nextpnr is None:
        return "no open place and route: no Fmax"
    if not work.place:
        return "not placed, no Fmax"
    if device is not None:
        return None
    largest = work.parts[-1]
    beyond = ", ".join(
        f"{taken[name]:,} {name} of {limit:,}"
        for name, limit in largest.capacity.items()
        if taken[name] > _usable(name, limit)
    )
    return f"larger than {largest.name}, {beyond}: not placed, no Fmax"


def _map(
    work: _Work, folder: Path, design: Renamed, read: Sequence[str | Sequence[str]]
) -> tuple[dict[str, float], Part | None]:
    """Leave ``mapped.json`` and ``design.stat``, for the first part that fits if there is one."""
    flow = work.flow
    taken: dict[str, float] = {}
    last: list[str] = []
    for part in work.parts or (None,):
        synth = mapping(flow, part, work.kinds, flow.bare, f"-top {yosys.word(design.top)}")
        if synth != last:
            _run(
                [
                    *read,
                    *synth,
                    "tee -q -o design.stat stat -json",
                    "write_json mapped.json",
                ],
                folder,
                work.target,
            )
            last = synth
        cells = json.loads((folder / "design.stat").read_text())["design"]["num_cells_by_type"]
        for kind in cells:
            _refuse(kind.removeprefix("\\"), work.target)  # some mappers leave what they know
        taken = resources(flow, cells)
        if part is not None and all(
            taken[name] <= _usable(name, limit) for name, limit in part.capacity.items()
        ):
            return taken, part
    return taken, None


def read_once(sources: Sources, top: str, folder: Path) -> tuple[Renamed, frozenset[str]]:
    """Leave a design in ``design.il`` as mappers take it that know its blocks.

    Yosys reads a module with blocks again when it has their library, and then misses the module: it
    gets what was read once, without the mark that asks for that.

    Returns
    -------
    The design, and the kinds of its cells that are no modules: operators, and blocks by name.
    """
    lower = "memory_collect", "setattr -unset reprocess_after"
    design = sources.design(top, folder, *lower, check=False)
    return design, _kinds_of_cells(folder / "design.json")


def mapping(flow: Flow, part: Part | None, kinds: Iterable[str], *options: str) -> list[str]:
    """Return the commands of Yosys for a part, and a design with such cells."""
    if part is None:
        return flow.mapping(*options)
    return flow.mapping(part.synth, part.infers if _infers(flow, kinds) else "", *options)


def _infers(flow: Flow, kinds: Iterable[str]) -> bool:
    """Return whether a design names no multiplier block, so that the mapper may use them."""
    blocks = flow.counts["dsps"]
    return not any(re.fullmatch(block, kind) for block in blocks for kind in kinds)


def _run(script: Sequence[str | Sequence[str]], folder: Path, target: str) -> None:
    """Run Yosys; say so if the design has a block of another family."""
    try:
        yosys.run(script, cwd=folder)
    except yosys.YosysError as error:
        if match := re.search(r"Module `\\?(?:\$paramod\\)?(\w+)", str(error)):
            _refuse(match[1], target)
        raise


def _refuse(kind: str, target: str) -> None:
    """Refuse a kind of cell that only other families have."""
    known = [pattern for kinds in family(target).flow.counts.values() for pattern in kinds]
    if any(re.fullmatch(pattern, kind) for pattern in known):
        return
    owners = [
        name
        for name in NAMES
        if any(re.fullmatch(pattern, kind) for pattern in _kinds(family(name).flow))
    ]
    if owners:
        blocks = ", ".join(kind.replace("|", ", ") for kind in family(target).flow.counts["dsps"])
        raise ValueError(
            f"target must have the block {kind}, as {' and '.join(owners)} has, not {target!r},"
            f" which has {blocks}"
        )


def _kinds_of_cells(path: Path) -> frozenset[str]:
    """Return the kinds of cells that are no modules: operators, and blocks of an FPGA by name."""
    modules = json.loads(path.read_text(errors="surrogateescape"))["modules"]
    kinds = {cell["type"] for module in modules.values() for cell in module["cells"].values()}
    return frozenset(kinds - modules.keys())


def resources(flow: Flow, cells: Mapping[str, int]) -> dict[str, float]:
    """Count the resources of a mapped design, by cells."""
    counts = {}
    for resource, patterns in flow.counts.items():
        total = sum(
            count * each
            for kind, count in cells.items()
            for pattern, each in patterns.items()
            if re.fullmatch(pattern, kind.removeprefix("\\"))
        )
        counts[resource] = int(total) if total == int(total) else total
    return counts


def _kinds(flow: Flow) -> list[str]:
    """Return the patterns of a family's blocks: all that is not logic."""
    logic = {"luts", "ffs", "carry"}
    return [kind for what, kinds in flow.counts.items() if what not in logic for kind in kinds]


def _blocks(flow: Flow, cells: Mapping[str, int]) -> dict[str, int]:
    """Count the blocks of each kind."""
    named = {kind.removeprefix("\\"): count for kind, count in cells.items()}
    kinds = _kinds(flow)
    return {
        kind: count
        for kind, count in sorted(named.items())
        if any(re.fullmatch(pattern, kind) for pattern in kinds)
    }


def _usable(name: str, limit: int) -> float:
    # Beyond about nine tenths of the cells, routing fails more often than it works.
    return limit * (0.9 if name in {"luts", "ffs"} else 1)


def _place(
    work: _Work,
    device: Part,
    folder: Path,
    design: Renamed,
    clock: str,
    read: Sequence[str | Sequence[str]],
    luts: float,
) -> dict[str, Any]:
    flow, source = work.flow, (design.names, work.key)
    work.progress(f"{work.target}: placing and routing on {device.name}, {len(work.seeds)} seeds")
    (folder / "wrapper.v").write_text(wrapper(design.top, clock, design.ports, flow.clock))
    bare = "" if flow.pads else flow.bare
    synth = mapping(flow, device, work.kinds, bare, f"-top {TOP} -json wrapper.json")
    _run([*read, "read_verilog wrapper.v", *synth], folder, work.target)
    finish_netlist(flow, folder / "wrapper.json")
    how = work.progress, flow.placing(luts)
    runs = from_seeds(work.target, device, folder, work.seeds, *source, *how)
    chosen = median(runs)
    result: dict[str, Any] = {
        "device": device.name,
        "seeds": [{name: each[name] for name in ("seed", "fmax_mhz", "error")} for each in runs],
        "conditions": {
            "ports": "behind registers of a wrapper",
            "seeds": len(runs),
            "fmax": "median of the seeds, the lower one of the middle two",
        },
        "notes": [f"seed {each['seed']}: {each['error']}" for each in runs if each["error"]],
    }
    if chosen is None:
        result["notes"].append("no path between registers is timed: no Fmax")
        return result
    return {
        **result,
        "fmax_mhz": chosen["fmax_mhz"],
        "fmax_best_mhz": max(each["fmax_mhz"] for each in runs if each["fmax_mhz"] is not None),
        "period_ns": 1e3 / chosen["fmax_mhz"],
        "critical_path": chosen["critical_path"],
    }


def untimed_of(flow: Flow, cells: Mapping[str, Any]) -> list[Untimed]:
    """List paths that a mapped design has and nextpnr does not time."""

    def concerns(untimed: Untimed, cell: Mapping[str, Any]) -> bool:
        parameters = cell.get("parameters", {})
        return bool(re.fullmatch(untimed.cell, cell["type"])) and all(
            re.fullmatch(value, str(parameters.get(name, "")))
            for name, value in untimed.having.items()
        )

    return [
        untimed
        for untimed in flow.untimed
        if any(concerns(untimed, cell) for cell in cells.values())
    ]


def _label(result: dict[str, Any], flow: Flow, cells: Mapping[str, Any]) -> None:
    """Take back what nextpnr says of a design with blocks that it does not time, and say so."""
    for untimed in untimed_of(flow, cells):
        bound = ""
        if untimed.bound_mhz is not None:
            bound = f"; by {untimed.source} at most {untimed.bound_mhz:g} MHz"
        if untimed.inside:
            result["notes"].append(f"{untimed.why}{bound}")
            continue
        if result["fmax_mhz"] is not None:
            result["fmax_logic_mhz"] = result["fmax_mhz"]
            for each in result["seeds"]:
                each["fmax_logic_mhz"] = each.pop("fmax_mhz")
        result |= {"fmax_mhz": None, "fmax_best_mhz": None, "period_ns": None}
        result["notes"].append(f"blocks not timed, no Fmax: {untimed.why}{bound}")
