"""Comparisons of designs, and of somebody's Verilog, by one search."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public, telling
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.api.question import check_ranked, operands_of, question_of
from carrysave.api.result import Result
from carrysave.api.synthesis import Synthesis, Verilog, figures_of
from carrysave.api.targets import target_of
from carrysave.asic import synthesis
from carrysave.asic.check_options import check_options
from carrysave.asic.clock_ports import clock_of
from carrysave.asic.elaborate import elaborate
from carrysave.asic.libraries import is_fpga
from carrysave.asic.options import CompareOptions, SynthesisOptions
from carrysave.asic.power.stimulus import UNMEASURED
from carrysave.errors import ArgumentError, UsageError, check_choice, installed
from carrysave.keywords import by_name, differing
from carrysave.progress import Steps
from carrysave.report import ranking
from carrysave.report.comparison import compared, draw, write_comparison
from carrysave.report.designs import print_line
from carrysave.report.ranking import answered
from carrysave.report.synthesis import print_synthesis
from carrysave.report.synthesis_page import compare_page
from golden.check import spelled

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.asic.liberty.cells import Library
    from carrysave.report.page import Page

__all__ = ["CompareOptions", "Comparison", "compare"]

DEFAULTS = CompareOptions()


class Comparison(Result):
    """Designs side by side, each with the ratios of its figures to those of the first.

    Members
    -------
    names : list of str          As they were given, or as they are named.
    results : list of Synthesis  In that order.
    ratios : list of dict        By figure, such as ``area_um2``; None where there is none.
    answer : dict or None        The best for a period and a memory, and who misses that; see
        :func:`carrysave.report.ranking.answered`.
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

    @property
    def answer(self) -> dict[str, Any] | None:
        """The ranking for a period and a memory; None: no such question was asked."""
        return self["answer"]

    @property
    def ok(self) -> bool:
        """Whether a design meets what was asked, if something was."""
        return self.answer is None or self.answer["best"] is not None

    def show(self, console: "Console") -> None:
        """Print figures with their ratios, notes, and the files that it was saved to."""
        print_synthesis(console, [entry["result"] for entry in self["designs"]], self.names)
        if self.answer is not None:
            ranking.show(console, self.answer)
        for line in (*self["notes"], *(f"wrote {file}" for file in self.get("files", ()))):
            print_line(console, line)

    def page(self) -> "Page":
        """Return the comparison as a page."""
        return compare_page(self.facts)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each design: ``design target``, and its figures."""
        return [
            {"design": name, "target": self["target"], **figures_of(result.facts)}
            for name, result in zip(self.names, self.results, strict=True)
        ]

    def pictures(self) -> dict[str, bytes]:
        """Return ``compare``: bars of the main figures, with matplotlib."""
        return {"compare": draw(self.facts)} if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON and a picture."""
        self.facts["files"] = write_comparison(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
@by_name(CompareOptions)
def compare(
    *entrants: Design | Verilog | str,
    names: Sequence[str] | None = None,
    target: "Target" = None,
    options: CompareOptions = DEFAULTS,
    progress: Steps | bool = False,
) -> Comparison:
    """Compare designs, and somebody's Verilog: one search for all, and no stored recipe for any.

    Parameters
    ----------
    entrants : two or more; the first is the reference. A text is a design by its name, with
        parameters in brackets, such as ``opt1(encoding=booth)``.
    names : of the entrants; by default modules' names, and texts as they are.
    target : as for :func:`carrysave.synthesise`.
    options : see :class:`CompareOptions`; its fields may be given by name instead. Power is by
        default for ``normal`` operands, if all are designs that can be simulated, else for the same
        assumed activity.
    progress : say on stderr what is done.
    """
    names = [_name(one) for one in entrants] if names is None else list(names)
    if len(entrants) < 2:
        raise UsageError(f"compare needs two designs or more, not {len(entrants)}")
    read = [_design(one) if isinstance(one, str) else one for one in entrants]
    return _compare(read, names, target, options, progress=progress)


def _compare(
    entrants: Sequence[Design | Verilog],
    names: Sequence[str],
    target: "Target",
    options: CompareOptions,
    *,
    progress: Steps | bool,
) -> Comparison:
    if len(names) != len(entrants):
        raise ValueError(f"names must be {len(entrants)}, one for each, not {len(names)}")
    if len(set(names)) < len(names):
        raise UsageError(f"designs must differ, not {', '.join(names)}")
    where = target_of(target)
    fpga = is_fpga(where)
    question = question_of(options, where)
    # There a period is a question alone.
    check_options(replace(options, period_ns=None) if fpga else options, where)
    if fpga:
        entrants = tuple(
            for_device(str(where), one) if isinstance(one, Design) else one for one in entrants
        )
    else:
        options = replace(options, activity=_activity(entrants, options.activity))
    for one in entrants:
        _check(one, where)
    check_ranked(names, entrants, question)
    needed = operands_of(names, entrants, question)
    chosen = replace(options, memory=None, period_ns=None if fpga else options.period_ns)
    every = SynthesisOptions(**differing(chosen))
    results = []
    with telling(progress) as steps:
        steps.plan(len(entrants))
        for name, one in zip(names, entrants, strict=True):
            steps.step(f"synthesise {name}")
            if isinstance(one, Design):
                facts = synthesis.synthesise_design(one, where, every, progress=steps.note)
            else:
                facts = synthesis.synthesise(one, where, every, progress=steps.note)
            results.append(facts)
    facts = compared(names, results, "")
    facts["notes"] = _differences(names, entrants)
    if question is not None:
        facts["answer"] = answered(names, results, needed, question)
    return Comparison(facts)


def _differences(names: Sequence[str], entrants: Sequence[Design | Verilog]) -> list[str]:
    """Name numbers that all designs have and that differ, but not because all of them say so.

    Variants of one design are meant to differ.
    """
    designs = [one for one in entrants if isinstance(one, Design)]
    if len(designs) < len(entrants) or len({one.name for one in designs}) == 1:
        return []
    notes = []
    for key in designs[0].parameters:
        if any(key not in one.parameters for one in designs):
            continue
        values = [one.parameters[key] for one in designs]
        known = all(key in one.explicit for one in designs)
        if len({str(value) for value in values}) > 1 and isinstance(values[0], int) and not known:
            each = ", ".join(
                f"{value} of {name}" for name, value in zip(names, values, strict=True)
            )
            notes.append(f"{key} differs: {each}; give it in all of them to have it alike")
    return notes


def _check(entrant: Design | Verilog, target: "Library | str") -> None:
    """Refuse an entrant that cannot be synthesised, before the long work."""
    if isinstance(entrant, Design):
        entrant.component()
        synthesis.check_device(entrant, target)
    elif not is_fpga(target):
        files = [Path(file) for file in entrant.files]
        clock_of(elaborate(files, entrant.top, entrant.parameters), entrant.clock)


def _design(text: str) -> Design:
    """Read a design such as ``mac(k=2)``."""
    parts = spelled("a design", text)
    if parts is None:
        raise UsageError(f"design must be like NAME or NAME(KEY=VALUE,...), not {text!r}")
    return Design.parse(*parts)


def _name(entrant: Design | Verilog | str) -> str:
    if isinstance(entrant, str):
        return entrant
    return entrant.module if isinstance(entrant, Design) else entrant.top


def _activity(entrants: Sequence[Design | Verilog], activity: str | None) -> str:
    """Return what power is for on a cell library: the same for all."""
    designs = [one for one in entrants if isinstance(one, Design)]
    if activity is not None:
        check_choice("activity", activity, synthesis.ACTIVITIES)
        if activity not in UNMEASURED and len(designs) < len(entrants):
            raise ArgumentError("{activity} must be none or assumed for Verilog of no design")
        return activity
    measured = len(designs) == len(entrants)
    kinds = {synthesis.default_activity(design) for design in designs} if measured else set()
    return "normal" if kinds == {"normal"} else "assumed"
