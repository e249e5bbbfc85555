"""Vector jobs: operations on rows of a matrix, by the unit beside the engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from .control import Control
from .device_info import VectorInfo
from .job import Job
from .matrix import Matrix

__all__ = ["VectorControl", "VectorWork"]


@dataclass(frozen=True)
class VectorWork:
    """An operation on rows that can be run any number of times, among products."""

    job: Job
    matrices: Mapping[str, Matrix]
    """All matrices of the device: a, c."""

    @property
    def c(self) -> Matrix:
        """What it writes; of a softmax, each row ends with its exponent."""
        return self.matrices["c"]

    @property
    def codes(self) -> Matrix:
        """The codes without exponents, in the memory of :attr:`c`."""
        return self.c.first(self.job.n)

    @property
    def kept(self) -> tuple[Matrix, ...]:
        """Memory that must stay allocated."""
        return tuple(self.matrices.values())


class VectorControl(Control):
    """Makes vector jobs, if the co-processor has a vector unit."""

    def vector(self, operation: str, a: Matrix, out: Matrix | None = None) -> VectorWork:
        """Make an operation on each row of a matrix that is on the device.

        A softmax of x * 2^-scale_width makes codes p for p * 2^-e, with one exponent e per row,
        which follows the row's codes: C has one more column. ``layer_norm`` and ``rms_norm`` take
        codes of any scale, and make codes for their value times 2^norm_fraction.

        Parameters
        ----------
        operation : one of ``info.vector.operations``.
        a : M x N of one of ``info.vector.a``, N up to ``info.vector.length``.
        out : M x N, or N + 1 for a softmax, of ``info.vector.codes(operation)``; allocated if None.
            It may be `a`, or in the memory of `a`, row by row.

        Raises
        ------
        ValueError
            The hardware would reject it, or not compute it.
        """
        self.info.require("vector")
        unit, (m, n) = self.info.vector, a.shape
        assert unit is not None
        if operation not in unit.operations:
            raise ValueError(
                f"operation must be one of {', '.join(unit.operations)}, not {operation!r}"
            )
        if n > unit.length:
            raise ValueError(f"rows of a must be of 1..{unit.length} codes, not {n}")
        wide = _place_of(unit, a)
        shape, number = (m, n + (operation == "softmax")), unit.codes(operation)
        if out is not None:
            if out.shape != shape:
                raise ValueError(f"out must be of shape {shape}, not {out.shape}")
            if not out.number.holds(number):
                raise ValueError(f"out must hold {number}, not {out.number}")
        c = self._matrix(shape, number) if out is None else out
        job = Job(
            a=a.address, b=0, c=c.address, m=m, n=n, k=0, lda=a.distance, ldb=0, ldc=c.distance,
            a_format=wide, vector=operation,
        )  # fmt: skip
        return VectorWork(job, {"a": a, "c": c})


def _place_of(unit: VectorInfo, a: Matrix) -> int:
    """Return which of the unit's numbers a matrix is of."""
    for place, number in enumerate(unit.a):
        if number.holds(a.number):
            return place
    legal = " or ".join(str(number) for number in unit.a)
    raise ValueError(f"a must be of {legal}, not of {a.number}")
