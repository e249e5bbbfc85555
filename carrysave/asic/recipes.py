"""Recipes kept in the project: what a search found best, so that it need not be searched again.

``recipes.json`` has one for some designs on some libraries; ``scripts/keep_recipes.py`` writes it.
Figures are never taken from there: they are measured in each run.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from carrysave.asic.liberty.cells import Library
from hw.catalog import Design

__all__ = ["Kept", "dump", "kept", "load", "of_search"]

_NAME = "recipes.json"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What a search found best.

    Members
    -------
    design : its name, and all its parameters.
    library, library_sha256 : name and digest of the cell library.
    objective : of the search, see :func:`carrysave.asic.synthesis.synthesise`.
    hierarchy, recipe, delay_target_ns : the best point.
    area_um2, period_ns : what the search measured there.
    points : how many points were tried.
    versions : of the tools.
    """

    design: dict[str, Any]
    library: str
    library_sha256: str
    objective: str
    hierarchy: str
    recipe: str
    delay_target_ns: float
    area_um2: float
    period_ns: float
    points: int
    versions: dict[str, str]

    def note(self, area_um2: float, period_ns: float, versions: dict[str, str]) -> str:
        """Say where a recipe is from, and whether a run found other than the search."""
        tools = ", ".join(f"{name} {text}" for name, text in self.versions.items())
        text = (
            f"recipe kept in the project, the best of {self.points} points; --sweep searches again"
        )
        if (area_um2, period_ns) == (self.area_um2, self.period_ns):
            return text
        now = ", ".join(f"{name} {versions[name]}" for name in self.versions)
        return (
            f"{text}; the search found {self.area_um2:,.0f} um2 and {self.period_ns:.3f} ns"
            f" with {tools}, and this is {now}"
        )


def load() -> list[Kept]:
    """Return all that are kept."""
    text = (files(__package__ or "") / _NAME).read_text()
    return [Kept(**entry) for entry in json.loads(text)]


def dump(recipes: Sequence[Kept]) -> str:
    """Write recipes as the file has them."""
    return json.dumps([asdict(kept) for kept in recipes], indent=2) + "\n"


def kept(design: Design, library: Library, objective: str, hierarchy: str | None) -> Kept | None:
    """Return the recipe that is kept for exactly this, if there is one.

    Of any hierarchy, if None is asked for.
    """
    wanted = (_whole(design), library.sha, objective)
    for found in load():
        if (found.design, found.library_sha256, found.objective) == wanted:
            return found if hierarchy in (None, found.hierarchy) else None
    return None


def of_search(design: Design, library: Library, result: dict[str, Any], objective: str) -> Kept:
    """Make what is kept of the result of a search."""
    return Kept(
        design=_whole(design), library=library.name, library_sha256=library.sha,
        objective=objective, hierarchy=result["hierarchy_mode"], recipe=result["recipe"],
        delay_target_ns=result["delay_target_ns"], area_um2=result["area_um2"],
        period_ns=result["period_ns"], points=len(result["sweep"]),
        versions={name: result["versions"][name] for name in ("yosys", "abc", "opensta")},
    )  # fmt: skip


def _whole(design: Design) -> dict[str, Any]:
    """Return the key of a design, which is JSON, as values."""
    return json.loads(design.key)
