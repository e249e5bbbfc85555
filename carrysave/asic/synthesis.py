"""Synthesises Verilog for a cell library or an FPGA, and measures the result.

For a cell library: Yosys maps every distinct module once, ABC maps and sizes the logic for a
series of delay targets, OpenSTA times every netlist, the best by the objective is the result.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from carrysave import cache
from carrysave.asic import recipes, sta
from carrysave.asic.elaborate import HIERARCHIES, Elaborated, elaborate, kept_modules
from carrysave.asic.liberty import cells as liberty
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import MAPS, Flow, Recipe, area, front_end, fronts, point
from carrysave.asic.power import activity as switching
from carrysave.asic.power import power
from carrysave.asic.power.stimulus import KINDS, UNMEASURED, Stimulus, measurable
from carrysave.asic.probe import probe
from carrysave.asic.recipes import Kept
from carrysave.fpga import implementation
from carrysave.fpga.place import nextpnr_version
from hw.catalog import Design
from hw.device import family
from hw.emit import yosys
from hw.emit.flat_ports import clock_and_reset
from hw.emit.sources import Sources
from hw.emit.verilog import verilog_of

__all__ = ["ACTIVITIES", "HIERARCHIES", "OBJECTIVES", "TARGETS", "synthesise", "synthesise_design"]

Progress = Callable[[str], None]

TARGETS = ("osu018", *implementation.TARGETS)
OBJECTIVES = ("density", "period", "area")
ACTIVITIES = (*UNMEASURED, *KINDS)
MEASURED_MACS = 256


def synthesise(
    verilog: Sequence[Path | str],
    *,
    top: str,
    target: str | Library,
    period_ns: float | None = None,
    sweep: bool = False,
    clock: str = "clk",
    operations_per_cycle: float | None = None,
    objective: str = "density",
    hierarchy: str = "auto",
    progress: Progress | None = None,
    jobs: int = 2,
    design: Design | None = None,
    activity: str = "assumed",
    place: bool = True,
    seeds: int = 3,
    part: str | None = None,
    maps: Sequence[str] | None = None,
    kept: Kept | None = None,
) -> dict[str, Any]:
    """Synthesise a design and return area, timing and power with all that they depend on.

    Parameters
    ----------
    verilog : source files (``.v``, ``.sv``, ``.il``).
    top : name of the top module.
    target : ``osu018``, a :class:`Library`, or an FPGA family of :data:`TARGETS`.
    period_ns : clock period to meet with the least area; None for no such limit.
    sweep : try all recipes over a series of delay targets and take the best by ``objective``.
    clock : name of the clock port; ignored by a design without registers.
    operations_per_cycle : operations (2 per multiply-accumulate) per clock cycle at full rate.
    objective : ``density`` (least period x area), ``period`` or ``area``.
    hierarchy : which repeated modules are mapped once, see
        :data:`carrysave.asic.elaborate.HIERARCHIES`.
    progress : called with one line of text whenever something has been done.
    jobs : processes at a time.
    design : what the Verilog is of, if it is generated; a measured activity needs it.
    activity : what power is for: ``none``, ``assumed``, or measured on a stimulus, see
        :meth:`carrysave.asic.power.stimulus.Stimulus.parse`.
    place : place and route on FPGAs where that is possible; else only count resources.
    seeds, part : as for :func:`carrysave.fpga.implementation.synthesise`.
    maps : mappings to try where a period is to be met, of :data:`carrysave.asic.mapping.MAPS`: the
        next where the last does not meet it, so that the smallest comes first. All by default,
        and the least area counts.
    kept : the only point to run, found by an earlier search.

    Returns
    -------
    A dict of plain values: see ``_result`` for cell libraries and
    :mod:`carrysave.fpga.implementation`. Keys that do not apply are None.

    Raises
    ------
    ValueError
        If an argument is out of range, or the clock is not an input of a design with registers.
    FileNotFoundError
        If a source or the library is missing.
    YosysError, StaError, FpgaError
        If a tool is missing or fails.
    """
    _check_choice("objective", objective, OBJECTIVES)
    _check_choice("hierarchy", hierarchy, tuple(HIERARCHIES))
    for map_ in maps or ():
        _check_choice("maps", map_, tuple(MAPS))
    if design is None:
        _check_choice("activity", activity, UNMEASURED)
    elif activity not in UNMEASURED:
        Stimulus.parse(design, activity)
    if period_ns is not None and not period_ns > 0:
        raise ValueError(f"period_ns must be positive, not {period_ns!r}")
    sources = [Path(path) for path in verilog]
    if not sources:
        raise ValueError("verilog must be at least one file, not none")
    say = progress or (lambda text: None)
    if isinstance(target, str) and target in implementation.TARGETS:
        found = implementation.synthesise(
            top=top, target=target, clock=clock, sources=Sources.read(sources), place=place,
            progress=say, seeds=seeds, part=part,
        )  # fmt: skip
        return _fpga(found, top, target, operations_per_cycle)
    if isinstance(target, Library):
        library, target = target, target.name
    else:
        _check_choice("target", target, TARGETS)
        library = liberty.osu018()
    sta.version()
    probe(library)
    if design is not None and activity not in UNMEASURED:
        say(f"simulate {top}")
        switching.record(design, activity)  # what is wrong with it shows before the long work
    elaborated = elaborate(sources, top)
    modules = kept_modules(elaborated, hierarchy)
    conditions = sta.Conditions(clock=_clock(elaborated, clock))
    flow = Flow(elaborated, tuple(modules), library, conditions)
    search = Search(flow, objective, period_ns, say, jobs, maps)
    if kept is not None:
        (best,) = search.run([(Recipe.parse(kept.recipe), kept.delay_target_ns)])
    else:
        best = search.sweep() if sweep else search.single()
    found = power.report(
        Path(best["netlist"]), top=elaborated.top, library=library, clock=conditions.clock,
        period_ns=best["period_ns"], operations=operations_per_cycle, design=design,
        stimulus=activity,
    )  # fmt: skip
    result = _result(flow, target, best, search.points, operations_per_cycle, found)
    if kept is not None:
        said = kept.note(result["area_um2"], result["period_ns"], result["versions"])
        result["notes"].insert(0, said)
    return result


def synthesise_design(
    design: Design,
    target: str | Library,
    *,
    activity: str | None = None,
    from_kept: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Synthesise the generated Verilog of a design; options and result of :func:`synthesise`.

    Power is for normal operands unless `activity` says otherwise, or there are no operands for
    the design, or it has more than
    ``MEASURED_MACS`` multipliers: simulating those takes longer than synthesising them.
    `from_kept` takes the recipe that is kept for the design, if there is one and no period to meet.
    """
    cells = isinstance(target, Library) or target not in implementation.TARGETS
    if from_kept and options.get("period_ns") is None and cells:
        options["kept"] = recipes.kept(
            design,
            target if isinstance(target, Library) else liberty.osu018(),
            options.get("objective", "density"),
            options.get("hierarchy", "auto"),
        )
    component = design.component()
    operations = component.operations_per_cycle
    if activity is None:
        small = operations <= 2 * MEASURED_MACS
        activity = "normal" if small and measurable(design) else "assumed"
    with TemporaryDirectory() as folder:
        verilog = cache.write(Path(folder) / f"{design.module}.v", verilog_of(design))
        result = synthesise(
            [verilog],
            top=design.module,
            target=target,
            clock=clock_and_reset(component)[0],
            operations_per_cycle=operations,
            design=design,
            activity=activity,
            **options,
        )
    return {**result, "design": design.name, "parameters": dict(design.parameters)}


