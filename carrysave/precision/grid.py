"""Values of a format, and where it rounds from one to the next; scales of weights."""

from functools import cache

import numpy as np
from onnx import NodeProto

from carrysave.compiler.graph.kernels import arranged, attributes
from carrysave.compiler.lowered.encoded import steps_of
from carrysave.compiler.passes.floats import columns_of
from golden.formats.element import ElementFormat

__all__ = ["grid", "weight_steps"]

_HALVINGS = 60
"""That find a threshold between two doubles of one sign and similar size."""


@cache
def grid(fmt: ElementFormat) -> tuple[np.ndarray, np.ndarray]:
    """Return the finite values of a format, rising, and the least doubles that round to each next.

    Thresholds are found by halving, with the format's own rounding; of posits, which never round to
    0, that above it is not the least double but next to nothing.
    """
    values = fmt.to_float(np.arange(fmt.low, fmt.high + 1))
    # Of the zeros the positive one: numpy's kernels leave either of them.
    values = np.unique(values[np.isfinite(values)] + 0.0)
    low, high = values[:-1].copy(), values[1:].copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        up = fmt.to_float(fmt.encode(middle)) > values[:-1]
        low, high = np.where(up, low, middle), np.where(up, middle, high)
    return values, high


def weight_steps(fmt: ElementFormat, node: NodeProto, b: np.ndarray) -> np.ndarray:
    """Return the scale of each column of a product's constant B, such that it multiplies B."""
    weights, _ = arranged(node, b)
    assert weights is not None  # as B is constant
    steps = steps_of(fmt, columns_of(weights))
    across = node.op_type == "Conv" or attributes(node).get("transB")
    return steps.reshape((-1, *[1] * (b.ndim - 1)) if across else (1, -1))
