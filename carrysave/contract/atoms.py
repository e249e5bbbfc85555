"""Atoms of a contract: what little of the operands the timing of a design may depend on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from carrysave.contract.operands import Beats, Digits

__all__ = ["Atom", "Group", "Product", "Slice", "sums_of"]

Product = tuple[Digits, ...]
Group = tuple[Product, ...]


@dataclass(frozen=True)
class Atom:
    """The maximum over groups of a sum of products of counts of digits, within limits.

    Members
    -------
    name : what it is, for people.
    groups : of each group the products that are added up.
    least, most : what it is at least and at most; None for no limit.
    """

    name: str
    groups: tuple[Group, ...]
    least: int = 0
    most: int | None = None

    @property
    def fields(self) -> frozenset[str]:
        """Inputs that it reads."""
        return frozenset(digits.operand.field for digits in self._digits)

    @property
    def support(self) -> Mapping[str, int]:
        """Bits of the inputs that it reads."""
        result = dict.fromkeys(self.fields, 0)
        for digits in self._digits:
            width = digits.operand.width
            result[digits.operand.field] |= (1 << width) - 1 << digits.number * width
        return result

    @property
    def _digits(self) -> Iterable[Digits]:
        return (digits for group in self.groups for product in group for digits in product)

    @property
    def codes(self) -> tuple[Digits, ...]:
        """Codes whose digits it counts."""
        return tuple(dict.fromkeys(self._digits))

    @property
    def stages(self) -> int:
        """Steps of a proof: one for each code, one for each pair of groups, one for the limits."""
        return len(self.codes) + len(self.groups)

    def of(self, beats: Beats) -> list[int]:
        """Return its value of each beat."""
        sums = [
            sum(np.prod([beats.counts(digits) for digits in product], axis=0) for product in group)
            for group in self.groups
        ]
        return np.clip(np.max(sums, axis=0), self.least, self.most).tolist()

    @property
    def values(self) -> int:
        """How many values it can have: its logarithm is the most that it can tell."""
        return len(self.states)

    @cached_property
    def states(self) -> Mapping[int, Mapping[str, int]]:
        """Inputs for each value that it can have; all groups but one are zero."""
        reached: dict[int, Mapping[str, int]] = {}
        for group in self.groups:
            for count, fields in sums_of(group).items():
                limited = max(count, self.least)
                limited = limited if self.most is None else min(limited, self.most)
                reached.setdefault(limited, fields)
        return reached


@dataclass(frozen=True)
class Slice:
    """Some bits of an input: its sign, or all of it."""

    name: str
    field: str
    start: int
    width: int

    @property
    def fields(self) -> frozenset[str]:
        """The input."""
        return frozenset({self.field})

    @property
    def stages(self) -> int:
        """Steps of a proof."""
        return 1

    @property
    def support(self) -> Mapping[str, int]:
        """Bits of the inputs that it reads."""
        return {self.field: (1 << self.width) - 1 << self.start}

    def of(self, beats: Beats) -> list[int]:
        """Return its value of each beat."""
        ones = (1 << self.width) - 1
        return [value >> self.start & ones for value in beats.values[self.field]]

    @property
    def values(self) -> int:
        """How many values it can have."""
        return 1 << self.width

    @property
    def states(self) -> Mapping[int, Mapping[str, int]] | None:
        """Inputs for each value that it can have; None if these are many."""
        if self.width > 8:
            return None
        return {value: {self.field: value << self.start} for value in range(1 << self.width)}


def sums_of(group: Iterable[Product]) -> Mapping[int, Mapping[str, int]]:
    """Return inputs for each value of a sum of products of counts."""
    sums: dict[int, dict[str, int]] = {0: {}}
    for product in group:
        longer: dict[int, dict[str, int]] = {}
        for before, fields in sums.items():
            for count, given in _examples(product).items():
                longer.setdefault(before + count, _joined(fields, given))
        sums = longer
    return sums


def _examples(product: Product) -> Mapping[int, Mapping[str, int]]:
    """Return inputs for each value of a product of counts, in which any sum of products is."""
    result: dict[int, dict[str, int]] = {1: {}}
    for digits in product:
        operand = digits.operand
        longer: dict[int, dict[str, int]] = {}
        for before, fields in result.items():
            for count, pattern in operand.examples(digits.recoding).items():
                given = {operand.field: pattern << digits.number * operand.width}
                # Of zero the first one: all are.
                longer.setdefault(before * count, _joined(fields, given))
        result = longer
    return dict(sorted(result.items()))


def _joined(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Put bits of inputs together."""
    return {name: one.get(name, 0) | other.get(name, 0) for name in {*one, *other}}
