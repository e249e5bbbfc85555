"""What a job takes of weights in groups along K, as tools of GPTQ and AWQ store them."""

import numpy as np

from carrysave.driver import Mode
from golden.formats.integer import IntFormat
from golden.formats.ue5m3 import UE5M3
from golden.lut.weights import GroupedWeights

__all__ = ["grouped_operands"]


def grouped_operands(weights: GroupedWeights, mode: Mode) -> tuple[np.ndarray, np.ndarray]:
    """Return B, and the side bytes of its blocks, for an engine whose blocks have zero points.

    Codes and zero points are moved alike into the signed numbers of B: differences are the same.

    Parameters
    ----------
    weights : uniform codes q of scale * (q - zero), in groups of the mode's block.
    mode : of `npe` with `zeros`; if there are scales, these are of E5M3, to which those of the
        weights are rounded.

    Returns
    -------
    b : int64, K x N, rows in the order of `weights`.
    sides : zero points, or records of scales and zero points, blocks x N.

    Raises
    ------
    ValueError
        The mode has no zero points, other blocks, or too few bits.
    """
    if not mode.zeros or weights.zeros is None:
        raise ValueError("weights must have zero points, and the mode blocks with them")
    if weights.group != mode.block and weights.groups > 1:
        raise ValueError(f"group must be the mode's block, {mode.block}, not {weights.group}")
    middle = 1 << weights.bits - 1
    numbers = IntFormat(width=(mode.b.high + 1).bit_length())
    b, zeros = (
        numbers.check(name, array - middle)
        for name, array in (("codes", weights.codes), ("zeros", weights.zeros))
    )
    if mode.scales is None:
        return b, zeros
    return b, mode.records(UE5M3.encode(weights.scale_values().to_odd()), zeros)
