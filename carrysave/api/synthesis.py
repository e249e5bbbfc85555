"""Syntheses: of a design, or of somebody's Verilog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public, telling
from carrysave.api.checks import (
    check_place,
    check_recipe,
    check_recipes,
    check_search,
    check_wires,
)
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.api.result import Result
from carrysave.api.targets import target_of
from carrysave.asic import synthesis
from carrysave.asic.power.stimulus import UNMEASURED, Stimulus
from carrysave.asic.recipes import PROJECT, USER
from carrysave.errors import UsageError, installed
from carrysave.fpga import implementation
from carrysave.progress import Steps
from carrysave.report import synthesis as report
from carrysave.report.figures import FIGURES
from carrysave.report.synthesis_page import synthesis_page

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.asic.liberty.cells import Library
    from carrysave.asic.placement.technology import Technology
    from carrysave.report.page import Page

__all__ = ["Synthesis", "Verilog", "figures_of", "synthesise"]


@dataclass(frozen=True)
class Verilog:
    """Somebody's module, in Verilog or SystemVerilog.

    Parameters
    ----------
    files : all that it needs.
    top : its name.
    clock : its clock port; ignored if it has no registers.
    operations : per cycle, for GOPS; two per multiply-accumulate. None: not known.
    parameters : of the top module, by name: numbers of Verilog, in place of its own values.
    """

    files: Sequence[str | PathLike[str]]
    top: str
    clock: str = "clk"
    operations: float | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """What :func:`carrysave.asic.synthesis.synthesise` takes of it."""
        return {
            "verilog": [Path(file) for file in self.files], "top": self.top, "clock": self.clock,
            "operations_per_cycle": self.operations, "top_parameters": self.parameters,
        }  # fmt: skip


def figures_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the plain figures of a synthesis by key, such as ``area_um2``; those that are there.

    Each key ends in its unit, or counts.
    """
    found = {figure.key: facts.get(figure.key) for figure in FIGURES}
    return {key: one for key, one in found.items() if isinstance(one, int | float | str)}


