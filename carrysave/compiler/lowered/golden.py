"""Products computed by the co-processor's golden model."""

import numpy as np

from carrysave.compiler.lowered.operands import Compiled
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.npe import requantiser as unit
from golden.soc.coprocessor import requantise
from golden.soc.spec import CoprocessorSpec

__all__ = ["codes", "product", "run"]


def run(spec: CoprocessorSpec, works: list[Work]) -> list[np.ndarray]:
    """Return the results of the works, one after the other.

    Raises
    ------
    ValueError
        Sums that do not fit.
    """
    results: list[np.ndarray] = []
    for work in works:
        a = results[-1] if work.a is None else work.a
        mode = work.mode
        pair = (0, 0) if mode is None else (mode.a_format, mode.b_format)
        sums, _ = spec.inside.multiply(a, work.b, pair)
        if work.bias is not None:
            sums = sums + work.bias
        bits = spec.inside.sum_width
        if sums.size and not -(1 << bits - 1) <= sums.min() <= sums.max() < 1 << bits - 1:
            most = sums.flat[np.abs(sums).argmax()]
            raise ValueError(f"sums must be of {bits} bits, not {most}")
        requantisation = work.requantisation
        results.append(
            sums if requantisation is None else codes(spec, sums, requantisation, wide=work.wide)
        )
    return results


def product(spec: CoprocessorSpec, compiled: Compiled) -> np.ndarray:
    """Return y of a product; errors are those of :func:`run`."""
    return compiled.finish([run(spec, [work])[0] for work in compiled.works])


def codes(
    spec: CoprocessorSpec, sums: np.ndarray, requantisation: Requantisation, *, wide: bool = False
) -> np.ndarray:
    """Requantise sums, with the driver's requantisation; to `wide` codes of two bytes."""
    high = (1 << (16 if wide else 8) - 1) - 1
    low, high = (
        limit if given is None else given
        for limit, given in ((-high - 1, requantisation.low), (high, requantisation.high))
    )
    scales = (
        np.atleast_1d(value)
        for value in (requantisation.multiplier, requantisation.shift, requantisation.zero_point)
    )
    multiplier, shift, zero_point = scales
    given = unit.Requantisation(
        multiplier=multiplier,
        shift=shift,
        zero_point=zero_point,
        low=low,
        high=high,
        relu=requantisation.relu,
    )
    return requantise(spec, sums, given)
