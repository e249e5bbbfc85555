"""Products as the co-processor does them, by numpy alone."""

from dataclasses import replace

import numpy as np

from carrysave.driver import Requantisation
from golden.npe import requantiser as unit
from golden.soc.spec import CoprocessorSpec

from .work import Work

__all__ = ["multiply", "run"]

_COLUMNS = 256
"""Columns that a requantiser of the golden model has, at most."""


def run(spec: CoprocessorSpec, works: list[Work]) -> list[np.ndarray]:
    """Return what the works make, one after the other."""
    results: list[np.ndarray] = []
    for work in works:
        a = results[-1] if work.a is None else work.a
        sums = multiply(a, work.b)
        if work.bias is not None:
            sums = sums + work.bias
        bits = spec.inside.sum_width
        if sums.size and not -(1 << bits - 1) <= sums.min() <= sums.max() < 1 << bits - 1:
            most = sums.flat[np.abs(sums).argmax()]
            raise ValueError(f"sums must be of {bits} bits, not {most}")
        how = work.requantisation
        results.append(sums if how is None else _codes(spec, sums, how))
    return results


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the exact product as int64; by floats that hold all of it, which is 20 times faster.

    Raises
    ------
    ValueError
        Sums could exceed 2^53.
    """
    most = a.shape[1] * int(np.abs(a, dtype=np.int64).max(initial=0)) or 1
    most *= int(np.abs(b, dtype=np.int64).max(initial=0)) or 1
    if most >= 1 << 53:
        raise ValueError(f"sums must be below 2^53, not up to {most}")
    kind = np.float32 if most < 1 << 24 else np.float64
    return (a.astype(kind) @ b.astype(kind)).astype(np.int64)


def _codes(spec: CoprocessorSpec, sums: np.ndarray, how: Requantisation) -> np.ndarray:
    """Requantise, by blocks of columns."""
    columns = sums.shape[1]
    fields = ("multiplier", "shift", "zero_point")
    values = {name: np.broadcast_to(getattr(how, name), columns) for name in fields}
    codes = np.empty_like(sums)
    for start in range(0, columns, _COLUMNS):
        part = slice(start, start + _COLUMNS)
        own = {name: value[part].astype(np.int64) for name, value in values.items()}
        scales = unit.Requantisation(**own, low=how.low, high=how.high, relu=how.relu)
        count = len(own["shift"])
        wide = replace(spec.requantiser, n=count, per_column=True)
        codes[:, part] = unit.requantiser(wide, sums[:, part], scales)
    return codes
