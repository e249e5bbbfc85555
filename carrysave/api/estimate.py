"""Figures of a design before it is built."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import public
from carrysave.api.result import Result
from carrysave.asic.libraries import TARGETS
from carrysave.errors import ArgumentError, check_choice, needs
from carrysave.exploration.estimate import LEVEL, Estimator, shipped
from carrysave.report.designs import print_line
from carrysave.report.page import Page
from carrysave.report.tables import Section
from hw.catalog import Design

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Estimate", "estimate"]

_SHAPE = "no design of this shape (m, n, k) was measured: intervals are wider, as of such shapes"
_PARTS = ("estimate", "low", "high")


class Estimate(Result):
    """Figures of a design that was not built, each with its interval.

    Members
    -------
    figures : dict    By name, such as ``area_um2`` or ``period_ns``: ``estimate low high``.
    level : float     Share of designs of which the truth is between ``low`` and ``high``.
    measured : int    Designs that the model was fitted to.
    notes : list of str
    """

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """``estimate low high`` by figure."""
        return self["figures"]

    @property
    def level(self) -> float:
        """Share of designs of which the truth is in the interval."""
        return self["level"]

    @property
    def measured(self) -> int:
        """Designs that the model was fitted to."""
        return self["measured"]

    @property
    def notes(self) -> list[str]:
        """What to know of these figures."""
        return self["notes"]

    def show(self, console: "Console") -> None:
        """Print the figures and their intervals."""
        from rich.table import Table

        table = Table("figure", title=self._title, title_justify="left")
        for head in self._heads:
            table.add_column(head, justify="right")
        for name, one in self.figures.items():
            table.add_row(name, *(_text(one[part]) for part in _PARTS))
        console.print(table)
        for line in self._lines:
            print_line(console, line)

    def page(self) -> Page:
        """Return the figures as a page."""
        rows = [
            (name, *(_text(one[part]) for part in _PARTS)) for name, one in self.figures.items()
        ]
        return Page(
            title=self._title,
            says=" - ".join(self._lines),
            command=self.command,
            versions=self["versions"],
            parts=[Section("figures", ("figure", *self._heads), rows)],
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each figure: ``figure estimate low high``."""
        return [{"figure": name, **one} for name, one in self.figures.items()]

    @property
    def _title(self) -> str:
        return f"{self['module']} on {self['target']}, estimated"

    @property
    def _heads(self) -> tuple[str, str, str]:
        return "estimate", f"{self.level:.0%} between", "and"

    @property
    def _lines(self) -> list[str]:
        lines = [f"from {self.measured} designs that were measured", *self.notes]
        if "power_mw" in self.figures:
            lines.append(f"power at: {self['activity']}")
        return lines


def _text(value: float) -> str:
    return f"{value:,.5g}" if value < 1e5 else f"{value:,.0f}"


@public
def estimate(
    design: Design, target: str = "osu018", *, model: str | PathLike[str] | None = None
) -> Estimate:
    """Estimate area, period, power and speed of a design before anything is built.

    A Gaussian process of designs that were measured, with intervals by conformal prediction.

    Parameters
    ----------
    design : like those that were measured; others are refused.
    target : cell library or FPGA.
    model : a file of ``carrysave estimate --fit``; by default the one that comes with carrysave.

    Raises
    ------
    ArgumentError
        There is no model of the target, or the design is unlike all that were measured.
    """
    needs("sklearn")
    check_choice("target", target, TARGETS)
    path = shipped(target) if model is None else Path(model)
    if path is None:
        raise ArgumentError(
            "{target} must be one of {legal}, of which carrysave has a model, not "
            "{value}; {fit} makes one of what you measured",
            legal=", ".join(name for name in TARGETS if shipped(name)),
            value=target,
        )
    known = Estimator.read(path)
    if known.target != target:
        raise ArgumentError(
            "{model} must be of {target} {wanted}, not of {value}",
            wanted=target,
            value=known.target,
        )
    return Estimate({
        "design": design.name,
        "module": design.module,
        "parameters": dict(design.parameters),
        "target": known.target,
        "level": LEVEL,
        "figures": known.estimate(design),
        "activity": known.activity,
        "measured": len(known.measured),
        "model": str(path),
        "versions": dict(known.versions),
        "files": [],
        "notes": [] if known.has_shape(design) else [_SHAPE],
    })
