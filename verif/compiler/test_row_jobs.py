"""Boxes of codes as jobs of rows: each code once, in few jobs."""

import numpy as np
import pytest

from carrysave.compiler.program.row_jobs import Axis, row_groups


@pytest.mark.parametrize("shape", [(24,), (3, 5, 7), (2, 3, 4, 5), (1, 1), (131,), (2, 67)])
@pytest.mark.parametrize("gap", [0, 3])
def test_rows_of_boxes(shape: tuple[int, ...], gap: int) -> None:
    """Every code of a box is of one job, whatever its axes are."""
    rng = np.random.default_rng(len(shape))
    steps: list[tuple[int, int, int]] = []
    sizes = np.ones(3, int)
    for size in reversed(shape):
        steps.insert(0, tuple(sizes.tolist()))
        sizes = sizes * size + gap * rng.integers(0, 2, 3)
    groups = row_groups([Axis(*one) for one in zip(shape, steps, strict=True)], 16)
    assert groups is not None
    seen = []
    for offsets, axes in groups:
        assert axes[-1].size <= 16
        assert axes[-1].steps == (1, 1, 1)
        for at in np.ndindex(*(axis.size for axis in axes)):
            far = [
                sum(axis.steps[side] * n for axis, n in zip(axes, at, strict=True))
                for side in range(3)
            ]
            seen.append(tuple(first + more for first, more in zip(offsets, far, strict=True)))
    every = [
        tuple(sum(one[side] * n for one, n in zip(steps, at, strict=True)) for side in range(3))
        for at in np.ndindex(*shape)
    ]
    assert sorted(seen) == sorted(every)


@pytest.mark.parametrize(
    ("axes", "groups", "jobs", "rows"),
    [
        # A long row in parts of whole rows, and what is left.
        ([(131, (1, 1, 1))], 2, 2, 9),
        ([(48, (1, 1, 1))], 1, 1, 3),
        # Rows along the longest axis, jobs along the next one, groups along the shortest.
        ([(3, (900, 900, 900)), (4, (200, 200, 200)), (5, (30, 30, 30)), (6, (1, 1, 1))],
         3, 12, 60),
        ([(9, (900, 900, 900)), (2, (200, 200, 200)), (5, (30, 30, 30)), (6, (1, 1, 1))],
         2, 10, 90),
        # Also where rows along the axis of jobs are not apart.
        ([(9, (0, 0, 900)), (2, (200, 200, 200)), (5, (30, 30, 30)), (6, (1, 1, 1))], 2, 18, 90),
        # Rows of A and C are apart; those of B may be one, but do not overlap. Else it is jobs.
        ([(8, (16, 0, 16)), (6, (1, 1, 1))], 1, 1, 8),
        ([(8, (16, 3, 16)), (6, (1, 1, 1))], 1, 8, 8),
        ([(8, (0, 0, 16)), (6, (1, 1, 1))], 1, 8, 8),
        ([(8, (3, 16, 16)), (6, (1, 1, 1))], 1, 8, 8),
        # As near as its codes: the axis goes on from the next one, but not in A.
        ([(8, (12, 6, 6)), (6, (1, 1, 1))], 1, 1, 8),
        ([(8, (6, 6, 6)), (6, (1, 1, 1))], 1, 1, 3),
        # Codes apart in one of them are a row each.
        ([(16, (2, 1, 1))], 1, 1, 16),
    ],
)  # fmt: skip
def test_axes_of_boxes(
    axes: list[tuple[int, tuple[int, int, int]]], groups: int, jobs: int, rows: int
) -> None:
    """As few jobs as can be, of rows that a job takes."""
    made = row_groups([Axis(*one) for one in axes], 16)
    assert made is not None
    assert len(made) == groups
    assert sum(count.size for _, (count, _, _) in made) == jobs
    assert sum(count.size * down.size for _, (count, down, _) in made) == rows
    assert sum(np.prod([axis.size for axis in each]) for _, each in made) == np.prod([
        size for size, _ in axes
    ])
    for _, (_, down, across) in made:
        a, b, c = down.steps
        assert down.size == 1 or (min(a, c) >= across.size and (not b or b >= across.size))


def test_many_jobs_of_few_codes_are_none() -> None:
    steps = [(1000, 1000, 900), (160, 200, 160), (30, 30, 31), (3, 3, 4)]
    axes = [Axis(size, far) for size, far in zip((3, 4, 5, 6), steps, strict=True)]
    assert row_groups(axes, 64) is None
    assert row_groups([*axes[:3], Axis(60, steps[3])], 64) is not None
