"""Outer axes of a product whose A and B are both computed."""

from math import prod

import numpy as np

__all__ = ["BROADCAST", "paired"]

BROADCAST = ("MatMul", "MatMulInteger", "QLinearMatMul")
"""Operators whose outer axes are broadcast."""


def paired(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return A and B with one matrix each, or as many, and the shape of y.

    As ONNX has it: axes beyond the last two are broadcast, and a row that is alone is a matrix,
    whose axis y has not.
    """
    if not a.ndim or not b.ndim:
        raise ValueError(f"A and B must have an axis, not {a.shape} and {b.shape}")
    left = a[None] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    try:
        outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        text = f"{left.shape[:-2]} and {right.shape[:-2]}"
        raise ValueError(f"outer axes of A and B must fit each other, not {text}") from None
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(f"A and B must have one K, not {left.shape[-1]} and {right.shape[-2]}")
    rows = [] if a.ndim == 1 else [left.shape[-2]]
    columns = [] if b.ndim == 1 else [right.shape[-1]]
    if right.ndim > 2 and prod(right.shape[:-2]) == 1:
        right = right.reshape(right.shape[-2:])
    elif right.ndim > 2:
        right = np.broadcast_to(right, (*outer, *right.shape[-2:]))
        left = np.broadcast_to(left, (*outer, *left.shape[-2:]))
    return left, right, (*outer, *rows, *columns)
