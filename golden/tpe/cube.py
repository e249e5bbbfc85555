"""3D cube: m x n x k multipliers, k for each element of C."""

from dataclasses import dataclass

from golden.check import Integer, parameter
from golden.tpe.rows import SparseEngineSpec, cycles
from golden.tpe.rows import sparse_matmul as cube

__all__ = ["CubeSpec", "cube", "cycles"]


@dataclass(frozen=True, kw_only=True)
class CubeSpec(SparseEngineSpec):
    """A tile of C is m rows by n columns; k codes of K arrive each cycle."""

    m: int = parameter(Integer("rows of C per tile", 4, 1, 64, "rows"))
    n: int = parameter(Integer("columns of C per tile", 4, 1, 64, "columns"))
    k: int = parameter(Integer("codes of K per cycle", 4, 1, 64, "codes"))