class Synthesis(Result):
    """Area, timing and power of a design; figures that do not apply are None.

    Members
    -------
    module, target : str   What, and for which library or family of FPGAs.
    area_um2 : float       Cells, mapped, um2.
    period_ns : float      Least clock period, ns, and
    fmax_mhz : float       its inverse, MHz; on an FPGA the median of the seeds.
    power_mw : float       At that period, mW; ``["activity"]`` says what it is for.
    pj_per_mac : float     Energy of a multiply-accumulate, pJ.
    gops : float           10^9 operations a second.
    luts, ffs, dsps, brams  Resources of an FPGA.
    placed : dict or None  The same with wires, if it was placed.
    """

    @property
    def module(self) -> str:
        """Name of the top module."""
        return str(self["module"])

    @property
    def target(self) -> str:
        """The library, or the family of FPGAs."""
        return str(self["target"])

    @property
    def area_um2(self) -> float | None:
        """Area of the cells, um2."""
        return self.get("area_um2")

    @property
    def period_ns(self) -> float | None:
        """Least clock period, ns."""
        return self.get("period_ns")

    @property
    def fmax_mhz(self) -> float | None:
        """Greatest clock frequency, MHz."""
        return self.get("fmax_mhz")

    @property
    def power_mw(self) -> float | None:
        """Power at the least period, mW."""
        return self.get("power_mw")

    @property
    def pj_per_mac(self) -> float | None:
        """Energy of a multiply-accumulate, pJ."""
        return self.get("pj_per_mac")

    @property
    def gops(self) -> float | None:
        """Speed, 10^9 operations a second."""
        return self.get("gops")

    @property
    def luts(self) -> int | None:
        """LUTs of an FPGA."""
        return self.get("luts")

    @property
    def ffs(self) -> int | None:
        """Flip-flops of an FPGA."""
        return self.get("ffs")

    @property
    def dsps(self) -> int | None:
        """DSP blocks of an FPGA."""
        return self.get("dsps")

    @property
    def brams(self) -> int | None:
        """Block RAMs of an FPGA."""
        return self.get("brams")

    @property
    def placed(self) -> dict[str, Any] | None:
        """Figures with wires, by the same keys; None if it was not placed on cells."""
        return self.get("placed")

    def show(self, console: "Console") -> None:
        """Print figures, conditions, and the files that it was saved to."""
        report.print_synthesis(console, [self.facts])

    def page(self) -> "Page":
        """Return figures, search and critical path as a page."""
        return synthesis_page({"files": [], **self.facts})

    def records(self) -> list[dict[str, Any]]:
        """Return one row: ``module target`` and every figure; a second one if it was placed."""
        own = {"module": self.module, "target": self.target, "stage": "mapped"}
        rows = [{**own, **figures_of(self.facts)}]
        if self.placed:
            rows.append({**own, "stage": "placed", **figures_of(self.placed)})
        return rows

    def pictures(self) -> dict[str, bytes]:
        """Return ``sweep`` and ``floor``, of what was searched and placed, with matplotlib."""
        return report.pictures(self.facts) if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON, netlists and pictures."""
        self.facts["files"] = report.write_synthesis(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
def synthesise(
    what: Design | Verilog,
    target: "Target" = None,
    *,
    period_ns: float | None = None,
    sweep: bool = False,
    search_recipes: int | None = None,
    recipe: str | None = None,
    objective: str = "density",
    activity: str | None = None,
    part: str | None = None,
    seeds: int | None = None,
    hierarchy: str | None = None,
    time_reset: bool = False,
    place: bool = False,
    wire_cap: float | None = None,
    wire_res: float | None = None,
    row_height: float | None = None,
    lef: Sequence[str | PathLike[str]] = (),
    progress: Steps | bool = False,
) -> Synthesis:
    """Synthesise a design, or somebody's Verilog: area, timing, power.

    Results are cached by content. Where a search's best recipe is kept in the project, it is used,
    and the result says so.

    Parameters
    ----------
    what : a design; of the catalogue, on an FPGA, it is built of the device's blocks and in the
        form that is best there, but for the parameters that were given.
    target : a cell library or a family of FPGAs by its name; a Liberty file, or several for the
        corners of one, of which the first is mapped to and the slowest sets the period; a library.
        None: osu018 if it is installed, else ``generic``.
    period_ns : clock period to meet with the least area, ns.
    sweep : search recipes, periods and hierarchies, and parameters that were not given.
    search_recipes : after a sweep, search for so many recipes of ABC's passes.
    recipe : the only one to run, as a result names it, such as ``tree+wide+sizes@density``.
    objective : of the search: ``density``, ``period``, ``area``; or ``energy``, for `period_ns`.
    activity : what power is for, such as ``normal`` operands.
    part, seeds : of an FPGA: the device, and runs of place and route.
    hierarchy : repeated modules to map once: ``auto``, ``coarse`` or ``flat``.
    time_reset : time resets, too.
    place : place on the cell library, repair, and measure with wires, too.
    wire_cap, wire_res, row_height : fF/um, ohm/um and um, in place of the library's.
    lef : files with what is not given of wires and rows.
    progress : say on stderr what is done.

    Raises
    ------
    ArgumentError
        Arguments out of range, or that exclude each other.
    """
    check_recipes(search_recipes, objective)
    sweep = sweep or search_recipes is not None
    own = what if isinstance(what, Verilog) else None
    name = fspath(target) if isinstance(target, str | PathLike) else None
    where = target_of(target)
    check_search(
        target=name if where == name else None, period=period_ns, sweep=sweep, objective=objective,
        hierarchy=hierarchy, time_reset=time_reset, part=part, seeds=seeds,
        operations=own.operations if own else None,
    )  # fmt: skip
    on_fpga = where in implementation.TARGETS
    check_recipe(recipe, where, period_ns is not None or sweep or objective == "energy")
    sizes = {"--wire-cap": wire_cap, "--wire-res": wire_res, "--row-height": row_height}
    check_wires(sizes, place)
    check_place(place, where if isinstance(where, str) else None)
    if lef and not place:
        raise UsageError("--lef needs --place")
    if activity is not None and (own or on_fpga):
        raise UsageError("--activity is for designs of the catalogue on a cell library")
    technology = _technology(where, sizes, [Path(file) for file in lef]) if place else None
    with telling(progress) as steps:
        options: dict[str, Any] = {
            "period_ns": period_ns, "sweep": sweep, "recipe": recipe,
            "more_recipes": search_recipes or 0,
            "objective": objective, "hierarchy": hierarchy, "time_reset": time_reset,
            "place": place or None, "technology": technology, "part": part, "seeds": seeds or 3,
            "progress": steps.note,
        }  # fmt: skip
        if isinstance(what, Verilog):
            steps.step(f"synthesise {what.top}")
            found = synthesis.synthesise(**what.options, target=where, **options)
            return Synthesis({**found, "command": ""})
        design = for_device(str(where), what, steps.note) if on_fpga else what
        if activity not in (None, *UNMEASURED):
            Stimulus.parse(design, str(activity))
        synthesis.check_device(design, where)
        steps.step(f"synthesise {design.module}")
        free = [one for one in synthesis.searched(design) if one not in design.told]
        found = synthesis.synthesise_design(
            design, where, activity=activity, from_kept=() if sweep else (PROJECT, USER),
            hows=free if sweep else (), **options,
        )  # fmt: skip
    return Synthesis({**found, "command": ""})


def _technology(
    where: "Library | str", sizes: dict[str, float | None], lef: Sequence[Path]
) -> "Technology":
    """Return the wires of a library, but for what is given."""
    from carrysave.asic.placement.lef import read_lef
    from carrysave.asic.placement.technology import technology

    library = synthesis.LIBRARIES[where]() if isinstance(where, str) else where
    try:
        capacitance, resistance, height = sizes.values()
        return technology(library, capacitance, resistance, height, read_lef(lef) if lef else None)
    except ValueError as error:
        raise UsageError(str(error)) from None
