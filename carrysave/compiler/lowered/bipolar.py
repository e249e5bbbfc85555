"""Products of odd numbers, for an engine whose codes are bipolar."""

import numpy as np

from carrysave.compiler.lowered.engine_codes import check_depth
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from golden.formats.bipolar import bipolar_codes

__all__ = ["bipolar_work", "check_bipolar"]


def check_bipolar(target: Target, weights: np.ndarray | None) -> None:
    """Refuse weights that have no bipolar code, such as 0."""
    if weights is not None:
        bipolar_codes("B", weights, target.mode.b.high)


def bipolar_work(target: Target, a: np.ndarray, b: np.ndarray, bias: np.ndarray) -> Work:
    """Make a work of odd numbers, M x K and K x N; refuse others.

    That A has only such numbers is known where it is computed: -1 and 1 come in any type of codes.
    """
    check_depth(target, len(b))
    mode = target.mode
    return Work(
        a=bipolar_codes("A", a, mode.a.high).astype(mode.a.dtype),
        b=bipolar_codes("B", b, mode.b.high).astype(mode.b.dtype),
        bias=bias,
        mode=mode,
    )
