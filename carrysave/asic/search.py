"""Searches the best netlist of a design: over recipes, delay targets, hierarchies, and variants."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from carrysave import jobs
from carrysave.asic import resized
from carrysave.asic.abc_scripts import MAPS
from carrysave.asic.full_adders import ADDERS, FEWER
from carrysave.asic.mapping import Flow, Recipe, area, front_end, fronts, point, point_job
from hw.catalog import Design

__all__ = ["BUILD_KEYS", "OBJECTIVES", "Search", "Variant"]

OBJECTIVES = ("density", "period", "area", "energy")
"""``energy`` is for a period to meet."""

RELAXED = (1.08, 1.2, 1.4, 1.8)  # delay targets of a sweep, of the fastest logic of a recipe
BEST_RECIPES = 4
BEST_OF_BUILDS = 2  # mappings that each other way to build a design gets at first
RETRY_FACTOR = 0.92  # of a delay target, where the clock was missed by little
ADDERS_OF = 2  # mappings that are tried with full adders of the library
RESIZED = 6  # points whose cells are resized
BRIEFLY = 3  # of a brief search
BUILD_KEYS = ("build", "hows")  # of JSON; the second one goes with the release after 0.1
QUIET_MAPS = ("amap", "wide", "nf")
"""Mappings that are tried for the least energy: small ones; speed is for the sizes."""
_NARROWLY = 0.05  # of a period: what misses it by less is sized again, for a shorter one
_SLOWEST = 100.0


@dataclass(frozen=True)
class Variant:
    """One way to build a design, and the modules of it that are mapped once each.

    Members
    -------
    hierarchy : which modules are mapped once, of
        :data:`carrysave.asic.elaborate.HIERARCHIES`.
    design : with other parameters of how it is built; None if it is no design of the catalogue.
    build : those parameters that differ from what was asked for.
    """

    hierarchy: str
    flow: Flow
    design: Design | None
    build: dict[str, Any]

    def __str__(self) -> str:
        return ", ".join([self.hierarchy, *(f"{name}={x}" for name, x in self.build.items())])


class Search:
    """Runs points of a design until the best by an objective is found.

    Members
    -------
    FASTEST : delay target in ns, out of reach, so that ABC maps for speed throughout.
    points : what was measured so far, see :func:`carrysave.asic.mapping.point`; each has the number
        of its ``variant``, too.

    Parameters
    ----------
    variants : the first is what was asked for.
    overhead_ns : part of a period that is not the logic's: clock-to-q and setup.
    combine : makes more variants, with these parameters of how the design is built.
    energy : of a point, pJ per cycle; for that objective.
    """

    FASTEST = 0.001

    def __init__(
        self,
        variants: Sequence[Variant],
        *,
        objective: str,
        overhead_ns: float,
        period_ns: float | None = None,
        say: Callable[[str], None] = lambda text: None,
        maps: Sequence[str] | None = None,
        combine: Callable[[Mapping[str, Any]], Iterable[Variant]] = lambda build: (),
        energy: Callable[[dict[str, Any]], float] | None = None,
    ) -> None:
        self.variants = list(variants)
        self.combine = combine
        self.energy = energy
        self.objective = objective
        self.overhead_ns = overhead_ns
        self.period_ns = period_ns
        self.say = say
        self.maps = maps
        self.points: list[dict[str, Any]] = []

    def single(self, recipe: Recipe | None = None) -> dict[str, Any]:
        """Run one mapping per front end at full speed; with a period, the others for it.

        Parameters
        ----------
        recipe : the only one to run.
        """
        if recipe is not None:
            self.run([(0, recipe, self.FASTEST)])
            return self.best()
        if self.objective == "energy":
            self.quiet([0])
            return self.best()
        fronts = self.fronts(0)
        self.run([(0, Recipe(front, "dch2"), self.FASTEST) for front in fronts])
        if self.period_ns is not None:
            self.meet(max(self.period_ns - self.overhead_ns, self.FASTEST), fronts)
        return self.best()

    def meet(self, logic: float, fronts: Sequence[str]) -> None:
        """Run the mappings with a logic delay that leaves time for clock-to-q and setup."""
        assert self.period_ns is not None
        if self.maps is None:
            self.run([(0, Recipe(front, map_), logic) for front in fronts for map_ in MAPS])
            return
        for map_ in self.maps:
            recipes = [Recipe(front, map_) for front in fronts]
            points = self.run([(0, recipe, logic) for recipe in recipes])
            late = [point["period_ns"] - self.period_ns for point in points]
            # A point that narrowly missed the clock meets it with a tighter target.
            points += self.run([
                (0, recipe, max(RETRY_FACTOR * logic - by, self.FASTEST))
                for recipe, by in zip(recipes, late, strict=True)
                if by > 0
            ])
            if any(point["period_ns"] <= self.period_ns for point in points):
                return

    def sweep(self) -> dict[str, Any]:
        """Run every recipe at full speed, relax the best, refine around the best point.

        What was asked for gets all mappings; every other way to build the design those that were
        best there, and the best of these ways the rest, too; every other hierarchy of the best way
        of all those that are best by then. Last, the best mappings have full adders of the library,
        and the best points other sizes.
        """
        if self.objective == "energy":
            return self.sweep_quietly()
        done = self.full_speed([0], MAPS)
        ways = self.ways()
        if ways:
            maps = self.best_maps(done)[:BEST_OF_BUILDS]
            first = self.full_speed(ways, maps)
            first += self.full_speed(self.combined(done + first), maps)
            best = min(first, key=self.cost)["variant"]
            rest = self.best_maps(done)[BEST_OF_BUILDS:]
            done += first + self.full_speed([best], rest)
        chosen = self.variants[min(done, key=self.cost)["variant"]]
        others = [
            number
            for number, variant in enumerate(self.variants)
            if variant.build == chosen.build and variant.hierarchy != chosen.hierarchy
        ]
        done += self.full_speed(others, self.best_maps(done)[:BEST_RECIPES])
        fast = sorted(done, key=self.cost)
        self.run([
            (quick["variant"], Recipe.parse(quick["recipe"]), factor * self.logic(quick))
            for quick in fast[:BEST_RECIPES]
            for factor in RELAXED
        ])
        for _ in range(2):
            best = self.best()
            tried = sorted(
                point["delay_target_ns"]
                for point in self.points
                if (point["variant"], point["recipe"]) == (best["variant"], best["recipe"])
            )
            at = tried.index(best["delay_target_ns"])
            fastest = min(self.logic(point) for point in self.points)
            around = [max(value, 0.9 * fastest) for value in tried[max(at - 1, 0) : at + 2]]
            middle = [(low + high) / 2 for low, high in pairwise(around)]
            recipe = Recipe.parse(best["recipe"])
            self.run([(best["variant"], recipe, round(value, 4)) for value in middle])
        self.adders()
        self.resize()
        return self.best()

    def brief(self) -> dict[str, Any]:
        """Run every mapping of what was asked for at full speed, and resize the best few.

        For arrays of many cells: the rest of :meth:`sweep` takes four times as long, and gains
        little where sizes are found afterwards.
        """
        self.full_speed([0], MAPS)
        self.resize(BRIEFLY)
        return self.best()

    def ways(self) -> list[int]:
        """Return the variants that are built otherwise than what was asked for."""
        return [
            number
            for number, variant in enumerate(self.variants)
            if variant.build and variant.hierarchy == self.variants[0].hierarchy
        ]

    def combined(self, done: Sequence[dict[str, Any]]) -> list[int]:
        """Make a variant with the best value of each parameter, if there are several better."""
        costs = dict.fromkeys(range(len(self.variants)), math.inf)
        ranked = sorted(done, key=self.cost, reverse=True)
        for rank, leader in enumerate(ranked):
            costs[leader["variant"]] = len(ranked) - rank
        best: dict[str, tuple[float, Any]] = {}
        for number in self.ways():
            (name, value), *more = self.variants[number].build.items()
            if not more and costs[number] < costs[0]:
                best[name] = min(best.get(name, (math.inf, None)), (costs[number], value))
        if len(best) < 2:
            return []
        start = len(self.variants)
        wanted = {name: value for name, (_, value) in best.items()}
        self.variants += [
            variant
            for variant in self.combine(wanted)
            if variant.hierarchy == self.variants[0].hierarchy
        ]
        return list(range(start, len(self.variants)))

    @property
    def has_adders(self) -> bool:
        """Whether the library has full adders."""
        return self.variants[0].flow.library.full_adder is not None

    def adders(self) -> None:
        """Run the best points again with full adders of the library, if it has one."""
        wanted: dict[str, tuple[int, Recipe, float]] = {}
        for one in sorted(self.points, key=self.cost):
            recipe = Recipe.parse(one["recipe"])
            wanted.setdefault(recipe.map, (one["variant"], recipe, one["delay_target_ns"]))
        if self.has_adders:
            self.run([
                (number, replace(recipe, adders=adders), target)
                for number, recipe, target in list(wanted.values())[:ADDERS_OF]
                for adders in ADDERS
            ])

    def resize(self, most: int | None = None) -> None:
        """Resize the cells of the best points, each of another variant or recipe.

        The best of these is tried at the other delay targets of its recipe, too.
        """
        sizes = resized.goal_text(self.objective, self.period_ns)
        starts: dict[tuple[int, str], list[tuple[int, Recipe, float]]] = {}
        for one in sorted(self.points, key=self.cost) if sizes else ():
            number, recipe = one["variant"], Recipe.parse(one["recipe"])
            wanted = number, replace(recipe, sizes=sizes), one["delay_target_ns"]
            if not recipe.sizes:
                starts.setdefault((number, str(recipe)), []).append(wanted)
        first = [targets[0] for targets in starts.values()][: RESIZED if most is None else most]
        if first:
            done = self.run(first)
            best = min(range(len(done)), key=lambda index: self.cost(done[index]))
            self.run(list(starts.values())[best][1:])

    def quiet(
        self,
        numbers: Iterable[int],
        maps: Sequence[str] = QUIET_MAPS,
        adders: Sequence[str] = ("", *ADDERS),
    ) -> list[dict[str, Any]]:
        """Run small mappings of variants, sized for the period, and measure their energy.

        Where no full adders of a mapping meet the period, fewer of them are kept.
        """
        if not self.has_adders:
            adders = ("",)
        wanted = [(number, map_) for number in numbers for map_ in maps]
        points = self.sized([(*one, mix) for one in wanted for mix in adders])
        if self.has_adders:
            met = {
                (result["variant"], recipe.map)
                for result in points
                if (recipe := Recipe.parse(result["recipe"])).adders and self.meets(result)
            }
            points += self.sized([(*one, mix) for one in wanted if one not in met for mix in FEWER])
        least = min(points, key=lambda point: point["period_ns"])
        for result in points:
            if self.meets(result) or result is least:
                assert self.energy is not None
                result["pj_per_cycle"] = self.energy(result)
                self.say(
                    f"{result['recipe']}: {result['pj_per_cycle']:.3f} pJ in a cycle,"
                    f" {result['period_ns']:.3f} ns"
                )
        return points

    def sized(self, wanted: Iterable[tuple[int, str, str]]) -> list[dict[str, Any]]:
        """Run a mapping and full adders of a variant, sized for the period.

        What misses it by little is sized again, for a shorter one.
        """
        assert self.period_ns is not None
        sizes = resized.goal_text(self.objective, self.period_ns)
        wanted = list(wanted)
        first = {number: self.fronts(number)[0] for number in {one[0] for one in wanted}}
        points = self.run([
            (number, Recipe(first[number], map_, adder, sizes), _SLOWEST)
            for number, map_, adder in wanted
        ])
        again = []
        for result in points:
            recipe, late = Recipe.parse(result["recipe"]), result["period_ns"] - self.period_ns
            if 0 < late < _NARROWLY * self.period_ns:
                tighter = f"{self.period_ns - 2 * late:.4g}"
                again.append((result["variant"], replace(recipe, sizes=tighter), _SLOWEST))
        return points + self.run(again)

    def meets(self, result: dict[str, Any]) -> bool:
        """Whether a point meets the period."""
        return self.period_ns is not None and result["period_ns"] <= self.period_ns

    def sweep_quietly(self) -> dict[str, Any]:
        """Find the least energy: first which way to build the design, then of its mappings."""
        some = QUIET_MAPS[:1], ADDERS[1:]
        first = self.quiet([0, *self.ways()], *some)
        combined = self.combined(first)
        first += self.quiet(combined, *some) if combined else []
        self.quiet([min(first, key=self.cost)["variant"]])
        return self.best()

    def full_speed(self, numbers: Iterable[int], maps: Iterable[str]) -> list[dict[str, Any]]:
        """Run mappings of variants at full speed and, if area is all that counts, at none.

        Returns
        -------
        The former points.
        """
        maps = list(maps)
        wanted = [
            (number, Recipe(front, map_))
            for number in numbers
            for front in self.fronts(number)
            for map_ in maps
        ]
        points = self.run([(*pair, self.FASTEST) for pair in wanted])
        if self.objective == "area":
            self.run([(*pair, _SLOWEST) for pair in wanted])
        return points

    def best_maps(self, points: Iterable[dict[str, Any]]) -> list[str]:
        """Return the mappings of points, the best first."""
        ranked = sorted(points, key=self.cost)
        return list(dict.fromkeys(Recipe.parse(point["recipe"]).map for point in ranked))

    def logic(self, figures: dict[str, Any]) -> float:
        """Return the part of a point's period that is the logic's."""
        return max(figures["period_ns"] - self.overhead_ns, self.FASTEST)

    def fronts(self, number: int) -> list[str]:
        """Name the front ends that give different netlists; many designs have one only."""
        flow, by_netlist = self.variants[number].flow, dict[bytes, str]()
        for front in fronts(flow.design):
            path = front_end(flow.design, front, flow.kept_modules, flow.library)
            by_netlist.setdefault(path.read_bytes(), front)
        return list(by_netlist.values())

    def run(
        self, wanted: Iterable[tuple[int, Recipe, float]], *, required: bool = True
    ) -> list[dict[str, Any]]:
        """Evaluate points, by :mod:`carrysave.jobs`; return them in the order asked for.

        A point that fails ends the search once the others are done and cached; if points are not
        `required`, it is left out.
        """
        asked = list(wanted)
        points = []
        failed: jobs.Outcome | None = None
        outcomes = jobs.run([self.job(*point) for point in asked], ordered=True)
        for (number, recipe, target), outcome in zip(asked, outcomes, strict=True):
            if outcome.failure is not None:
                failed = failed or outcome
                continue
            result = {
                "recipe": str(recipe),
                "delay_target_ns": target,
                **outcome.get(),
                "variant": number,
            }
            points.append(result)
            self.points.append(result)
            variant = self.variants[number]
            which = f" ({variant})" if len(self.variants) > 1 else ""
            size, time = variant.flow.library.units
            self.say(
                f"point {len(self.points)}: {result['recipe']}{which}, target "
                f"{result['delay_target_ns']:.3f} {time}: {area(result):.0f} {size}, "
                f"{result['period_ns']:.3f} {time}"
            )
        if required and failed is not None:
            failed.get()
        return points

    def job(self, number: int, recipe: Recipe, target: float) -> jobs.Job:
        """Return the job of a point."""
        variant = self.variants[number]
        facts: dict[str, Any] = {"hierarchy": variant.hierarchy}
        if variant.design is not None:
            facts |= {"design": variant.design.name, "parameters": dict(variant.design.parameters)}
        return point_job(variant.flow, recipe, target, facts)

    def netlist(self, chosen: dict[str, Any]) -> str:
        """Return the path of a point's netlist, which another machine may have made."""
        flow = self.variants[chosen["variant"]].flow
        again = point(flow, Recipe.parse(chosen["recipe"]), chosen["delay_target_ns"])
        return str(again["netlist"])

    def best(self) -> dict[str, Any]:
        """Return the best point so far; within the period limit if any point is."""
        return min(self.points, key=self.cost)

    def cost(self, result: dict[str, Any]) -> tuple[float, ...]:
        """Return what the objective minimises."""
        if self.objective == "energy":
            late, size = self.worth(result["period_ns"], area(result))
            return late, result.get("pj_per_cycle", math.inf), size
        return self.worth(result["period_ns"], area(result))

    def worth(self, period: float, size: float) -> tuple[float, ...]:
        """Return the same of a period, ns, and an area, um2."""
        if self.period_ns is not None:
            return (max(period - self.period_ns, 0.0), size)
        return {
            "density": (period * size, period),
            "period": (period, size),
            "area": (size, period),
        }[self.objective]

    def tried(self) -> list[dict[str, Any]]:
        """Return what was tried of each variant, and the best that was found."""
        rows = []
        for number, variant in enumerate(self.variants):
            points = [point for point in self.points if point["variant"] == number]
            if not points:
                continue
            best = min(points, key=self.cost)
            rows.append({
                "hierarchy": variant.hierarchy,
                "mapped_once": list(variant.flow.kept_modules),
                **dict.fromkeys(BUILD_KEYS, variant.build),
                "recipes": list(dict.fromkeys(point["recipe"] for point in points)),
                "points": len({(p["recipe"], p["delay_target_ns"]) for p in points}),
                "recipe": best["recipe"],
                "area_um2": area(best),
                "period_ns": best["period_ns"],
            })
        return rows
