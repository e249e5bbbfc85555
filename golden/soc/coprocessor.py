"""The matmul co-processor: C = requantise(A x B + bias) on matrices in memory, of any size."""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from golden.engine import matmul
from golden.npe.requantiser import Requantisation, requantiser
from golden.soc.memory import Matrix
from golden.soc.spec import CoprocessorSpec

__all__ = ["CoprocessorSpec", "Error", "Job", "coprocessor", "error_of", "matrices"]


class Error(IntEnum):
    """Why a job was refused, or ended."""

    NONE = 0
    DIMENSION = 1
    K_TOO_LARGE = 2
    MISALIGNED = 3
    WRAPS = 4
    MODE = 5
    BLOCKS = 6
    LEADING_DIMENSION = 7
    READ = 16
    WRITE = 17
    DESCRIPTOR = 18


@dataclass(frozen=True, kw_only=True)
class Job:
    """One product. Addresses are of bytes; the distances between rows, ld*, too.

    block_m, block_n are tiles of a block of C, block_k beats of K that are multiplied at once; 0
    leaves them to the hardware. Blocks are computed row by row, or by_columns.
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
    bias: int | None = None
    requantisation: Requantisation | None = None
    block_m: int = 0
    block_n: int = 0
    block_k: int = 0
    by_columns: bool = False

    @property
    def codes(self) -> bool:
        """C is of codes, not of sums."""
        return self.requantisation is not None


def matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    """Lay out what a job reads and writes: a, b, c, and bias if there is one."""
    bits = spec.requantiser.out_width if job.codes else 8 * spec.sum_bytes
    found = {
        "a": Matrix(address=job.a, rows=job.m, columns=job.k, distance=job.lda, bits=spec.a_bits),
        "b": Matrix(address=job.b, rows=job.k, columns=job.n, distance=job.ldb, bits=spec.b_bits),
        "c": Matrix(address=job.c, rows=job.m, columns=job.n, distance=job.ldc, bits=bits),
    }
    if job.bias is not None:
        found["bias"] = Matrix(
            address=job.bias, rows=1, columns=job.n, distance=0, bits=8 * spec.sum_bytes
        )
    return found


def error_of(spec: CoprocessorSpec, job: Job) -> Error:
    """Say why a job is refused, before anything is read or written; the first reason counts."""
    if not all(0 < size < 1 << spec.DIMENSION_WIDTH for size in (job.m, job.n, job.k)):
        return Error.DIMENSION
    if job.k > spec.engine.depth:
        return Error.K_TOO_LARGE
    if (job.bias is not None and not spec.bias) or (job.codes and not spec.requantise):
        return Error.MODE
    found = matrices(spec, job)
    if any(found[name].distance < found[name].row_bytes for name in "abc"):
        return Error.LEADING_DIMENSION
    if any(matrix.end > 1 << spec.address_width for matrix in found.values()):
        return Error.WRAPS
    blocks = job.block_m, job.block_n, job.block_k
    if all(blocks) and not spec.fits(*blocks):
        return Error.BLOCKS
    return Error.NONE


def coprocessor(spec: CoprocessorSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job on a memory, whose byte 0 has address 0.

    Parameters
    ----------
    spec : what was built.
    memory : uint8; C is written into it, unless the job is refused.
    job : what to do.

    Returns
    -------
    Why it was refused, or `Error.NONE`.
    """
    error = error_of(spec, job)
    if error:
        return error
    found = matrices(spec, job)
    engine = spec.engine
    a = engine.a_format.wrap(found["a"].load(memory))
    b = engine.b_format.wrap(found["b"].load(memory))
    sums = matmul(engine, a, b)
    if "bias" in found:
        bias = engine.c_format.wrap(found["bias"].load(memory))
        sums = engine.c_format.wrap(sums + bias)
    if job.requantisation is not None:
        column = replace(spec.requantiser, n=1)
        sums = requantiser(column, sums.reshape(-1, 1), job.requantisation).reshape(sums.shape)
    found["c"].store(memory, sums)
    return Error.NONE
