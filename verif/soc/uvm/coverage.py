"""Functional coverage: points with bins, crosses of them, and stimulus steered to their holes."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

__all__ = ["Coverage", "Cross", "Point", "Rule", "Space", "Values"]

Values = dict[str, str]
"""A bin for each of some points."""


@dataclass(frozen=True)
class Point:
    """A thing to look at, and the bins into which what is seen falls.

    A point with `of` is a coarser view: its bin follows from those of other points. What `bin_of`
    gives None for is in no bin of it.
    """

    name: str
    bins: tuple[str, ...]
    of: tuple[str, ...] = ()
    bin_of: Callable[..., str | None] | None = None


@dataclass(frozen=True)
class Rule:
    """Bins of some points that exclude each other, and why."""

    points: tuple[str, ...]
    excludes: Callable[..., bool]
    why: str


class Space:
    """Points, and the combinations of their bins that there are.

    Parameters
    ----------
    points : those without `of` make a combination.
    rules : over those.
    """

    def __init__(self, points: Sequence[Point], rules: Sequence[Rule] = ()) -> None:
        self.points = {point.name: point for point in points}
        self.rules = tuple(rules)
        self.base = tuple(point.name for point in points if not point.of)
        self._rules_of = {
            name: [rule for rule in rules if name in rule.points] for name in self.base
        }
        self._inverse = {
            point.name: self._invert(point) for point in points if point.bin_of is not None
        }

    def _invert(self, point: Point) -> dict[str, list[Values]]:
        """List for each bin of a coarser point the bins that it stands for."""
        found: dict[str, list[Values]] = {name: [] for name in point.bins}
        assert point.bin_of is not None
        for bins in product(*(self.points[name].bins for name in point.of)):
            own = point.bin_of(*bins)
            if own is not None:
                found[own].append(dict(zip(point.of, bins, strict=True)))
        return found

    def broken(self, values: Mapping[str, str], names: Iterable[str] | None = None) -> Rule | None:
        """Find a rule that these values break, of those about some points or of all."""
        rules = self.rules if names is None else [r for name in names for r in self._rules_of[name]]
        for rule in rules:
            if all(name in values for name in rule.points) and rule.excludes(
                *(values[name] for name in rule.points)
            ):
                return rule
        return None

    def complete(
        self, given: Mapping[str, str], order: Callable[[str, Values], Sequence[str]]
    ) -> Values | None:
        """Complete a combination; None if no rule allows it.

        Parameters
        ----------
        given : bins of some points.
        order : lists the bins of a point, the best first, given those chosen so far.
        """
        for chosen in self._expand(dict(given)):
            if self.broken(chosen) is None:
                found = self._fill(
                    chosen, [name for name in self.base if name not in chosen], order
                )
                if found is not None:
                    return found
        return None

    def _expand(self, given: Values) -> Iterator[Values]:
        """Put what a coarser point stands for in its place, in every way."""
        coarse = next((name for name in given if name in self._inverse), None)
        if coarse is None:
            yield given
            return
        rest = {name: value for name, value in given.items() if name != coarse}
        choices = self._inverse[coarse][given[coarse]]
        for choice in random.Random(str(sorted(given.items()))).sample(choices, len(choices)):
            if all(rest.get(name, value) == value for name, value in choice.items()):
                yield from self._expand(rest | choice)

    def _fill(
        self, chosen: Values, left: list[str], order: Callable[[str, Values], Sequence[str]]
    ) -> Values | None:
        if not left:
            return chosen
        name, *others = left
        for choice in order(name, chosen):
            more = chosen | {name: choice}
            if self.broken(more, (name,)) is None:
                found = self._fill(more, others, order)
                if found is not None:
                    return found
        return None

    def of(self, values: Mapping[str, str]) -> Values:
        """Add the bins of coarser points."""
        found = dict(values)
        for name in self._inverse:
            point = self.points[name]
            assert point.bin_of is not None
            own = point.bin_of(*(values[other] for other in point.of))
            if own is not None:
                found[name] = own
        return found


@dataclass
class Cross:
    """Combinations of the bins of some points: which are legal, and how often each was seen."""

    points: tuple[str, ...]
    hits: Counter[tuple[str, ...]] = field(default_factory=Counter)
    holes: dict[tuple[str, ...], None] = field(default_factory=dict)
    excluded: Counter[str] = field(default_factory=Counter)
    """Combinations that there are not, by the reason."""

    @property
    def name(self) -> str:
        """The points."""
        return " x ".join(self.points)

    @property
    def legal(self) -> int:
        """Combinations that there are."""
        return len(self.hits) + len(self.holes)


class Coverage:
    """What was seen of a space.

    Parameters
    ----------
    title : of the report.
    space : points and rules.
    crosses : the points of each cross.
    """

    def __init__(self, title: str, space: Space, crosses: Iterable[tuple[str, ...]]) -> None:
        self.title = title
        self.space = space
        self.samples = 0
        self.crosses = [self._cross(points) for points in crosses]

    def _cross(self, points: tuple[str, ...]) -> Cross:
        cross = Cross(points)
        for bins in product(*(self.space.points[name].bins for name in points)):
            values = dict(zip(points, bins, strict=True))
            if self.space.complete(values, lambda name, _: self.space.points[name].bins):
                cross.holes[bins] = None
            else:
                rule = self.space.broken(values) if set(points) <= set(self.space.base) else None
                cross.excluded[rule.why if rule else "excluded by several rules"] += 1
        return cross

    def sample(self, values: Mapping[str, str]) -> int:
        """Count a combination; returns how many bins of crosses were first seen."""
        broken = self.space.broken(values)
        assert broken is None, f"{values} breaks a rule of the coverage: {broken and broken.why}"
        self.samples += 1
        new = 0
        found = self.space.of(values)
        for cross in self.crosses:
            if all(name in found for name in cross.points):
                bins = tuple(found[name] for name in cross.points)
                new += bins in cross.holes
                cross.holes.pop(bins, None)
                cross.hits[bins] += 1
        return new

    @property
    def left(self) -> int:
        """Legal combinations that were not seen."""
        return sum(len(cross.holes) for cross in self.crosses)

    def draw(self, rng: random.Random, given: Mapping[str, str]) -> Values | None:
        """Draw a combination that fills holes, many if it can; None if there is no such hole."""
        chances = []
        for cross in self.crosses:
            at = [(place, given[name]) for place, name in enumerate(cross.points) if name in given]
            fitting = [bins for bins in cross.holes if all(bins[place] == b for place, b in at)]
            if fitting:
                chances.append((cross, fitting))
        rng.shuffle(chances)
        for cross, fitting in sorted(chances, key=lambda chance: -len(chance[0].points)):
            start = rng.randrange(len(fitting))
            for bins in fitting[start:] + fitting[:start]:
                seed = dict(zip(cross.points, bins, strict=True)) | dict(given)
                found = self.space.complete(
                    seed, lambda name, so_far: self._best(rng, name, so_far)
                )
                if found is not None:
                    return found
        return None

    def any(self, rng: random.Random, given: Mapping[str, str]) -> Values | None:
        """Draw a combination, be there holes that it fills or not."""
        return self.space.complete(given, lambda name, so_far: self._best(rng, name, so_far))

    def _best(self, rng: random.Random, name: str, chosen: Values) -> list[str]:
        """Order the bins of a point by the holes that each fills, given what is chosen."""
        filled = Counter[str]()
        for cross in self.crosses:
            if name in cross.points and all(p == name or p in chosen for p in cross.points):
                place = cross.points.index(name)
                for own in self.space.points[name].bins:
                    bins = tuple(chosen.get(p, own) for p in cross.points)
                    assert bins[place] == own
                    filled[own] += bins in cross.holes
        bins_of = list(self.space.points[name].bins)
        rng.shuffle(bins_of)
        return sorted(bins_of, key=lambda own: -filled[own])
