"""Stored recipes: what a search found best, so that it need not be searched again.

``recipes.json`` has one for some designs on some libraries; ``scripts/upkeep/keep_recipes.py``
writes it. Those that ``synth --search-recipes`` finds are in the user's cache, and the better one
of both is used. Figures are never taken from there: they are measured in each run.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from hw.catalog import Design

__all__ = ["PROJECT", "USER", "StoredRecipe", "distance", "dump", "load", "nearest", "of_search"]
__all__ += ["store", "stored"]

_NAME = "recipes.json"
PROJECT, USER = "the project", "your cache"
"""Where recipes are stored."""


_NEAREST, _FOREIGN, _ALONE = 3, 3.0, 0.25
"""How many are taken; how far another name or library is, and a parameter that the other lacks."""


@dataclass(frozen=True, kw_only=True)
class StoredRecipe:
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
    source : where it is stored.
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
    source: str = PROJECT

    @property
    def cost(self) -> float:
        """What the objective minimises; recipes are stored for these objectives only."""
        return {
            "density": self.area_um2 * self.period_ns,
            "period": self.period_ns,
            "area": self.area_um2,
        }[self.objective]

    def note(self, area_um2: float, period_ns: float, versions: dict[str, str]) -> str:
        """Say where a recipe is from, and whether this run's figures differ from the search's."""
        tools = ", ".join(f"{name} {text}" for name, text in self.versions.items())
        text = f"recipe kept in {self.source}, best of {self.points} points; a sweep searches again"
        if (area_um2, period_ns) == (self.area_um2, self.period_ns):
            return text
        now = ", ".join(f"{name} {versions[name]}" for name in self.versions)
        return (
            f"{text}; the search found {self.area_um2:,.0f} um2 and {self.period_ns:.3f} ns"
            f" with {tools}, and this is {now}"
        )


def load() -> list[StoredRecipe]:
    """Return all recipes of the project."""
    text = (files(__package__ or "") / _NAME).read_text()
    return [StoredRecipe(**entry) for entry in json.loads(text)]


def dump(recipes: Sequence[StoredRecipe]) -> str:
    """Write recipes as the file has them."""
    return json.dumps([_fields(recipe) for recipe in recipes], indent=2) + "\n"


def store(recipe: StoredRecipe) -> None:
    """Store a recipe in the user's cache, unless a better one is there."""
    path = _path(recipe.design, recipe.library_sha256, recipe.objective)
    before = _read(path)
    if before is None or recipe.cost < before.cost:
        fields = _fields(recipe)
        text = json.dumps({"sha256": cache.digest([json.dumps(fields)]), "kept": fields})
        cache.write(path, text)


def stored(
    design: Design,
    library: Library,
    objective: str,
    hierarchy: str | None,
    where: Collection[str] = (PROJECT,),
) -> StoredRecipe | None:
    """Return the best recipe that is stored for exactly this, if there is one.

    Of any hierarchy, if that is None; `where` says which stores are looked at.
    """
    wanted = (_whole(design), library.sha, objective)
    every = [one for one in load() if (one.design, one.library_sha256, one.objective) == wanted]
    of_user = _read(_path(*wanted))
    if of_user is not None:
        every.append(of_user)
    fitting = [one for one in every if one.source in where and hierarchy in (None, one.hierarchy)]
    return min(fitting, key=lambda one: one.cost, default=None)


def nearest(
    design: Design | None, library: Library, objective: str, count: int | None = None
) -> list[tuple[float, StoredRecipe]]:
    """Return stored recipes of the designs most like one, nearest first, and how far these are.

    One for each design and library, of the project and the user's cache; those of the fixed list
    are left out, for a sweep tries them all. None of what is no design of the catalogue. By default
    three at most, of the same design and library with other parameters: recipes of others gained
    nothing where that was measured.
    """
    if design is None:
        return []
    every = [*load(), *filter(None, map(_read, sorted(_folder().glob("*.json"))))]
    best: dict[str, StoredRecipe] = {}
    for one in every:
        key = json.dumps([one.design, one.library_sha256], sort_keys=True)
        if one.objective == objective and "," in one.recipe:
            best[key] = min(best.get(key, one), one, key=lambda each: each.cost)
    whole = _whole(design)
    ranked = [
        (distance(whole, one.design) + _FOREIGN * (one.library_sha256 != library.sha), one)
        for one in best.values()
    ]
    if count is None:
        count, ranked = _NEAREST, [each for each in ranked if each[0] < _FOREIGN]
    return sorted(ranked, key=lambda each: each[0])[:count]


def distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Return how unlike two designs are, each its name and all its parameters.

    Numbers differ by what the greater is more, as a share, words by 1, and a parameter that one has
    alone counts a quarter.
    """
    far = 0.0
    for name in sorted(one.keys() | other.keys()):
        if name not in one or name not in other:
            far += _ALONE
        elif name == "design":
            far += 0.0 if one[name] == other[name] else _FOREIGN
        elif isinstance(one[name], (int, float)) and isinstance(other[name], (int, float)):
            pair = abs(one[name]), abs(other[name])
            far += (1 + max(pair)) / (1 + min(pair)) - 1
        else:
            far += float(one[name] != other[name])
    return far


def _folder() -> Path:
    return cache.folder() / "recipes"


def _path(design: dict[str, Any], library: str, objective: str) -> Path:
    """Return the file of a recipe in the user's cache."""
    key = cache.digest([json.dumps(design, sort_keys=True), library, objective])
    return _folder() / f"{key[:32]}.json"


def _read(path: Path) -> StoredRecipe | None:
    """Return the recipe in a file; None if there is no file, or it is damaged."""
    try:
        text = json.loads(path.read_text())
        whole = text["sha256"] == cache.digest([json.dumps(text["kept"])])
        return StoredRecipe(**text["kept"], source=USER) if whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _fields(recipe: StoredRecipe) -> dict[str, Any]:
    """Return the fields that a file has: all but the source."""
    return {name: value for name, value in asdict(recipe).items() if name != "source"}


def of_search(
    design: Design, library: Library, result: dict[str, Any], objective: str
) -> StoredRecipe:
    """Make a stored recipe of the result of a search."""
    best = {
        name: result[name] if result[name] is not None else result[relative]
        for name, relative in (
            ("delay_target_ns", "delay_target_fo4"),
            ("area_um2", "area_ge"),
            ("period_ns", "period_fo4"),
        )
    }
    return StoredRecipe(
        design=_whole(design),
        library=library.name,
        library_sha256=library.sha,
        objective=objective,
        hierarchy=result["hierarchy_mode"],
        recipe=result["recipe"],
        delay_target_ns=best["delay_target_ns"],
        area_um2=best["area_um2"],
        period_ns=best["period_ns"],
        points=len(result["sweep"]),
        versions={name: result["versions"][name] for name in ("yosys", "abc", "opensta")},
    )


def _whole(design: Design) -> dict[str, Any]:
    """Return the key of a design, which is JSON, as values."""
    return json.loads(design.key)
