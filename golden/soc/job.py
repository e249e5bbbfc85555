"""Jobs of the matmul co-processor: arguments, memory layout, error codes."""

from dataclasses import dataclass, replace
from enum import IntEnum

from golden.npe.requantiser import Requantisation
from golden.npe.vector import SCALED, SECOND
from golden.soc.memory import Matrix
from golden.soc.mode import FormatMode
from golden.soc.spec import CoprocessorSpec

__all__ = ["Error", "Job", "error_of", "matrices", "narrows"]


class Error(IntEnum):
    """Why a job was rejected or aborted."""

    NONE = 0
    DIMENSION = 1
    K_TOO_LARGE = 2
    MISALIGNED = 3
    WRAPS = 4
    MODE = 5
    BLOCKS = 6
    LEADING_DIMENSION = 7
    LONG_ROW = 8
    READ = 16
    WRITE = 17
    DESCRIPTOR = 18
    INDEX = 19


@dataclass(frozen=True, kw_only=True)
class Job:
    """One product, or one vector job. Addresses and row strides (ld*) are in bytes.

    a_format, b_format are indices of the engine's formats. C holds sums; or codes, with a
    requantisation, whose multiplier, shift and zero point come from `records` in memory if given;
    or codes with `encode`, which rounds sums to the engine's result format. Where the build has
    `sizes`, requantised codes have `c_bytes` bytes, 0 and 1 for one. `accumulate` adds to
    the existing C. If the engine has block scales, those of A are a matrix of bytes, M x blocks,
    and those of B, blocks x N. block_m, block_n are the tiles of a block of C, block_k its beats of
    K; 0 leaves them to the hardware. Blocks are computed row by row, or by_columns. Blocks are
    written before all input is read: C must not overlap anything but the C it accumulates into.
    Where the build has a `scratch`, no matrix is in part in it.

    A `vector` job is an operation of :func:`golden.npe.vector_unit.vector_unit` on each of m rows
    of n codes of A, of a_format + 1 bytes each, with sign. C has a row of n codes for each, 1 or 2
    bytes each; of a softmax n + 1, the last of which is the row's exponent. Rows of C may be where
    those of A are, one upon one. Where the build has `sizes`, `c_bytes` chooses, 0 for as many as
    the unit's codes take; if these take two, one byte is that of codes that are requantised within
    its limits, or of a softmax that :func:`golden.npe.vector.narrowed` has rounded.
    b, k, ldb are not looked at, and all else is 0. Gates, sums and
    products have a requantisation, of the unit's own `scaling`; the last two take rows of B, laid
    out as those of A, or one row for all if ldb is 0. So has a scale, which requantises A: rows of
    B are one byte, whose lowest 6 bits are an exponent of the row of A, see
    :func:`golden.npe.elements.shifted`. Where the build can `transpose`, that is a vector job, too:
    C has n rows of m bytes for m rows of n bytes of A, of any n; `c_bytes` is 1 where the unit's
    codes have two. Where it can `gather`, so is this: A is a table of k rows of n codes, and C has
    those m of them whose numbers, of 32 bits, are the rows of B, as they are, of a_format + 1 bytes
    a code. Only then k is looked at. An index of k or more ends the job with :attr:`Error.INDEX`;
    rows before it may have been written.
    """

    a: int
    b: int
    c: int
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    a_scales: int = 0
    b_scales: int = 0
    ldsa: int = 0
    ldsb: int = 0
    a_format: int = 0
    b_format: int = 0
    bias: int | None = None
    requantisation: Requantisation | None = None
    records: int | None = None
    encode: bool = False
    accumulate: bool = False
    block_m: int = 0
    block_n: int = 0
    block_k: int = 0
    by_columns: bool = False
    vector: str | None = None
    c_bytes: int = 0

    @property
    def codes(self) -> bool:
        """C holds codes, not sums."""
        return self.requantisation is not None or self.encode


def mode_of(spec: CoprocessorSpec, job: Job) -> FormatMode | None:
    """Find the memory layout of a job's formats; None if there are no such formats."""
    return spec.inside.modes.get((job.a_format, job.b_format))


def matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out the matrices of a job: a, b, c; bias and records if there are any.

    a and b consist of words, see :class:`golden.soc.mode.FormatMode`.
    """
    if job.vector is not None:
        return _vector_matrices(spec, job)
    mode = mode_of(spec, job) or spec.kinds[0]
    bits = spec.code_bits if job.codes else 8 * spec.sum_bytes
    if spec.sizes and job.codes:
        bits = 8 * (job.c_bytes or 1)
    words = -(-job.k // mode.codes)
    found = {
        "a": Matrix(address=job.a, rows=job.m, columns=words, distance=job.lda, bits=mode.a_bits),
        "b": Matrix(
            address=job.b,
            rows=-(-words // mode.b_deep),
            columns=job.n,
            distance=job.ldb,
            bits=mode.b_bits,
        ),
        "c": Matrix(address=job.c, rows=job.m, columns=job.n, distance=job.ldc, bits=bits),
    }
    if spec.inside.block:
        blocks = -(-job.k // spec.inside.block)
        found["a_scales"] = Matrix(
            address=job.a_scales, rows=job.m, columns=blocks, distance=job.ldsa, bits=8
        )
        found["b_scales"] = Matrix(
            address=job.b_scales, rows=blocks, columns=job.n, distance=job.ldsb, bits=8
        )
    for name, address, size in (
        ("bias", job.bias, spec.sum_bytes),
        ("records", job.records, spec.RECORD_BYTES),
    ):
        if address is not None:
            found[name] = Matrix(address=address, rows=1, columns=job.n, distance=0, bits=8 * size)
    return found


def error_of(spec: CoprocessorSpec, job: Job) -> Error:
    """Check a job before anything is read or written; return the first error."""
    table = spec.gather and job.vector == "gather"
    sizes = (job.m, job.n, job.k) if table or job.vector is None else (job.m, job.n)
    if not all(0 < size < 1 << spec.dimension_width for size in sizes):
        return Error.DIMENSION
    if job.vector is not None:
        return _vector_mode(spec, job) or _range_of(spec, job)
    mode = mode_of(spec, job)
    by_columns = job.records is not None
    if (
        mode is None
        or (job.bias is not None and not spec.bias)
        or (job.codes and not spec.requantise)
        or (job.encode != job.codes if spec.inside.result is not None else job.encode)
        or (by_columns and not (job.codes and spec.requantises_columns))
        or (job.by_columns and not spec.blocks)
        or (any((job.block_m, job.block_n, job.block_k)) and not spec.blocks)
        or (job.accumulate and (job.codes or job.bias is not None or not spec.accumulates))
        or (spec.sizes and job.c_bytes > 2 * job.codes)
    ):
        return Error.MODE
    if job.k > mode.k_max:
        return Error.K_TOO_LARGE
    blocks = job.block_m, job.block_n, job.block_k
    error = _range_of(spec, job)
    if not error and all(blocks) and not spec.fits(*blocks, mode):
        return Error.BLOCKS
    return error


def narrows(spec: CoprocessorSpec, job: Job) -> bool:
    """Return whether a vector job writes a byte of codes that take two."""
    return spec.sizes and job.c_bytes == 1 and spec.vector_out_bytes > 1


def _c_bytes(spec: CoprocessorSpec, job: Job) -> int:
    """Return the bytes of a code of C of a vector job."""
    return 1 if narrows(spec, job) else max(spec.vector_out_bytes, 1)


def _vector_mode(spec: CoprocessorSpec, job: Job) -> Error:
    """Check the operation of a vector job, its codes, and the length of its rows."""
    unit = spec.vector
    more = (
        job.b_format,
        job.encode,
        job.bias is not None,
        job.records is not None,
        job.accumulate,
        job.by_columns,
        job.block_m,
        job.block_n,
        job.block_k,
    )
    how = job.requantisation
    if (
        unit is None
        or job.vector not in spec.vector_jobs
        or job.a_format >= spec.vector_in_bytes
        or any(more)
        or (how is None) == (job.vector in SCALED)
        or (spec.sizes and job.c_bytes > spec.vector_out_bytes)
        or (narrows(spec, job) and how is None and job.vector not in _NARROWS)
        or (
            job.vector == "transpose"
            and (job.a_format > 0 or narrows(spec, job) != (spec.vector_out_bytes > 1))
        )
        or (job.vector == "gather" and job.a_format + 1 != _c_bytes(spec, job))
        or (how is not None and (how.relu or int(how.multiplier[0]) >> unit.reciprocal_width))
    ):
        return Error.MODE
    long = job.vector != "transpose" and job.n > unit.most(job.vector)
    return Error.LONG_ROW if long else Error.NONE


def _vector_matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out the matrices of a vector job."""
    bits, columns = 8 * _c_bytes(spec, job), job.n + (job.vector == "softmax")
    read = 8 * (job.a_format + 1)
    found = {
        "a": Matrix(address=job.a, rows=job.m, columns=job.n, distance=job.lda, bits=read),
        "c": Matrix(address=job.c, rows=job.m, columns=columns, distance=job.ldc, bits=bits),
    }
    if job.vector == "transpose":
        found["c"] = Matrix(address=job.c, rows=job.n, columns=job.m, distance=job.ldc, bits=8)
    if job.vector == "gather":
        found["a"] = replace(found["a"], rows=job.k)
        found["b"] = Matrix(address=job.b, rows=job.m, columns=1, distance=job.ldb, bits=32)
    if job.vector in SECOND:
        each, size = (1, 8) if job.vector == "scale" else (job.n, read)
        found["b"] = Matrix(address=job.b, rows=job.m, columns=each, distance=job.ldb, bits=size)
    return found


def _range_of(spec: CoprocessorSpec, job: Job) -> Error:
    """Check row strides and addresses."""
    found = {} if spec.STREAM else matrices(spec, job)
    free = ("bias", "records", "b" if job.vector is not None and not job.ldb else "")
    if any(
        matrix.distance < matrix.row_bytes for name, matrix in found.items() if name not in free
    ):
        return Error.LEADING_DIMENSION
    base = spec.scratch_base
    for matrix in found.values():
        if matrix.end > 1 << spec.address_width or matrix.address < base < matrix.end:
            return Error.WRAPS
    return Error.NONE


_NARROWS = ("softmax", "transpose", "gather")
"""Operations that can make codes of a byte of a unit whose codes have two, unrequantised."""
