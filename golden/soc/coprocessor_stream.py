"""The matmul co-processor between streams: which rows come, and leave, in which order."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job, matrices, mode_of
from golden.soc.spec import CoprocessorStreamSpec

__all__ = ["CoprocessorStreamSpec", "Row", "coprocessor_stream", "rows"]


class Row(NamedTuple):
    """A part of a row of a matrix: bytes from an address on."""

    name: str
    address: int
    bytes: int


def rows(spec: CoprocessorStreamSpec, job: Job) -> Iterator[Row]:
    """List the parts of rows that a job reads and writes, block by block, in order.

    Names are those of :func:`golden.soc.job.matrices`: "a" and "a_scales" come on the stream of A,
    "c" leaves, all else comes on the stream of B. A block's biases and requantisations come before
    its B. What is the same as for the block before is not read again: that of A where blocks go by
    rows and all of K is in one; that of B where they go by columns.

    Parameters
    ----------
    spec : what was built.
    job : what to do; legal. Its addresses place matrices in some memory, for this list alone.
    """
    inside, found = spec.inside, matrices(spec, job)
    mode = mode_of(spec, job)
    assert mode is not None
    blocks = job.block_m, job.block_n, job.block_k
    up, across, beats = blocks if all(blocks) else spec.default_blocks(mode)
    words = found["a"].columns
    sizes = up * inside.m, across * inside.n, beats * inside.k
    places: list[tuple[int, int]] = [
        (i, j) for i in range(0, job.m, sizes[0]) for j in range(0, job.n, sizes[1])
    ]
    if job.by_columns:
        places.sort(key=lambda place: (place[1], place[0]))
    each = max(inside.block // mode.codes, 1)

    def part(name: str, down: range, first: int, last: int) -> Iterator[Row]:
        matrix = found[name]
        low, high = first * matrix.bits // 8, -(-min(last, matrix.columns) * matrix.bits // 8)
        for row in down:
            if row < matrix.rows:
                yield Row(name, matrix.address + row * matrix.distance + low, high - low)

    before: tuple[int, int] | None = None
    for i, j in places:
        down = range(i, min(i + sizes[0], job.m))
        columns = j, j + sizes[1]
        single = sizes[2] >= words
        for k in range(0, words, sizes[2]):
            if k == 0:
                for name in ("bias", "records"):
                    if name in found:
                        yield from part(name, range(1), *columns)
            along = range(k, min(k + sizes[2], words))
            scales = range(k // each, -(-along.stop // each))
            kept_a = single and not job.by_columns and before is not None and before[0] == i
            kept_b = single and job.by_columns and before is not None and before[1] == j
            if not kept_a:
                yield from part("a", down, k, k + sizes[2])
                if inside.block:
                    yield from part("a_scales", down, scales.start, scales.stop)
            if not kept_b:
                yield from part("b", along, *columns)
                if inside.block:
                    yield from part("b_scales", scales, *columns)
        before = i, j
        yield from part("c", down, *columns)


def coprocessor_stream(spec: CoprocessorStreamSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job on a memory from which :func:`rows` are streamed, and to which they go.

    Parameters
    ----------
    spec, memory, job : as :func:`golden.soc.coprocessor.coprocessor`'s.
    """
    return coprocessor(spec, memory, job)
