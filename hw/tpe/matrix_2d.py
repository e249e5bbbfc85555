"""2D matrix."""

from golden.tpe.matrix_2d import Matrix2dSpec
from hw.lib.evidence import SPARSE
from hw.tpe.broadcast import Broadcast

__all__ = ["Matrix2d"]


class Matrix2d(Broadcast):
    """Multiplies matrices on a 2D array of elements with broadcast operands.

    Computes :func:`golden.tpe.matrix_2d.matrix_2d`, exactly; see :class:`Broadcast`.

    Examples
    --------
    >>> array = Matrix2d(Matrix2dSpec(m=4, n=4))
    >>> array.latency, array.operations_per_cycle
    (4, 32)
    """

    SPEC = Matrix2dSpec
    SUMMARY = "2D matrix: operands broadcast to elements that accumulate locally"
    BENCH = "tb_engine"
    EVIDENCE = SPARSE
