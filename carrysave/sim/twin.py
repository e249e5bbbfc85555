"""Matrix products by a design's numpy twin, cut as the simulated design has them cut."""

from typing import Any

import numpy as np

from golden.engine import EngineSpec
from golden.soc.coprocessor import CoprocessorSpec
from hw.catalog import Design

__all__ = ["operands", "product"]


def operands(design: Design, a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices that a design multiplies, checked.

    Parameters
    ----------
    a, b : M x K and K x N integers, codes of the engine's formats.

    Raises
    ------
    TypeError
        The design has no engine of integers, or a matrix has other numbers.
    ValueError
        Shapes that do not fit, codes out of range, or too large a K for a co-processor.
    """
    engine = design.engine or design
    if not isinstance(engine.spec, EngineSpec):
        raise TypeError(
            "design must be an engine of integers, or a co-processor with one, to multiply"
            f" matrices, not {design.name}" + (f" with {engine.name}" if design.engine else "")
        )
    checked = engine.spec.a_format.check("a", a), engine.spec.b_format.check("b", b)
    shapes = checked[0].shape, checked[1].shape
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
        raise ValueError(f"a and b must be M x K and K x N, not {shapes[0]} and {shapes[1]}")
    if design.engine is not None:
        most = engine.spec.k_max
        if not (all(shapes[0]) and shapes[1][1]) or shapes[0][1] > most:
            raise ValueError(
                f"M, K and N must be 1 or more for a co-processor, and K at most {most}, not"
                f" {shapes[0][0]}, {shapes[0][1]} and {shapes[1][1]}"
            )
    return checked


def product(design: Design, a: Any, b: Any) -> np.ndarray:
    """Multiply by the twin; parameters and errors are those of :func:`operands`.

    Returns
    -------
    M x N int64. An engine has K in parts of at most ``k_max``, whose products are added up.
    """
    a, b = operands(design, a, b)
    spec = design.spec
    if isinstance(spec, CoprocessorSpec):
        return spec.inside.multiply(a, b, (0, 0))[0]
    twin = getattr(design.entry.golden, design.name)
    starts = range(0, max(a.shape[1], 1), spec.k_max)
    ends = (slice(start, start + spec.k_max) for start in starts)
    return sum((twin(spec, a[:, k], b[k]) for k in ends), np.zeros((len(a), b.shape[1]), np.int64))
