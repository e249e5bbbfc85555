"""Names of test cases."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest

__all__ = ["brief", "case_name", "cover", "long"]


def case_name(parameters: dict[str, Any]) -> str:
    """Name a case after its parameters: ``m1-n5-a_signed0``."""
    texts = (
        f"{name}{int(value) if isinstance(value, bool) else value}"
        for name, value in parameters.items()
    )
    return "-".join(texts) or "default"


def brief(cases: Sequence[Any], *places: int) -> list[Any]:
    """Run the cases at these places in ``make test``, and leave the others to ``make prove``."""
    first = {range(len(cases))[place] for place in places}
    return long(cases, *(at for at in range(len(cases)) if at not in first))


def cover(*axes: Sequence[Any], strength: int = 2) -> list[Any]:
    """Combine all values of all axes; leave to ``make prove`` what covers no new pair of values.

    Parameters
    ----------
    axes : values of each argument; a tuple stands for several arguments.
    strength : 3 for triples of values in place of pairs.
    """
    combined = list(product(*(range(len(axis)) for axis in axes)))
    groups = list(combinations(range(len(axes)), strength))

    def seen(places: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
        return {tuple((axis, places[axis]) for axis in group) for group in groups}

    left = set().union(*map(seen, combined))
    short = set()
    while left:
        best = max(combined, key=lambda places: len(seen(places) & left))
        left -= seen(best)
        short.add(best)
    cases = []
    for places in combined:
        values = [axis[at] for axis, at in zip(axes, places, strict=True)]
        cases.append(
            tuple(x for each in values for x in (each if type(each) is tuple else (each,)))
        )
    return long(cases, *(at for at, places in enumerate(combined) if places not in short))


def long(cases: Sequence[Any], *places: int) -> list[Any]:
    """Leave the cases at these places, or all, to ``make prove``; tuples are several arguments."""
    left = {range(len(cases))[place] for place in places} or set(range(len(cases)))
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.prove)
        if at in left
        else case
        for at, case in enumerate(cases)
    ]
