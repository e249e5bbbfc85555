"""Shift-add core: gated, shifted copies of activations, all bits of a weight in one cycle."""

from dataclasses import dataclass

from golden.check import Integer, parameter
from golden.engine import matmul as shift_add_core
from golden.tpe.rows import BroadcastEngineSpec, cycles

__all__ = ["ShiftAddCoreSpec", "cycles", "shift_add_core"]


@dataclass(frozen=True, kw_only=True)
class ShiftAddCoreSpec(BroadcastEngineSpec):
    """A tile of C is m rows by n columns; a beat of k codes of K takes one cycle.

    Groups of weights with separate scales are separate tiles, scaled after the core.
    """

    m: int = parameter(Integer("rows of C per tile", 2, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 64, 1, 256, "columns"))
    b_width: int = parameter(Integer("bits of a weight", 4, 1, 8, "bits"))
    k: int = parameter(Integer("codes of K per beat", 16, 1, 80, "codes"))
