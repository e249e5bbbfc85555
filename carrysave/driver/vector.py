"""Vector jobs: operations on rows of a matrix, by the unit beside the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .control import Control
from .device_info import PAIRS, REQUANTISED, VectorInfo
from .job import Job, Requantisation
from .matrix import Matrix

__all__ = ["VectorControl", "VectorWork"]


@dataclass(frozen=True)
class VectorWork:
    """An operation on rows that can be run any number of times, among products."""

    job: Job
    matrices: Mapping[str, Matrix]
    """All matrices of the device: a, c; b of operations on two."""

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

    def vector(
        self,
        operation: str,
        a: Matrix,
        out: Matrix | None = None,
        *,
        b: Matrix | None = None,
        requantisation: Requantisation | None = None,
    ) -> VectorWork:
        """Make an operation on each row of a matrix that is on the device.

        A softmax of x * 2^-scale_width makes codes p for p * 2^-e, with one exponent e per row,
        which follows the row's codes: C has one more column. ``layer_norm`` and ``rms_norm`` take
        codes of any scale, and make codes for their value times 2^norm_fraction. ``gelu``, ``silu``
        of codes in units of 2^-scale_width, ``add`` and ``multiply`` with `b` are requantised.

        Parameters
        ----------
        operation : one of ``info.vector.operations``.
        a : M x N of one of ``info.vector.a``, N up to ``info.vector.most(operation)``.
        out : M x N, or N + 1 for a softmax, of ``info.vector.codes(operation)``; allocated if None.
            It may be `a` or `b`, or in the memory of either, row by row: but not in that of a `b`
            of one row for several.
        b : of ``add`` and ``multiply``: as `a`; or 1 x N, for all rows.
        requantisation : of ``gelu``, ``silu``, ``add`` and ``multiply``, for all columns alike,
            with a multiplier of ``info.vector.multiplier_bits``, and without `relu`.

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
        most = unit.most(operation)
        if n > most:
            raise ValueError(f"rows of a must be of 1..{most} codes, not {n}")
        wide = _place_of(unit, a)
        shape, number = (m, n + (operation == "softmax")), unit.codes(operation)
        how = _checked(unit, operation, requantisation)
        if (b is None) == (operation in PAIRS):
            raise ValueError(f"b must be given for {' and '.join(PAIRS)} only, not for {operation}")
        if b is not None:
            if b.shape not in ((m, n), (1, n)):
                raise ValueError(f"b must be of shape {(m, n)} or {(1, n)}, not {b.shape}")
            if _place_of(unit, b, "b") != wide:
                raise ValueError(f"b must be of {unit.a[wide]}, as a, not of {b.number}")
        if out is not None:
            if out.shape != shape:
                raise ValueError(f"out must be of shape {shape}, not {out.shape}")
            if not out.number.holds(number):
                raise ValueError(f"out must hold {number}, not {out.number}")
            if b is not None and b.shape != a.shape and out.address < b.end and b.address < out.end:
                raise ValueError("out must not be in the memory of b, which has one row for all")
        c = self._matrix(shape, number) if out is None else out
        job = Job(
            a=a.address, b=0 if b is None else b.address, c=c.address, m=m, n=n, k=0,
            lda=a.distance, ldb=0 if b is None or b.shape != a.shape else b.distance,
            ldc=c.distance, a_format=wide, vector=operation, requantisation=how,
        )  # fmt: skip
        return VectorWork(job, {"a": a, "c": c, **({} if b is None else {"b": b})})


def _checked(unit: VectorInfo, operation: str, how: Requantisation | None) -> Requantisation | None:
    """Check the requantisation of an operation; return it with limits."""
    if (how is None) == (operation in REQUANTISED):
        raise ValueError(
            f"requantisation must be given for {', '.join(REQUANTISED)} only, not for {operation}"
        )
    if how is None:
        return None
    codes = unit.codes(operation)
    if how.relu or how.per_column:
        raise ValueError("requantisation must be without relu, and the same for all columns")
    if int(how.multiplier) >> unit.multiplier_bits:
        raise ValueError(
            f"multiplier must be of {unit.multiplier_bits} bits, not {int(how.multiplier)}"
        )
    how.check(codes, 1)
    low, high = how.limits(codes)
    return replace(how, low=low, high=high)


def _place_of(unit: VectorInfo, a: Matrix, name: str = "a") -> int:
    """Return which of the unit's numbers a matrix is of."""
    for place, number in enumerate(unit.a):
        if number.holds(a.number):
            return place
    legal = " or ".join(str(number) for number in unit.a)
    raise ValueError(f"{name} must be of {legal}, not of {a.number}")
