"""3D cube."""

from golden.tpe.cube import CubeSpec
from hw.lib.evidence import SPARSE
from hw.tpe.broadcast import Broadcast
from hw.tpe.element_choice import TREE_BUILD

__all__ = ["Cube"]


class Cube(Broadcast):
    """Multiplies matrices on a 3D cube: two axes share operands, the third sums products.

    Computes :func:`golden.tpe.cube.cube`, exactly; see :class:`Broadcast`.

    Examples
    --------
    >>> cube = Cube(CubeSpec(m=2, n=2, k=4))
    >>> cube.i_a.payload.shape()
    StructLayout({'data': 64, 'last': 1})
    >>> cube.latency, cube.operations_per_cycle
    (6, 32)
    """

    SPEC = CubeSpec
    SUMMARY = "3D cube: m x n elements, each adding k products per cycle"
    BENCH = "tb_engine"
    EVIDENCE = (*SPARSE, "mutants")

    BUILD = TREE_BUILD
