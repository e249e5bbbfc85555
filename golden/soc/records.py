"""Requantisations of columns, as memory has them."""

from dataclasses import replace
from typing import Any

import numpy as np

from golden.npe.requantiser import Requantisation

__all__ = ["of_records"]


def of_records(spec: Any, how: Requantisation, columns: np.ndarray) -> Requantisation:
    """Read the scales of columns from their records.

    Parameters
    ----------
    spec : a :class:`golden.soc.spec.CoprocessorSpec`.
    how : what is the same for all of them.
    columns : records, of 64 bits.
    """
    unit = spec.requantiser
    places = {
        "multiplier": (unit.multiplier_format, 0),
        "shift": (unit.shift_format, 32),
        "zero_point": (unit.out_format, 48),
    }
    scales: dict[str, Any] = {
        name: fmt.wrap((columns >> low & 0xFFFFFFFF).astype(np.int64))
        for name, (fmt, low) in places.items()
    }
    return replace(how, **scales)
