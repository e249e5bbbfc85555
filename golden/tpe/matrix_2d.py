"""2D matrix: broadcast operands, one element of C per processing element."""

from dataclasses import dataclass

from golden.tpe.rows import SparseEngineSpec, cycles
from golden.tpe.rows import sparse_matmul as matrix_2d

__all__ = ["Matrix2dSpec", "cycles", "matrix_2d"]


@dataclass(frozen=True, kw_only=True)
class Matrix2dSpec(SparseEngineSpec):
    """A tile of C is m rows by n columns of elements; one code of K arrives each cycle.

    With `sparsity`, it is a group of M codes, and an element adds N products.
    """

    @property
    def k(self) -> int:
        """Codes of K per cycle: one, or a group."""
        return 1 if self.sparse is None else self.sparse.group
