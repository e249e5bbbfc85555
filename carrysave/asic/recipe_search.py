"""Searches sequences of ABC's passes, beyond the list :data:`carrysave.asic.abc_scripts.MAPS`."""

import random
from collections.abc import Mapping
from typing import Any

from carrysave.asic.abc_scripts import MAPPERS, PASSES, SIZERS
from carrysave.asic.full_adders import ADDERS
from carrysave.asic.mapping import Recipe, area
from carrysave.asic.search import Search

__all__ = ["MOST_TRIALS", "search_recipes"]

MOST_TRIALS = 10_000
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


def search_recipes(search: Search, trials: int, *, seed: int = 0) -> dict[str, Any]:
    """Try more recipes of the best variant of a search, by evolution of the best that are known.

    At last the best points, old and new, have full adders of the library and other sizes, as in the
    search: so both lists end alike.

    Parameters
    ----------
    search : one that has been run; its points grow.
    trials : how many recipes.
    seed : of the proposals.

    Returns
    -------
    ``trials``, ``failed`` (those that ABC could not finish), ``before`` and ``after``: ``recipe``,
    ``delay_target_ns``, ``area_um2``, ``period_ns`` of the best; ``gain``: part by which the
    objective fell.
    """
    evolution = _Evolution(search, seed)
    before = search.best()
    done = failed = 0
    while done < trials:
        wanted = evolution.ask(min(BATCH, trials - done))
        if not wanted:
            break
        points = search.run([(evolution.variant, *one) for one in wanted], required=False)
        failed += len(wanted) - len(points)
        done += len(wanted)
    search.adders()
    search.resize()
    after = search.best()
    return {
        "trials": done,
        "failed": failed,
        "before": _facts(before),
        "after": _facts(after),
        "gain": 1 - _value(search, after) / _value(search, before),
    }


def _facts(point: dict[str, Any]) -> dict[str, Any]:
    names = ("recipe", "delay_target_ns", "period_ns")
    return {**{name: point[name] for name in names}, "area_um2": area(point)}


def _value(search: Search, point: dict[str, Any]) -> float:
    """Return the number that the search minimises."""
    worth, *more = search.cost(point)
    limit = search.period_ns
    return worth if limit is None else more[0] * (1 + 10 * worth / limit)


class _Evolution:
    """Proposes recipes that differ in a word or two from the best so far."""

    TRIES = 20  # proposals for each one that was not tried before

    def __init__(self, search: Search, seed: int) -> None:
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
        self.seen: set[tuple[str, float]] = set()

    def ask(self, count: int) -> list[tuple[Recipe, float]]:
        """Propose recipes and delay targets that were not tried; fewer if no more are left."""
        parents = self._parents()
        asked: list[tuple[Recipe, float]] = []
        for _ in range(self.TRIES * count):
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
            words = _KNOWN.get(recipe.map, recipe.map)
            if point["variant"] != self.variant or recipe.sizes or "," not in words:
                continue
            *passes, mapper, sizer = words.split(",")
            passes += [""] * (LENGTH - len(passes))
            known = {
                "front": recipe.front,
                "mapper": mapper,
                "sizer": sizer,
                "adders": recipe.adders,
                "target": point["delay_target_ns"],
                **{f"pass{number}": word for number, word in enumerate(passes)},
            }
            if known not in parents:
                parents.append(known)
        return parents[:PARENTS]

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
