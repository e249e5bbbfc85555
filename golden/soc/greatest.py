"""The greatest magnitude of a product's numbers, before they become codes."""

from typing import Any

import numpy as np

__all__ = ["MOST_AMAX", "greatest"]

MOST_AMAX = 64
"""Most bits of a sum whose magnitude is reported."""


def greatest(spec: Any, sums: np.ndarray, invalid: np.ndarray) -> int:
    """Return the greatest magnitude of some sums; of floats, that one's code without its sign.

    Those that are no numbers do not count; without any, it is 0. Scales of the next operand follow
    from it, as in training with scales of the whole (Micikevicius and others, "FP8 Formats for Deep
    Learning", 2022).

    Parameters
    ----------
    spec : :class:`golden.soc.spec.CoprocessorSpec`.
    sums, invalid : as they are before they are rounded, and which are no numbers; same shape.
    """
    numbers = sums[~invalid]
    if spec.inside.a_sides:
        numbers = numbers & (1 << _FLOAT_BITS - 1) - 1
    return max((abs(int(number)) for number in numbers), default=0)


_FLOAT_BITS = 32
