"""The matmul co-processor with streams: the order of rows on them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from golden.soc.blocking import Blocks, order
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job
from golden.soc.job_check import matrices, mode_of
from golden.soc.spec import CoprocessorStreamSpec

__all__ = ["CoprocessorStreamSpec", "Row", "coprocessor_stream", "rows"]


class Row(NamedTuple):
    """A part of a row of a matrix: bytes from an address on."""

    name: str
    address: int
    bytes: int


def rows(spec: CoprocessorStreamSpec, job: Job) -> Iterator[Row]:
    """List the parts of rows that a job reads and writes, by :func:`golden.soc.blocking.order`.

    Names are those of :func:`golden.soc.job_check.matrices`: "a" and "a_scales" are on the stream
    of A, "c" leaves, everything else is on the stream of B.

    Parameters
    ----------
    spec : the build.
    job : a legal job. Its addresses place the matrices in some memory, only for this list.
    """
    by_name, mode = matrices(spec, job), mode_of(spec, job)
    assert mode is not None
    sizes = job.block_m, job.block_n, job.block_k
    blocks = Blocks(*(sizes if all(sizes) else spec.default_blocks(mode)), job.by_columns)
    bits = {name: matrix.bits for name, matrix in by_name.items()}
    for part in order(spec.stores(mode), blocks, bits, job.m, job.n, by_name["a"].columns):
        matrix = by_name[part.name]
        address = matrix.address + part.row * matrix.distance + part.first
        yield Row(part.name, address, part.bytes)


def coprocessor_stream(spec: CoprocessorStreamSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job on a memory from and to which :func:`rows` are streamed.

    Parameters
    ----------
    spec, memory, job : as for :func:`golden.soc.coprocessor.coprocessor`.
    """
    return coprocessor(spec, memory, job)
