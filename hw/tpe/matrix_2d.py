"""2D matrix."""

from golden.tpe.matrix_2d import Matrix2dSpec
from hw.tpe.broadcast import Broadcast

__all__ = ["Matrix2d"]


class Matrix2d(Broadcast):
    """Multiplies matrices on a 2D matrix of elements that take operands without hops.

    Computes :func:`golden.tpe.matrix_2d.matrix_2d`, exactly; see :class:`Broadcast`.
    """

    SPEC = Matrix2dSpec
