"""The one table of what a job can make of its sums, and of what a build refuses to make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import CoprocessorSpec

__all__ = [
    "ADDRESSES",
    "MODES",
    "OutputMode",
    "modes_of",
    "requantisation",
    "requantises",
    "unsupported",
]

ADDRESSES = ("a", "b", "c", "bias", "row_factors", "records", "b_scales")
"""Fields of a job that are addresses; those of None, or of no matrix, are of nothing."""


def requantisation(rng: np.random.Generator) -> Requantisation:
    """Draw what makes codes of sums, few of which are at a limit.

    Half of the scales are powers of two, which bring some sums half way between two codes.
    """
    multiplier, shift = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(36, 46))
    if rng.integers(2):
        multiplier, shift = 1 << 30, min(shift, 39)
    return Requantisation(
        multiplier=np.array([multiplier]),
        shift=np.array([shift]),
        zero_point=rng.integers(-20, 20, 1),
        low=-100,
        high=110,
        relu=bool(rng.integers(2)),
    )


@dataclass(frozen=True)
class OutputMode:
    """A way to make C: which builds have it, and fields of its jobs; addresses are placed later."""

    there: Callable[[CoprocessorSpec], bool]
    fields: Callable[[np.random.Generator], dict[str, Any]]


def _codes(rng: np.random.Generator) -> dict[str, Any]:
    return {"requantisation": requantisation(rng)}


def _columns(rng: np.random.Generator) -> dict[str, Any]:
    """Scales of columns are whatever is in memory; the zero point has to be in the limits."""
    return {"requantisation": replace(requantisation(rng), relu=False), "records": 0}


MODES = {
    "sums": OutputMode(lambda spec: True, lambda rng: {}),
    "sums_bias": OutputMode(lambda spec: spec.bias, lambda rng: {"bias": 0}),
    "sums_added": OutputMode(lambda spec: spec.accumulates, lambda rng: {"accumulate": True}),
    "sums_scaled": OutputMode(
        lambda spec: spec.row_factors, lambda rng: {"accumulate": True, "row_factors": 0}
    ),
    "codes": OutputMode(lambda spec: requantises(spec), _codes),
    "codes_bias": OutputMode(
        lambda spec: requantises(spec) and spec.bias, lambda rng: {**_codes(rng), "bias": 0}
    ),
    "codes_columns": OutputMode(lambda spec: spec.requantises_columns, _columns),
    "rounded": OutputMode(
        lambda spec: spec.requantise and spec.inside.result is not None,
        lambda rng: {"encode": True},
    ),
}


def requantises(spec: CoprocessorSpec) -> bool:
    """Whether sums can be requantised, and are not rounded instead."""
    return spec.requantise and spec.inside.result is None


def modes_of(spec: CoprocessorSpec) -> tuple[str, ...]:
    """Name the modes that a build has."""
    return tuple(name for name, mode in MODES.items() if mode.there(spec))


def unsupported(spec: CoprocessorSpec) -> list[Mapping[str, int]]:
    """List what a build refuses: fields of the register MODE, and their values."""
    formats = [{"a_format": 15, "b_format": 15}]
    formats += [{name: 1 << bit} for name in ("a_format", "b_format") for bit in range(4)]
    found: list[Mapping[str, int]] = [
        each
        for each in formats
        if (each.get("a_format", 0), each.get("b_format", 0)) not in spec.inside.modes
    ]
    found += [{"per_column": 1, "requantise": 0}]
    found += [{"accumulate": 1, "requantise": 1}]
    found += [{"accumulate": 1, "bias": 1}] * (not spec.row_factors)
    found += [{"table": 1, "requantise": 0, "per_column": 0}]
    if not spec.table:
        found.append({"table": 1})
    if not spec.accumulates:
        found.append({"accumulate": 1})
    if not spec.windows:
        found.append({"window": 1})
    if spec.vector is None:
        found += [{"vector": 1 << bit} for bit in range(4)]
    # With accumulate, a bias may be factors.
    absent: Mapping[str, Mapping[str, int]] = {
        "bias": {"bias": 1, "accumulate": 0},
        "requantise": {"requantise": 1},
    }
    found += [fields for name, fields in absent.items() if not getattr(spec, name)]
    return found
