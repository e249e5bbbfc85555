"""Vector jobs: operations on rows of a matrix, by the unit beside the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .control import Control
from .device_info import VectorInfo
from .job import Job, Requantisation
from .maps import Maps
from .matrix import Matrix
from .number import Number
from .operations import DEPTHWISE, MAPS, REQUANTISED, SECOND, SHARES
from .product import check_out, job_of
from .vector_checks import (
    EXPONENT,
    INDEX,
    check_maps,
    check_second,
    place_of,
    requantisation_of,
)

__all__ = ["EXPONENT", "INDEX", "VectorControl", "VectorWork"]


@dataclass(frozen=True)
class VectorWork:
    """An operation on rows that can be run any number of times, among products."""

    job: Job
    matrices: Mapping[str, Matrix]
    """All matrices of the device: a, c; b of operations that take it."""

    @property
    def c(self) -> Matrix:
        """What it writes; of a softmax, each row ends with its exponent."""
        return self.matrices["c"]

    @property
    def codes(self) -> Matrix:
        """The codes without exponents, in the memory of :attr:`c`."""
        return self.c.first(self.job.n)

    @property
    def exponents(self) -> Matrix:
        """Exponents of the rows of a softmax, in the memory of :attr:`c`: bytes, or low ones."""
        part = self.c.last()
        part.number = EXPONENT
        return part

    @property
    def allocated(self) -> tuple[Matrix, ...]:
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
        narrow: bool = False,
        maps: Maps | None = None,
    ) -> VectorWork:
        """Make an operation on each row of a matrix that is on the device.

        A softmax of x * 2^-scale_width makes codes p for p * 2^-e, with one exponent e per row,
        which follows the row's codes: C has one more column. ``layer_norm`` and ``rms_norm`` take
        codes of any scale, and make codes for their value times 2^norm_fraction. ``gelu``, ``silu``
        of codes in units of 2^-scale_width, ``add`` and ``multiply`` with `b` are requantised; so
        are codes as they are by ``scale``, where each row's exponent in `b` is added to the shift.
        ``transpose`` makes columns rows, of numbers of a byte. ``gather`` copies rows of a table,
        those whose numbers are in `b`; one beyond the table is a :exc:`JobError` of the run.
        ``map_add``, ``map_multiply`` and ``map_max`` requantise what `maps` says of two bytes.

        Parameters
        ----------
        operation : one of ``info.vector.operations``.
        a : M x N of one of ``info.vector.a``, N up to ``info.vector.most(operation)``; the table of
            a gather: any number of rows.
        out : M x N, or N + 1 for a softmax, of ``info.vector.codes(operation)``, or of those of
            `narrow`; allocated if None. It may be `a` or `b`, or in the memory of either, row by
            row: but not in that of a `b` of one row for several.
        b : of operations on two: as `a`; or 1 x N, for all rows. Of ``scale`` exponents, bytes of
            up to 63: M x 1, such as :attr:`VectorWork.exponents`; or 1 x 1, for all. Of ``gather``
            numbers of rows, of :data:`INDEX`: M x 1.
        requantisation : of those and ``gelu``, ``silu``, for all columns alike, without `relu`,
            with a multiplier of ``info.vector.multiplier_bits``, on maps of any, and with a table.
        narrow : codes have a byte, if jobs choose (``sizes``); of what is requantised, and of a
            softmax, whose codes are rounded.
        maps : of operations on maps.

        Raises
        ------
        ValueError
            The hardware would reject it, or not compute it.
        """
        self.info.require("vector")
        unit = self.info.vector
        assert unit is not None
        if operation not in unit.operations:
            raise ValueError(
                f"operation must be one of {', '.join(unit.operations)}, not {operation!r}"
            )
        if operation == "transpose":
            return self._transposed(unit, a, out, narrow=narrow)
        if operation == "gather":
            return self._gathered(unit, a, b, out, narrow=narrow)
        if operation in (DEPTHWISE, *SHARES):
            raise ValueError(f"operation must be of rows, not {operation}: a job of its own")
        check_maps(self.info, operation, (a, b), maps, narrow=narrow)
        work = self._rows(unit, operation, a, b, out, requantisation, narrow=narrow)
        return work if maps is None else self._of_maps(work, maps)

    def _of_maps(self, work: VectorWork, maps: Maps) -> VectorWork:
        """Return a job on maps with what it says of these, and its table in memory."""
        job, how = replace(work.job, **vars(maps)), work.job.requantisation
        if how is None or how.table is None:
            return replace(work, job=job)
        self.info.require("table")
        table = self._bytes(how.placed(0).reshape(1, -1))
        job = replace(job, records=table.address, table=True)
        return VectorWork(job, {**work.matrices, "records": table})

    def _rows(
        self,
        unit: VectorInfo,
        operation: str,
        a: Matrix,
        b: Matrix | None,
        out: Matrix | None,
        requantisation: Requantisation | None,
        *,
        narrow: bool,
    ) -> VectorWork:
        """Make an operation that computes codes of rows."""
        m, n = a.shape
        most = unit.most(operation)
        if n > most:
            raise ValueError(f"rows of a must be of 1..{most} codes, not {n}")
        wide = 0 if operation in MAPS else place_of(unit, a)
        if narrow:
            self.info.require("sizes")
            if operation not in (*REQUANTISED, "softmax"):
                raise ValueError(f"narrow must be false for {operation}, not true")
        codes = unit.codes(operation, narrow=narrow)
        shape = (m, n + (operation == "softmax"))
        limited = requantisation_of(codes, unit, operation, requantisation)
        two = (*SECOND, *MAPS)
        if (b is None) == (operation in two):
            raise ValueError(f"b must be given for {', '.join(two)} only, not for {operation}")
        if b is not None:
            check_second(unit, operation, a, b)
        if out is not None:
            check_out(out, shape, codes)
            if b is not None and b.shape[0] != m and out.address < b.end and b.address < out.end:
                raise ValueError("out must not be in the memory of b, which has one row for all")
        c = self._matrix(shape, codes) if out is None else out
        matrices = {"a": a, "c": c, **({} if b is None else {"b": b})}
        job = job_of(
            matrices,
            (m, n, 0),
            a_format=wide,
            vector=operation,
            requantisation=limited,
            c_bytes=int(narrow),
            **({} if b is None or b.shape[0] == m else {"ldb": 0}),
        )
        return VectorWork(job, matrices)

    def _transposed(
        self, unit: VectorInfo, a: Matrix, out: Matrix | None, *, narrow: bool
    ) -> VectorWork:
        """Make the transposition of a matrix of bytes."""
        m, n = a.shape
        if narrow:
            raise ValueError("narrow must be false for transpose, not true")
        if a.number.bits != 8:
            raise ValueError(f"a must be of numbers of a byte, not of {a.number}")
        c = self._apart((n, m), a.number, out, {"a, which is turned": a})
        matrices = {"a": a, "c": c}
        job = job_of(matrices, (m, n, 0), vector="transpose", c_bytes=int(unit.out_width > 8))
        return VectorWork(job, matrices)

    def _gathered(
        self, unit: VectorInfo, a: Matrix, b: Matrix | None, out: Matrix | None, *, narrow: bool
    ) -> VectorWork:
        """Make the gather of rows of a table."""
        k, n = a.shape
        if narrow:
            raise ValueError("narrow must be false for gather, not true")
        wide = a.number.bits // 8 - 1
        legal = [number for number in unit.a if number.bits <= (16 if unit.out_width > 8 else 8)]
        if a.number.bits not in [number.bits for number in legal]:
            bits = " or ".join(str(number.bits) for number in legal)
            raise ValueError(f"a must be of numbers of {bits} bits, not of {a.number}")
        if n > unit.length:
            raise ValueError(f"rows of a must be of 1..{unit.length} codes, not {n}")
        if b is None or b.shape[1] != 1 or b.number != INDEX:
            what = "none" if b is None else f"{b.shape} of {b.number}"
            raise ValueError(f"b must be numbers of rows, one column of {INDEX}, not {what}")
        m = b.shape[0]
        c = self._apart((m, n), a.number, out, {"a": a, "b": b})
        matrices = {"a": a, "b": b, "c": c}
        c_bytes = int(not wide and unit.out_width > 8)
        job = job_of(matrices, (m, n, k), a_format=wide, vector="gather", c_bytes=c_bytes)
        return VectorWork(job, matrices)

    def _apart(
        self, shape: tuple[int, int], number: Number, out: Matrix | None, read: Mapping[str, Matrix]
    ) -> Matrix:
        """Return where results go: `out`, if it is right, and not where any operand is."""
        if out is None:
            return self._matrix(shape, number)
        check_out(out, shape, number)
        for name, one in read.items():
            if out.address < one.end and one.address < out.end:
                raise ValueError(f"out must not be in the memory of {name}")
        return out
