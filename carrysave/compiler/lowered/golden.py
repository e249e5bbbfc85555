"""Products computed by the co-processor's golden model."""

from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.compiler.lowered.operands import Compiled
from carrysave.compiler.timing.golden_job import scales_of
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.soc.coprocessor import requantise
from golden.soc.row_factors import scaled
from golden.soc.spec import CoprocessorSpec

__all__ = ["codes", "product", "run"]


_COLUMNS = 256
"""Columns of works that are requantised at once: those of a channel or two are few."""


def run(spec: CoprocessorSpec, works: list[Work]) -> list[np.ndarray]:
    """Return the results of works; none depends on another but one that goes on with its C.

    Raises
    ------
    ValueError
        Sums that do not fit.
    """
    results: list[np.ndarray] = []
    at = 0
    while at < len(works):
        first = works[at]
        sums = [_sums(spec, first, results[-1] if first.goes_on else first.existing)]
        columns = sums[0].shape[1]
        for work in works[at + 1 :]:
            columns += work.b.shape[1]
            if columns > _COLUMNS or not _requantised_alike(first, work):
                break
            sums.append(_sums(spec, work))
        results += _codes_of_each(spec, works[at : at + len(sums)], sums)
        at += len(sums)
    return results


def product(spec: CoprocessorSpec, compiled: Compiled) -> np.ndarray:
    """Return y of a product; errors are those of :func:`run`."""
    return compiled.finish(run(spec, compiled.works))


def _sums(spec: CoprocessorSpec, work: Work, existing: np.ndarray | None = None) -> np.ndarray:
    """Return A x B + bias of a work, and the existing sums times its factors, if there are any."""
    assert work.a is not None
    mode = work.mode
    pair = (0, 0) if mode is None else (mode.a_format, mode.b_format)
    zeros = None if mode is None else work.sides(mode)
    # Of a zero point's byte as many bits count as a code has.
    sides = () if zeros is None else (zeros.astype(np.int64) & 0xFF,)
    sums, _ = spec.inside.multiply(work.a, work.b, pair, sides)
    if work.bias is not None:
        sums = sums + work.bias
    if existing is not None:
        assert work.row_factors is not None
        sums = sums + scaled(existing, work.row_factors)
    bits = spec.inside.sum_width
    if sums.size and not -(1 << bits - 1) <= sums.min() <= sums.max() < 1 << bits - 1:
        most = sums.flat[np.abs(sums).argmax()]
        raise ValueError(f"sums must be of {bits} bits, not {most}")
    return sums


def _requantised_alike(one: Work, other: Work) -> bool:
    """Return whether results of two works differ in the scales of their columns alone."""
    first, second = one.requantisation, other.requantisation
    if first is None or second is None or one.a is None or other.a is None:
        return False
    alike = len(one.a) == len(other.a) and one.wide == other.wide
    limits = [(scales.low, scales.high, scales.relu) for scales in (first, second)]
    return alike and limits[0] == limits[1]


def _codes_of_each(
    spec: CoprocessorSpec, works: list[Work], sums: list[np.ndarray]
) -> list[np.ndarray]:
    """Requantise the sums of works that are requantised alike, all at once."""
    first = works[0].requantisation
    if first is None:
        return sums
    if len(works) == 1:
        return [codes(spec, sums[0], first, wide=works[0].wide)]
    widths = [one.shape[1] for one in sums]
    scales: dict[str, Any] = {
        name: np.concatenate([
            np.broadcast_to(getattr(work.requantisation, name), width)
            for work, width in zip(works, widths, strict=True)
        ])
        for name in ("multiplier", "shift", "zero_point")
    }
    joined = codes(spec, np.concatenate(sums, axis=1), replace(first, **scales), wide=works[0].wide)
    return np.split(joined, np.cumsum(widths[:-1]), axis=1)


def codes(
    spec: CoprocessorSpec, sums: np.ndarray, requantisation: Requantisation, *, wide: bool = False
) -> np.ndarray:
    """Requantise sums, with the driver's requantisation; to `wide` codes of two bytes."""
    high = (1 << (16 if wide else 8) - 1) - 1
    low, high = (
        limit if given is None else given
        for limit, given in ((-high - 1, requantisation.low), (high, requantisation.high))
    )
    return requantise(spec, sums, scales_of(replace(requantisation, low=low, high=high)))
