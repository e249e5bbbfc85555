"""Syntheses: of a design, or of somebody's Verilog."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public, telling
from carrysave.api.device import for_device
from carrysave.api.explicit_design import ExplicitDesign
from carrysave.api.result import Result
from carrysave.api.targets import target_of
from carrysave.asic import synthesis
from carrysave.asic.cell_synthesis import technology_of
from carrysave.asic.check_options import check_options
from carrysave.asic.kits import lef_of
from carrysave.asic.liberty.cells import Library
from carrysave.asic.libraries import is_fpga, library_of
from carrysave.asic.options import SynthesisOptions, Verilog
from carrysave.asic.placement.technology import known_technology
from carrysave.asic.power.stimulus import UNMEASURED, Stimulus
from carrysave.asic.recipes import PROJECT, USER
from carrysave.errors import ArgumentError, check_positive, installed
from carrysave.keywords import by_name
from carrysave.progress import Steps
from carrysave.report import synthesis as report
from carrysave.report.figures import FIGURES
from carrysave.report.synthesis_page import synthesis_page

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.report.page import Page

__all__ = ["Synthesis", "SynthesisOptions", "Verilog", "figures_of", "synthesise"]


def figures_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the plain figures of a synthesis by key, such as ``area_um2``; those that are there.

    Each key ends in its unit, or counts.
    """
    figures = {figure.key: facts.get(figure.key) for figure in FIGURES}
    return {key: one for key, one in figures.items() if isinstance(one, int | float | str)}


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
    routed : dict or None  The same with wires on tracks, if it was routed.
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

    @property
    def routed(self) -> dict[str, Any] | None:
        """Figures with routed wires, by the same keys; None if it was not routed."""
        return self.get("routed")

    def show(self, console: "Console") -> None:
        """Print figures, conditions, and the files that it was saved to."""
        report.print_synthesis(console, [self.facts])

    def page(self) -> "Page":
        """Return figures, search and critical path as a page."""
        return synthesis_page({"files": [], **self.facts})

    def records(self) -> list[dict[str, Any]]:
        """Return one row: ``module target`` and every figure; one more if placed, or routed."""
        names = {"module": self.module, "target": self.target, "stage": "mapped"}
        rows = [{**names, **figures_of(self.facts)}]
        if self.placed:
            rows.append({**names, "stage": "placed", **figures_of(self.placed)})
        if self.routed:
            rows.append({**names, "stage": "routed", **figures_of(self.routed)})
        return rows

    def pictures(self) -> dict[str, bytes]:
        """Return ``sweep`` and ``floor``, of what was searched and placed, with matplotlib."""
        return report.pictures(self.facts) if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON, netlists and pictures."""
        self.facts["files"] = report.write_synthesis(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
@by_name(SynthesisOptions)
def synthesise(
    what: ExplicitDesign | Verilog,
    target: "Target" = None,
    options: SynthesisOptions = synthesis.DEFAULTS,
    *,
    progress: Steps | bool = False,
) -> Synthesis:
    """Synthesise a design, or somebody's Verilog: area, timing, power.

    Results are cached by content. Where a search's best recipe is stored in the project, it is
    used, and the result says so.

    Parameters
    ----------
    what : a design; of the catalogue, on an FPGA, it is built of the device's blocks and in the
        form that is best there, but for the parameters that were given.
    target : a cell library or a family of FPGAs by its name; a Liberty file, or several for the
        corners of one, of which the first is mapped to and the slowest sets the period; a library.
        None: osu018 if it is installed, else ``generic``.
    options : see :class:`SynthesisOptions`; its fields may be given by name instead, such as
        ``period_ns=2.5`` or ``place=True``. A sweep tries parameters that were not given, too.
    progress : say on stderr what is done.

    Raises
    ------
    ArgumentError
        Arguments out of range, or that exclude each other.
    """
    where = target_of(target)
    options = _with_lef(options, where)
    check_options(options, where)
    if options.places and not is_fpga(where):
        technology_of(options, library_of(where))  # what is wrong with it shows before any work
    with telling(progress) as steps:
        if isinstance(what, Verilog):
            _check_verilog(what, options)
            steps.step(f"synthesise {what.top}")
            facts = synthesis.synthesise(what, where, options, progress=steps.note)
            return Synthesis({**facts, "command": ""})
        design = for_device(str(where), what, steps.note) if is_fpga(where) else what
        if options.activity not in (None, *UNMEASURED):
            Stimulus.parse(design, str(options.activity))
        synthesis.check_device(design, where)
        steps.step(f"synthesise {design.module}")
        free = [name for name in synthesis.searched(design) if name not in design.explicit]
        facts = synthesis.synthesise_design(
            design,
            where,
            options,
            progress=steps.note,
            stored_recipes=(PROJECT, USER),
            search_parameters=free if options.sweeps and not options.brief else (),
        )
    return Synthesis({**facts, "command": ""})


def _with_lef(options: SynthesisOptions, where: str | Library) -> SynthesisOptions:
    """Return options with LEF of a process's kit, if they need some and name none."""
    if options.lef or not options.places or not isinstance(where, Library):
        return options
    needed = options.route or known_technology(where) is None
    return replace(options, lef=lef_of(where)) if needed else options


def _check_verilog(verilog: Verilog, options: SynthesisOptions) -> None:
    """Refuse what needs a design of the catalogue."""
    check_positive("operations", verilog.operations)
    if options.activity not in (None, *UNMEASURED):
        raise ArgumentError("{activity} is for designs of the catalogue")
