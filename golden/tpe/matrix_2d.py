"""2D matrix: broadcast operands, one element of C per processing element."""

from dataclasses import dataclass

from golden.engine import matmul as matrix_2d
from golden.tpe.rows import BroadcastEngineSpec, cycles

__all__ = ["Matrix2dSpec", "cycles", "matrix_2d"]


@dataclass(frozen=True, kw_only=True)
class Matrix2dSpec(BroadcastEngineSpec):
    """A tile of C is m rows by n columns of elements; one code of K arrives each cycle."""
