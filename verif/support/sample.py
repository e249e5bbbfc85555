"""A sample of a test's cases for `make test`, all of them for `make prove`.

`@pytest.mark.sample(n)` marks all but `n` of the cases of a test as `prove`. The sample is the same
in every run, and spread over all that the test is parametrized by.
"""

from collections.abc import Sequence
from itertools import groupby
from math import gcd

import pytest

__all__ = ["leave_out", "spread"]


def leave_out(items: Sequence[pytest.Item]) -> None:
    """Mark the cases that are in no sample as `prove`.

    Parameters
    ----------
    items : in the order in which they were collected, so that cases of a test are neighbours.
    """
    marked = [item for item in items if item.get_closest_marker("sample")]
    for _, group in groupby(marked, key=lambda item: item.nodeid.partition("[")[0]):
        cases = [item for item in group if not item.get_closest_marker("prove")]
        marker = cases[0].get_closest_marker("sample") if cases else None
        if marker is None:
            continue
        [count] = marker.args
        # A case that was asked for by its name is alone, and runs.
        chosen = spread(len(cases), count)
        for place, item in enumerate(cases):
            if place not in chosen:
                item.add_marker(pytest.mark.prove)


def spread(size: int, count: int) -> set[int]:
    """Return `count` places below `size`, far from each other and in step with no period of it."""
    step = next(
        step for step in range(max(1, round(size * 0.618)), 2 * size + 2) if gcd(step, size) == 1
    )
    return {place * step % size for place in range(min(count, size))}
