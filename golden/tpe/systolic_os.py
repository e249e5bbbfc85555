"""Output-stationary systolic array: each element accumulates one element of C."""

from dataclasses import dataclass

from golden.engine import matmul as systolic_os
from golden.tpe.rows import RowsEngineSpec, cycles

__all__ = ["SystolicOsSpec", "cycles", "systolic_os"]


@dataclass(frozen=True, kw_only=True)
class SystolicOsSpec(RowsEngineSpec):
    """A tile of C is m rows by n columns of elements; one code of K arrives each cycle."""
