"""Searches of designs for the best in several figures at once."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave import jobs
from carrysave.api.call import public, telling
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.api.result import Result
from carrysave.api.targets import target_of
from carrysave.asic.check_options import check_options, check_place
from carrysave.asic.libraries import is_fpga
from carrysave.errors import ArgumentError, installed
from carrysave.exploration import page, view
from carrysave.exploration.front import GENERIC, MAPPED, OBJECTIVES
from carrysave.exploration.options import ExploreOptions
from carrysave.exploration.run import Request, run
from carrysave.exploration.space import Point, Space
from carrysave.keywords import by_name
from carrysave.progress import Steps
from carrysave.report.designs import print_line
from hw import catalog
from hw.device import family

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.api.targets import Target
    from carrysave.asic.liberty.cells import Library
    from carrysave.report.page import Page

__all__ = ["Exploration", "ExploreOptions", "explore"]

DEFAULTS = ExploreOptions()

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
        return page.page(self.facts)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each point: ``module design``, its values, the objectives, verdicts."""
        axes = dict.fromkeys(name for row in self["points"] for name in row["values"])
        verdicts = ("front", "beaten_by", "verified", "allowed", "error")
        return [
            {
                "module": row["module"],
                "design": row["design"],
                **{axis: row["values"].get(axis) for axis in axes},
                **{name: row[name] for name in (*self.objectives, *verdicts)},
            }
            for row in self["points"]
        ]

    def pictures(self) -> dict[str, bytes]:
        """Return ``explore``: the points by the first two figures, and the front."""
        return {"explore": view.draw(self.facts)} if installed("matplotlib") else {}

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write JSON, which ``carrysave generate --from`` reads, and a picture."""
        self.facts["files"] = view.write(Path(folder), self.facts)
        return [Path(file) for file in self["files"]]


@public
@by_name(ExploreOptions)
def explore(
    space: Mapping[str, Any] | str | PathLike[str] | None = None,
    *,
    macs: int | None = None,
    target: "Target" = None,
    options: ExploreOptions = DEFAULTS,
    progress: Steps | bool = False,
) -> Exploration:
    """Search designs and parameters for the best in several figures at once.

    What was measured once, in whatever search, is stored. Designs are measured by the session of
    :mod:`carrysave.jobs` that the call is in, else on all cores.

    Parameters
    ----------
    space : a TOML file, or a table as it has: ``designs``, a list of names; ``parameters``, values
        by name; ``constraints``, expressions. None: int8 arrays, see `macs`.
    macs : in place of a space: arrays of this many MACs per cycle, 1..4096; 16 by default.
    target : as for :func:`carrysave.synthesise`.
    options : see :class:`ExploreOptions`; its fields may be given by name instead, such as
        ``trials=20`` or ``objective="kge"``.
    progress : say on stderr what is done.

    Raises
    ------
    ArgumentError
        Arguments out of range, or a space without a legal point.
    """
    where = target_of(target)
    check_options(options.synthesis, where)
    check_place(options.place, where)
    if space is not None and macs is not None:
        raise ArgumentError("{macs} is in place of a {space}")
    if macs is not None and not 1 <= macs <= _MOST_MACS:
        raise ArgumentError("{macs} must be 1..{most}, not {value}", most=_MOST_MACS, value=macs)
    on_fpga = is_fpga(where)

    def prepare(point: Point) -> catalog.Design:
        if not on_fpga:
            return point.design
        return for_device(str(where), Design(point.design.name, point.values))

    with telling(progress) as steps, jobs.session() as session:
        request = Request(
            space=_space(space, macs or 16, blocks=on_fpga),
            target=where,
            objectives=_objectives(options.objectives, where),
            options=options,
            batch=2 * (session.options.jobs or jobs.cores()),
            prepare=prepare,
        )
        return Exploration(run(request, steps))


def _objectives(figures: tuple[str, ...] | None, where: "Library | str") -> tuple[str, ...]:
    """Return the objectives of a target: those that are given, or its own."""
    if is_fpga(where) and family(str(where)).flow.nextpnr is None:
        default: Sequence[str] = ("luts", "dsps")
        _check_known(figures or (), MAPPED, f"{where}, which is mapped only")
    elif is_fpga(where):
        default = ("gops", "luts")
    elif where == "generic":
        default = GENERIC[:2]
        _check_known(figures or (), GENERIC, "generic, which knows gates and FO4 alone")
    else:
        default = ("gops_per_mm2", "pj_per_mac")
    return figures or tuple(default)


def _check_known(figures: Sequence[str], known: Sequence[str], where: str) -> None:
    """Refuse objectives that a target does not have."""
    for one in figures:
        if one in OBJECTIVES and one not in known:
            raise ArgumentError(
                "{objective} must be one of {legal} on {where}, not {value}",
                legal=", ".join(known),
                where=where,
                value=one,
            )


def _space(
    space: Mapping[str, Any] | str | PathLike[str] | None, macs: int, *, blocks: bool
) -> Space:
    """Return the space that is meant."""
    if space is None:
        return Space.of_macs(macs, blocks=blocks)
    return Space.of_table(space) if isinstance(space, Mapping) else Space.read(Path(space))
