"""Searches of designs for the best in several figures at once."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave import jobs
from carrysave.api.call import public, telling
from carrysave.api.checks import check_place, check_search
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.api.result import Result
from carrysave.api.targets import target_of
from carrysave.errors import UsageError, installed
from carrysave.exploration import view
from carrysave.exploration.front import GENERIC, MAPPED, OBJECTIVES
from carrysave.exploration.run import Request, run
from carrysave.exploration.space import Point, Space
from carrysave.fpga import implementation
from carrysave.progress import Steps
from carrysave.report.designs import print_line
from hw import catalog
from hw.device import family

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.report.page import Page

__all__ = ["Exploration", "explore"]

_MOST_MACS = 4096


class Exploration(Result):
    """A search: the designs that were measured, and which of them no other beats in all figures.

    Members
    -------
    ok : bool                  There is a front, and no bench failed.
    designs : list of Design   The front, the best in the first figure first.
    objectives : list of str   Figures, such as ``gops_per_mm2``.
    points : list of dict      What was measured, the front first: design, values, verdicts.
    wrong : list of str        Modules whose bench failed.
    """

    @property
    def ok(self) -> bool:
        """Whether there is a front, and no bench failed."""
        return not self["wrong"] and self["front"] > 0

    @property
    def designs(self) -> list[Design]:
        """The front, the best in the first figure first."""
        return [Design(row["design"], row["parameters"]) for row in self["points"] if row["front"]]

    @property
    def objectives(self) -> list[str]:
        """Figures that were looked at."""
        return self["objectives"]

    @property
    def points(self) -> list[dict[str, Any]]:
        """All that was measured, the front first."""
        return self["points"]

    @property
    def wrong(self) -> list[str]:
        """Modules whose bench failed."""
        return self["wrong"]

    def show(self, console: "Console") -> None:
        """Print the front, what was tried, and the files that it was saved to."""
        view.show(console, self.facts)
        for file in self["files"]:
            print_line(console, f"wrote {file}")

    def page(self) -> "Page":
        """Return the search as a page."""
        return view.page(self.facts)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each point: ``module design``, its values, the objectives, verdicts."""
        axes = dict.fromkeys(name for row in self["points"] for name in row["values"])
        verdicts = ("front", "beaten_by", "verified", "allowed", "error")
        return [
            {
                "module": row["module"], "design": row["design"],
                **{axis: row["values"].get(axis) for axis in axes},
                **{name: row[name] for name in (*self.objectives, *verdicts)},
            }
            for row in self["points"]
        ]  # fmt: skip

    def pictures(self) -> dict[str, bytes]:
        """Return ``explore``: the points by the first two figures, and the front."""
        return {"explore": view.draw(self.facts)} if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON, which ``carrysave generate --from`` reads, and a picture."""
        self.facts["files"] = view.write(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
def explore(
    space: Mapping[str, Any] | str | PathLike[str] | None = None,
    *,
    macs: int | None = None,
    objective: str | Sequence[str] | None = None,
    target: "Target" = None,
    trials: int = 50,
    method: str = "model",
    estimate: bool = True,
    verify: str = "front",
    seed: int = 1,
    period_ns: float | None = None,
    sweep: bool = False,
    place: bool = False,
    part: str | None = None,
    seeds: int | None = None,
    progress: Steps | bool = False,
) -> Exploration:
    """Search designs and parameters for the best in several figures at once.

    What was measured once, in whatever search, is kept. Designs are measured by the session of
    :mod:`carrysave.jobs` that the call is in, else on all cores.

    Parameters
    ----------
    space : a TOML file, or a table as it has: ``designs``, a list of names; ``parameters``, values
        by name; ``constraints``, expressions. None: int8 arrays, see `macs`.
    macs : in place of a space: arrays of so many MACs per cycle, 1..4096; 16 by default.
    objective : figures to be best in; by default ``gops_per_mm2`` and ``pj_per_mac``, on the
        generic library ``operations_per_fo4_kge`` and ``kge``, on FPGAs ``gops`` and ``luts``, on
        those that are mapped only ``luts`` and ``dsps``.
    target : as for :func:`carrysave.synthesise`.
    trials : designs to measure at most.
    method : ``model``, ``tpe``, ``nsga2``, ``random`` or ``grid``.
    estimate : by ``model``, measure no design that looks hopeless by its estimate.
    verify : which designs must pass their bench: ``front``, ``all`` or ``none``.
    seed : of the search, 0 or more.
    period_ns, sweep, part, seeds : of each synthesis, as for :func:`carrysave.synthesise`.
    place : at last place the front on the cell library, and measure it with its wires.
    progress : say on stderr what is done.

    Raises
    ------
    ArgumentError
        Arguments out of range, or a space without a legal point.
    """
    name = fspath(target) if isinstance(target, str | PathLike) else None
    where = target_of(target)
    named = name if where == name else None
    check_search(
        target=named, period=period_ns, sweep=sweep, objective="density",
        hierarchy=None, time_reset=False, part=part, seeds=seeds, operations=None,
    )  # fmt: skip
    check_place(place, named)
    if space is not None and macs is not None:
        raise UsageError("--macs is in place of a --space")
    if macs is not None and not 1 <= macs <= _MOST_MACS:
        raise UsageError(f"--macs must be 1..{_MOST_MACS}, not {macs}")
    if seed < 0:
        raise UsageError(f"--seed must be 0 or more, not {seed}")
    on_fpga = where in implementation.TARGETS
    figures = [objective] if isinstance(objective, str) else objective
    default = ["gops", "luts"] if on_fpga else ["gops_per_mm2", "pj_per_mac"]
    if on_fpga and family(str(where)).flow.nextpnr is None:
        default = ["luts", "dsps"]
        _check_known(figures or (), MAPPED, f"{where}, which is mapped only")
    elif where == "generic":
        default = [*GENERIC[:2]]
        _check_known(figures or (), GENERIC, "generic, which knows gates and FO4 alone")
    options: dict[str, Any] = {"period_ns": period_ns, "sweep": sweep}
    if on_fpga:
        options = {"part": part, "seeds": seeds or 3}

    def prepare(point: Point) -> catalog.Design:
        if not on_fpga:
            return point.design
        return for_device(str(where), Design(point.design.name, point.values))

    with telling(progress) as steps, jobs.session() as session:
        request = Request(
            space=_space(space, macs or 16, blocks=on_fpga),
            target=where,
            objectives=tuple(default if figures is None else figures),
            trials=trials, method=method, verify=verify, seed=seed,
            batch=2 * (session.options.jobs or jobs.cores()), skip=estimate,
            options=options, place=place, prepare=prepare,
        )  # fmt: skip
        return Exploration(run(request, steps))


def _check_known(figures: Sequence[str], known: Sequence[str], where: str) -> None:
    """Refuse objectives that a target does not have."""
    for one in figures:
        if one in OBJECTIVES and one not in known:
            raise UsageError(f"--objective must be one of {', '.join(known)} on {where}, not {one}")


def _space(
    space: Mapping[str, Any] | str | PathLike[str] | None, macs: int, *, blocks: bool
) -> Space:
    """Return the space that is meant."""
    if space is None:
        return Space.of_macs(macs, blocks=blocks)
    return Space.of_table(space) if isinstance(space, Mapping) else Space.read(Path(space))
