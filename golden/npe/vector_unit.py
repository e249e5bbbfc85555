"""The vector unit: an operation of :mod:`golden.npe.vector` on a row, and its cycles."""

import numpy as np

from golden.check import Choice
from golden.npe.vector import VectorUnitSpec, norm, softmax

__all__ = ["cycles", "vector_unit"]


def vector_unit(spec: VectorUnitSpec, operation: str, x: np.ndarray) -> tuple[np.ndarray, int]:
    """Compute a row of codes.

    Parameters
    ----------
    spec : the unit.
    operation : one of `spec.operations`.
    x : of `spec.in_format`, 1 .. length values.

    Returns
    -------
    int64 codes, as many as values, and n: a code represents its value times 2^-n.
    """
    names = tuple(spec.operations.split(","))
    Choice("operation", names[0], names).check("operation", operation)
    if operation == "softmax":
        codes, exponent = softmax(spec, x)
        return codes, int(exponent)
    return norm(spec, x, centred=operation == "layer_norm"), spec.norm_fraction