def _check_choice(name: str, value: object, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ValueError(f"{name} must be one of {', '.join(legal)}, not {value!r}")


def _renamed(names: Mapping[str, str]) -> list[str]:
    """Say what is called otherwise here than in its source, but for what Yosys named."""
    return [f"{ours} is {name!r} in the source" for ours, name in names.items() if name[0] != "$"]


def _clock(design: Elaborated, clock: str) -> str | None:
    """Return our name of the clock port; None if the design has no registers."""
    ours = design.port(clock)
    if ours and design.ports[ours] == "input":
        return ours
    kinds = {kind for cells in design.modules.values() for kind in cells}
    if any("dff" in kind or "latch" in kind for kind in kinds):
        inputs = [
            design.names.get(name, name)
            for name, direction in design.ports.items()
            if direction == "input"
        ]
        raise ValueError(
            f"clock must be an input of {design.top} ({', '.join(inputs)}), not {clock!r}"
        )
    return None


# Delay targets of a sweep, relative to the fastest logic that a recipe reached.
RELAXED = (1.08, 1.2, 1.4, 1.8)
BEST_RECIPES = 4
AGAIN = 0.92  # of a delay target, where the clock was missed by little
_FASTEST = 0.001  # ns: out of reach, so that ABC maps for speed throughout
_SLOWEST = 100.0


class Search:
    """Runs points of a design until the best by an objective is found."""

    def __init__(
        self,
        flow: Flow,
        objective: str,
        period_ns: float | None,
        say: Progress,
        jobs: int,
        maps: Sequence[str] | None = None,
    ) -> None:
        self.flow = flow
        self.objective = objective
        self.period_ns = period_ns
        self.say = say
        self.jobs = jobs
        self.maps = maps
        self.points: list[dict[str, Any]] = []

    def single(self) -> dict[str, Any]:
        """Run one mapping per front end at full speed; with a period, the others for it."""
        fast = self.run([(Recipe(front, "dch2"), _FASTEST) for front in self.fronts()])
        if self.period_ns is not None:
            best = self.best()
            logic = max(self.period_ns - _overhead(best), _FASTEST)
            self.meet(logic, [Recipe.parse(point["recipe"]).front for point in fast])
        return self.best()

    def meet(self, logic: float, fronts: Sequence[str]) -> None:
        """Run the mappings with a logic delay that leaves time for clock-to-q and setup."""
        assert self.period_ns is not None
        if self.maps is None:
            self.run([(Recipe(front, map_), logic) for front in fronts for map_ in MAPS])
            return
        for map_ in self.maps:
            recipes = [Recipe(front, map_) for front in fronts]
            found = self.run([(recipe, logic) for recipe in recipes])
            late = [point["period_ns"] - self.period_ns for point in found]
            # A point that narrowly missed the clock meets it with a tighter target.
            found += self.run([
                (recipe, max(AGAIN * logic - by, _FASTEST))
                for recipe, by in zip(recipes, late, strict=True)
                if by > 0
            ])  # fmt: skip
            if any(point["period_ns"] <= self.period_ns for point in found):
                return

    def sweep(self) -> dict[str, Any]:
        """Run every recipe at full speed, relax the best, refine around the best point."""
        recipes = [Recipe(front, map_) for front in self.fronts() for map_ in MAPS]
        first = self.run([(recipe, _FASTEST) for recipe in recipes])
        if self.objective == "area":
            self.run([(recipe, _SLOWEST) for recipe in recipes])
        ranked = sorted(zip(first, recipes, strict=True), key=lambda pair: self.cost(pair[0]))
        self.run([
            (recipe, factor * (fast["period_ns"] - _overhead(fast)))
            for fast, recipe in ranked[:BEST_RECIPES]
            for factor in RELAXED
        ])  # fmt: skip
        for _ in range(2):
            best = self.best()
            tried = sorted(
                point["delay_target_ns"] for point in self.points
                if point["recipe"] == best["recipe"]
            )  # fmt: skip
            at = tried.index(best["delay_target_ns"])
            fastest = min(p["period_ns"] - _overhead(p) for p in self.points)
            around = [max(value, 0.9 * fastest) for value in tried[max(at - 1, 0) : at + 2]]
            middle = [(low + high) / 2 for low, high in pairwise(around)]
            self.run([(Recipe.parse(best["recipe"]), round(value, 4)) for value in middle])
        return self.best()

    def fronts(self) -> list[str]:
        """Name the front ends that give different netlists; many designs have one only."""
        flow, found = self.flow, dict[bytes, str]()
        for front in fronts(flow.design):
            path = front_end(flow.design, front, flow.kept, flow.library)
            found.setdefault(path.read_bytes(), front)
        return list(found.values())

    def run(self, wanted: Iterable[tuple[Recipe, float]]) -> list[dict[str, Any]]:
        """Evaluate points, ``jobs`` at a time; return them in the order asked for."""
        found = []
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            for result in pool.map(lambda pair: point(self.flow, *pair), wanted):
                found.append(result)
                self.points.append(result)
                self.say(
                    f"point {len(self.points)}: {result['recipe']}, target "
                    f"{result['delay_target_ns']:.3f} ns: {area(result):.0f} um2, "
                    f"{result['period_ns']:.3f} ns"
                )
        return found

    def best(self) -> dict[str, Any]:
        """Return the best point so far; within the period limit if any point is."""
        return min(self.points, key=self.cost)

    def cost(self, result: dict[str, Any]) -> tuple[float, ...]:
        """Return what the objective minimises."""
        period, size = result["period_ns"], area(result)
        if self.period_ns is not None:
            return (max(period - self.period_ns, 0.0), size)
        return {
            "density": (period * size, period), "period": (period, size), "area": (size, period)
        }[self.objective]  # fmt: skip


def _overhead(result: dict[str, Any]) -> float:
    """Return the part of a point's period that no logic mapping changes: clock-to-q and setup."""
    path = result["critical_path"]
    if not path:
        return 0.0
    launch = path[1]["arrival_ns"] if len(path) > 2 and path[0]["cell"] != "in" else 0.0
    return launch + result["period_ns"] - path[-1]["arrival_ns"]


def _result(
    flow: Flow,
    target: str,
    best: dict[str, Any],
    points: Sequence[dict[str, Any]],
    operations: float | None,
    found: dict[str, Any],
) -> dict[str, Any]:
    """Return the full record of the best point; ``found`` is its power."""
    library, rows = flow.library, best["hierarchy"]
    size = area(best)
    sequential = sum(row["instances"] * row["area_sequential_um2"] for row in rows)
    rates = rates_of(operations, best["period_ns"], size, found["pj_per_mac"])
    unique = {(p["recipe"], p["delay_target_ns"]): p for p in points}
    return {
        "design": flow.design.top,
        "module": flow.design.top,
        "target": target,
        "area_um2": size,
        "cells": sum(row["instances"] * row["cells"] for row in rows),
        "period_ns": best["period_ns"],
        "fmax_mhz": 1e3 / best["period_ns"],
        "power_mw": found["power_mw"],
        "activity": found["activity"],
        "annotated": found["annotated"],
        "glitches": found["glitches"],
        "pj_per_mac": found["pj_per_mac"],
        **rates,
        "versions": versions(library),
        "area_sequential_um2": sequential,
        "area_combinational_um2": size - sequential,
        "kge": size / library.nand2.area / 1e3,
        "critical_path": best["critical_path"],
        "corner": library.corner,
        "library": {"name": library.name, "sha256": library.sha},
        "recipe": best["recipe"],
        "delay_target_ns": best["delay_target_ns"],
        "conditions": flow.conditions.describe(library),
        "names": flow.design.names,
        "notes": [*_renamed(flow.design.names), *best["notes"], *found["notes"]],
        "sweep": [
            {
                "delay_target_ns": p["delay_target_ns"], "recipe": p["recipe"],
                "area_um2": area(p), "period_ns": p["period_ns"],
                "gops_per_mm2": rates_of(operations, p["period_ns"], area(p), None)["gops_per_mm2"],
            }
            for p in unique.values()
        ],
        "hierarchy": rows,
        "netlist": best["netlist"],
        "luts": None, "ffs": None, "dsps": None, "brams": None,
    }  # fmt: skip


def _fpga(found: dict[str, Any], top: str, target: str, operations: float | None) -> dict[str, Any]:
    """Return the record of a design on an FPGA."""
    names = found["names"]
    found["notes"] = [*_renamed(names), *found["notes"]]
    top = next((ours for ours, name in names.items() if name == top), top)
    tools = versions()
    if nextpnr := nextpnr_version(target):
        tools["nextpnr"] = nextpnr
    rates: dict[str, float | None] = rates_of(operations, found["period_ns"], None, None)
    for name, of in (("gops_per_1000_luts", found["luts"] / 1000), ("gops_per_dsp", found["dsps"])):
        rates[name] = rates["gops"] / of if rates["gops"] is not None and of else None
    nothing = dict.fromkeys((
        "area_um2", "power_mw", "activity", "annotated", "glitches", "pj_per_mac",
        "area_sequential_um2", "area_combinational_um2", "kge", "corner", "library",
        "delay_target_ns", "netlist",
    ))  # fmt: skip
    return {
        "design": top, "module": top, "target": target, **nothing, **found, **rates,
        "versions": tools, "recipe": family(target).flow.synth, "sweep": [],
        "hierarchy": [],
    }  # fmt: skip


def rates_of(
    operations: float | None,
    period_ns: float | None,
    area_um2: float | None,
    pj_per_mac: float | None,
) -> dict[str, float | None]:
    """Return GOPS, GOPS per mm2 and GOPS per W; None where not defined."""
    gops = operations / period_ns if operations is not None and period_ns else None
    return {
        "gops": gops,
        "gops_per_mm2": gops / area_um2 * 1e6 if gops is not None and area_um2 else None,
        "gops_per_w": 2e3 / pj_per_mac if pj_per_mac else None,
    }


def versions(library: Library | None = None) -> dict[str, str]:
    """Return the versions of everything a result depends on."""
    try:
        own = package_version("carrysave")
    except PackageNotFoundError:
        own = "unknown"
    found = {"carrysave": own, "yosys": yosys.version(), "abc": yosys.abc_version()}
    if library is not None:
        found["opensta"] = sta.version()
        found["library"] = f"{library.name} sha256 {library.sha[:16]}"
    return found
