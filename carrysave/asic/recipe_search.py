"""Searches sequences of ABC's passes, beyond the list :data:`carrysave.asic.abc_scripts.MAPS`."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from carrysave.asic.abc_scripts import MAPPERS, PASSES, SIZERS
from carrysave.asic.full_adders import ADDERS
from carrysave.asic.mapping import Recipe, area
from carrysave.asic.recipes import StoredRecipe
from carrysave.asic.search import Search

__all__ = ["MOST_NEIGHBOURS", "MOST_TRIALS", "search_recipes"]

MOST_TRIALS = 10_000
MOST_NEIGHBOURS = 100
LENGTH = 6  # passes before the mapper
BATCH = 8  # trials between two looks at what was found: the same on every machine
PARENTS = 6
CHANGES = 1.5  # of a parent, in the mean
TARGETS = (0.0, 1.0, 1.1)
"""Delay targets, relative to the logic of the best of the fixed list; 0 is as fast as can be."""

_KNOWN = {
    "dch2": "ifraig,dch,dch,map0.9,fan16",
    "wide": "ifraig,dch,dch,map0.5,fan16",
    "nf": "ifraig,nf,dch,dch,map0.9,fan16",
    "syn": "resub,ifraig,nf,syn,dch,map1.0,fan8",
    "amap": "dch,amap,fan16",
}
"""Mappings of the fixed list, in the words of the search."""


def search_recipes(
    search: Search,
    trials: int,
    seed: int = 0,
    near: Sequence[tuple[float, StoredRecipe]] = (),
) -> dict[str, Any]:
    """Try more recipes of the best variant of a search, by evolution of the best that are known.

    What was best for other designs comes first, as ABC-RL (Chowdhury et al., 2024) retrieves it.

    At last the best points, old and new, have full adders of the library and other sizes, as in the
    search: so both lists end alike.

    Parameters
    ----------
    search : one that has been run; its points grow.
    trials : how many recipes.
    seed : of the proposals.
    near : recipes of designs like this one, and how far these are.

    Returns
    -------
    ``trials``, ``failed`` (those that ABC could not finish), ``before`` and ``after``: ``recipe``,
    ``delay_target_ns``, ``area_um2``, ``period_ns`` of the best; ``gain``: part by which the
    objective fell; ``neighbours``: ``design``, ``distance`` and ``recipe`` of each; ``steps``:
    after how many trials a better recipe was there, and what the objective was.
    """
    evolution = _Evolution(search, seed, [one.recipe for _, one in near])
    before = search.best()
    least = min(_value(search, one) for one in search.points if not _sized(one))
    steps = [(0, least)]
    done = failed = 0
    while done < trials:
        wanted = evolution.ask(min(BATCH, trials - done))
        if not wanted:
            break
        points = search.run([(evolution.variant, *one) for one in wanted], required=False)
        failed += len(wanted) - len(points)
        done += len(wanted)
        least = min([least, *(_value(search, one) for one in points)])
        if least < steps[-1][1]:
            steps.append((done, least))
    search.adders()
    search.resize()
    after = search.best()
    return {
        "trials": done,
        "failed": failed,
        "before": _facts(before),
        "after": _facts(after),
        "gain": 1 - _value(search, after) / _value(search, before),
        "neighbours": [
            {"design": one.design, "distance": far, "recipe": one.recipe} for far, one in near
        ],
        "steps": [list(step) for step in steps],
    }


def _sized(point: dict[str, Any]) -> bool:
    """Whether cells of a point were resized, which the trials of a search are not."""
    return bool(Recipe.parse(point["recipe"]).sizes)


def _facts(point: dict[str, Any]) -> dict[str, Any]:
    names = ("recipe", "delay_target_ns", "period_ns")
    return {**{name: point[name] for name in names}, "area_um2": area(point)}


def _value(search: Search, point: dict[str, Any]) -> float:
    """Return the number that the search minimises."""
    worth, *more = search.cost(point)
    limit = search.period_ns
    return worth if limit is None else more[0] * (1 + 10 * worth / limit)


class _Evolution:
    """Proposes recipes of others, then some that differ in a word or two from the best so far."""

    TRIES = 20  # proposals for each one that was not tried before

    def __init__(self, search: Search, seed: int, first: Sequence[str]) -> None:
        self.search = search
        self.rng = random.Random(seed)
        best = search.best()
        self.variant: int = best["variant"]
        logic = search.logic(best)
        targets = [round(factor * logic, 4) or search.FASTEST for factor in TARGETS]
        self.slots: dict[str, list[Any]] = {
            "front": search.fronts(self.variant),
            **{f"pass{number}": ["", *PASSES] for number in range(LENGTH)},
            "mapper": list(MAPPERS),
            "sizer": list(SIZERS),
            "adders": ["", *ADDERS] if search.has_adders else [""],
            "target": targets,
        }
        self.seen: set[tuple[str, float]] = {
            (point["recipe"], point["delay_target_ns"])
            for point in search.points
            if point["variant"] == self.variant
        }
        self.first = [
            words | {"target": target}
            for text in first
            if (words := self._words(Recipe.parse(text))) is not None
            for target in targets[:2]
        ]

    def ask(self, count: int) -> list[tuple[Recipe, float]]:
        """Propose recipes and delay targets that were not tried; fewer if no more are left."""
        parents = self._parents()
        asked: list[tuple[Recipe, float]] = []
        for _ in range(self.TRIES * count):
            if self.first:
                words = self.first.pop(0)
            else:
                words = self._changed(self.rng.choice(parents)) if parents else self._drawn()
            passes = [words[f"pass{number}"] for number in range(LENGTH)]
            text = ",".join([*filter(None, passes), words["mapper"], words["sizer"]])
            recipe, target = Recipe(words["front"], text, words["adders"]), words["target"]
            if (str(recipe), target) not in self.seen and "," in text:
                self.seen.add((str(recipe), target))
                asked.append((recipe, target))
            if len(asked) == count:
                break
        return asked

    def _parents(self) -> list[dict[str, Any]]:
        """Return the words of the best points that the search has words for."""
        ranked = sorted(self.search.points, key=self.search.cost)
        parents: list[dict[str, Any]] = []
        for point in ranked:
            recipe = Recipe.parse(point["recipe"])
            words = None if recipe.sizes else self._words(recipe)
            if point["variant"] != self.variant or words is None:
                continue
            known = words | {"front": recipe.front, "target": point["delay_target_ns"]}
            if known not in parents:
                parents.append(known)
        return parents[:PARENTS]

    def _words(self, recipe: Recipe) -> dict[str, Any] | None:
        """Return the words of a recipe, without sizes; None if the search has none for it."""
        words = _KNOWN.get(recipe.map, recipe.map)
        if "," not in words:
            return None
        *passes, mapper, sizer = words.split(",")
        if not ({*passes} <= {*PASSES} and mapper in MAPPERS and sizer in SIZERS):
            return None  # of another version
        passes += [""] * (LENGTH - len(passes))
        fronts = self.slots["front"]
        return {
            "front": recipe.front if recipe.front in fronts else fronts[0],
            "mapper": mapper,
            "sizer": sizer,
            "adders": recipe.adders if recipe.adders in self.slots["adders"] else "",
            **{f"pass{number}": word for number, word in enumerate(passes)},
        }

    def _changed(self, parent: Mapping[str, Any]) -> dict[str, Any]:
        """Return a parent with other words in some places."""
        free = [name for name, words in self.slots.items() if len(words) > 1]
        rate = CHANGES / len(free)
        child = dict(parent)
        for name in [name for name in free if self.rng.random() < rate] or [self.rng.choice(free)]:
            child[name] = self.rng.choice(self.slots[name])
        return child

    def _drawn(self) -> dict[str, Any]:
        """Return words at random."""
        return {name: self.rng.choice(words) for name, words in self.slots.items()}
