"""Comparisons of designs, and of somebody's Verilog, by one search."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public, telling
from carrysave.api.checks import check_search
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.api.result import Result
from carrysave.api.synthesis import Synthesis, Verilog, figures_of
from carrysave.api.targets import target_of
from carrysave.asic import synthesis
from carrysave.asic.elaborate import elaborate
from carrysave.errors import UsageError, check_choice, installed
from carrysave.fpga import implementation
from carrysave.progress import Steps
from carrysave.report.comparison import compared, draw, write_comparison
from carrysave.report.designs import print_line
from carrysave.report.synthesis import print_synthesis
from carrysave.report.synthesis_page import compare_page

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.report.page import Page

__all__ = ["Comparison", "compare"]


class Comparison(Result):
    """Designs side by side, each with the ratios of its figures to those of the first.

    Members
    -------
    names : list of str          As they were given, or as they are named.
    results : list of Synthesis  In that order.
    ratios : list of dict        By figure, such as ``area_um2``; None where there is none.
    """

    @property
    def names(self) -> list[str]:
        """Names, in the order in which they were given."""
        return [entry["name"] for entry in self["designs"]]

    @property
    def results(self) -> list[Synthesis]:
        """The synthesis of each."""
        return [Synthesis(entry["result"]) for entry in self["designs"]]

    @property
    def ratios(self) -> list[dict[str, float | None]]:
        """Ratios of the figures of each to those of the first, by figure."""
        return [entry["ratios"] for entry in self["designs"]]

    def show(self, console: "Console") -> None:
        """Print figures with their ratios, notes, and the files that it was saved to."""
        print_synthesis(console, [entry["result"] for entry in self["designs"]], self.names)
        for line in (*self["notes"], *(f"wrote {file}" for file in self.get("files", ()))):
            print_line(console, line)

    def page(self) -> "Page":
        """Return the comparison as a page."""
        return compare_page(self.facts)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each design: ``design target``, and its figures."""
        return [
            {"design": name, "target": self["target"], **figures_of(found.facts)}
            for name, found in zip(self.names, self.results, strict=True)
        ]

    def pictures(self) -> dict[str, bytes]:
        """Return ``compare``: bars of the main figures, with matplotlib."""
        return {"compare": draw(self.facts)} if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON and a picture."""
        self.facts["files"] = write_comparison(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
def compare(
    *entrants: Design | Verilog,
    names: Sequence[str] | None = None,
    target: "Target" = None,
    period_ns: float | None = None,
    sweep: bool = False,
    objective: str = "density",
    activity: str | None = None,
    part: str | None = None,
    seeds: int | None = None,
    hierarchy: str | None = None,
    time_reset: bool = False,
    progress: Steps | bool = False,
) -> Comparison:
    """Compare designs, and somebody's Verilog: one search for all, and no kept recipe for any.

    Parameters
    ----------
    entrants : two or more; the first is the reference.
    names : of the entrants; by default modules' names.
    target, period_ns, sweep, objective, part, seeds, hierarchy, time_reset : as for
        :func:`carrysave.synthesise`.
    activity : what power is for; by default ``normal``, if all are designs that can be simulated,
        else the same assumed activity for all.
    progress : say on stderr what is done.
    """
    names = [_name(one) for one in entrants] if names is None else list(names)
    if len(entrants) < 2:
        raise UsageError(f"compare needs two designs or more, not {len(entrants)}")
    if len(names) != len(entrants):
        raise ValueError(f"names must be {len(entrants)}, one for each, not {len(names)}")
    if len(set(names)) < len(names):
        raise UsageError(f"designs must differ, not {', '.join(names)}")
    name = fspath(target) if isinstance(target, str | PathLike) else None
    where = target_of(target)
    check_search(
        target=name if where == name else None, period=period_ns, sweep=sweep, objective=objective,
        hierarchy=hierarchy, time_reset=time_reset, part=part, seeds=seeds, operations=None,
    )  # fmt: skip
    on_fpga = where in implementation.TARGETS
    if on_fpga:
        entrants = tuple(
            for_device(str(where), one) if isinstance(one, Design) else one for one in entrants
        )
    activity = _activity(entrants, activity, on_fpga)
    for one in entrants:  # what is wrong with it shows before the long work
        if isinstance(one, Design):
            one.component()
            synthesis.check_device(one, where)
        elif not on_fpga:
            files = [Path(file) for file in one.files]
            elaborated = elaborate(files, one.top, one.parameters)
            synthesis.clock_of(elaborated, one.clock)
    results = []
    with telling(progress) as steps:
        steps.plan(len(entrants))
        options: dict[str, Any] = {
            "period_ns": period_ns, "sweep": sweep, "objective": objective, "hierarchy": hierarchy,
            "time_reset": time_reset, "part": part, "seeds": seeds or 3, "progress": steps.note,
        }  # fmt: skip
        if not on_fpga:
            options["activity"] = activity
        for text, one in zip(names, entrants, strict=True):
            steps.step(f"synthesise {text}")
            if isinstance(one, Design):
                results.append(synthesis.synthesise_design(one, where, **options))
            else:
                results.append(synthesis.synthesise(**one.options, target=where, **options))
    return Comparison(compared(names, results, ""))


def _name(entrant: Design | Verilog) -> str:
    return entrant.module if isinstance(entrant, Design) else entrant.top


def _activity(entrants: Sequence[Design | Verilog], activity: str | None, on_fpga: bool) -> str:
    """Return what power is for: the same for all."""
    own = [one for one in entrants if isinstance(one, Design)]
    if activity is not None:
        check_choice("--activity", activity, synthesis.ACTIVITIES)
        if on_fpga:
            raise UsageError("--activity is for cell libraries")
        if activity not in ("none", "assumed") and len(own) < len(entrants):
            raise UsageError("--activity must be none or assumed for Verilog of no design")
        return activity
    measured = len(own) == len(entrants) and not on_fpga
    kinds = {synthesis.default_activity(design) for design in own} if measured else set()
    return "normal" if kinds == {"normal"} else "assumed"
