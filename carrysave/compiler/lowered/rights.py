"""Matrices B of a product: computed ones, those of groups, those of a batch."""

from math import prod

import numpy as np

__all__ = ["bundled", "columns_of", "computed", "outer_of", "repeated"]


def computed(b: np.ndarray, count: int, shape: tuple[int, ...], batched: bool) -> list[np.ndarray]:
    """Return the matrices of a B that is computed, one for each A.

    Parameters
    ----------
    count : of matrices A.
    shape : of y, without its columns.
    batched : each A has its own y.
    """
    batch = shape[:-1] if batched else ()
    if b.ndim < 2 or b.ndim > len(shape) + 1 or not b.size:
        raise ValueError(
            f"B must have 2..{len(shape) + 1} axes, none of them empty,"
            f" not {' x '.join(map(str, b.shape))}"
        )
    if b.ndim > 2 and b.size > prod(b.shape[-2:]) and b.shape[:-2] != batch:
        raise ValueError(f"B must have the outer axes of A, {batch}, not {b.shape[:-2]}")
    matrices = list(b.reshape(-1, *b.shape[-2:]))
    if len(matrices) == 1:
        matrices *= count
    if len(matrices) != count:
        raise ValueError(f"A and B must have as many matrices, not {count}, {len(matrices)}")
    return matrices


def bundled(weights: np.ndarray, bundle: int) -> list[np.ndarray]:
    """Return the matrices of groups, groups x K x N; those bundled are block-diagonal."""
    groups, depth, columns = weights.shape
    rights = []
    for start in range(0, groups, bundle):
        part = weights[start : start + bundle]
        if len(part) == 1:
            rights.append(part[0])
            continue
        right = np.zeros((len(part), depth, len(part), columns), weights.dtype)
        places = np.arange(len(part))
        right[places, :, places] = part
        rights.append(right.reshape(len(part) * depth, len(part) * columns))
    return rights


def outer_of(a: tuple[int, ...], outer: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of y beyond its last two, of an A of a shape and of weights' own.

    Raises
    ------
    ValueError
        They do not fit each other.
    """
    try:
        return np.broadcast_shapes(a[:-2], outer)
    except ValueError:
        text = f"outer axes of A and B must fit each other, not {a[:-2]} and {outer}"
        raise ValueError(text) from None


def repeated(
    weights: np.ndarray, outer: tuple[int, ...], batch: tuple[int, ...]
) -> list[np.ndarray]:
    """Return the matrices of a constant B for each of a batch."""
    numbers = np.broadcast_to(np.arange(len(weights)).reshape(outer), batch)
    return [weights[number] for number in numbers.ravel()]


def columns_of(weights: np.ndarray, outer: tuple[int, ...]) -> int:
    """Return the columns of y: of all groups, or of each matrix of a batch."""
    return weights.shape[-1] if outer else weights.size // weights.shape[-2]
