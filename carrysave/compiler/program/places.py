"""Arrays of addresses that are regular: a first one, and a step along each axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["places_of", "regular", "steps_of"]


def places_of(first: int, shape: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """Return addresses, by the first one, and bytes from one to the next along each axis."""
    grid = np.ogrid[tuple(map(slice, shape))]
    return np.asarray(first + sum(step * at for step, at in zip(steps, grid, strict=True)))


def steps_of(sources: np.ndarray) -> list[int]:
    """Return bytes from the first address to the next along each axis; 0 where there is one."""
    steps = []
    for axis, size in enumerate(sources.shape):
        along: Any = (*[0] * axis, slice(2), *[0] * (sources.ndim - axis - 1))
        line = sources[along]
        steps.append(int(line[1]) - int(line[0]) if size > 1 else 0)
    return steps


def regular(sources: np.ndarray) -> list[int] | None:
    """Return the same, if it is that from any address to the next; else None."""
    steps = steps_of(sources)
    plain = places_of(int(sources[(0,) * sources.ndim]), sources.shape, steps)
    return steps if np.array_equal(plain, sources) else None
