"""Which vector jobs a build has, and whether one is legal."""

from typing import Any

import numpy as np

from golden.npe.vector import SCALED
from golden.soc.depthwise import DEPTHWISE
from golden.soc.job import Error, Job
from golden.soc.lists import INDEX, TOP_K
from golden.soc.maps import MAPS
from golden.soc.second_rows import BLEND

__all__ = ["c_bytes", "narrows", "vector_jobs", "vector_mode"]

_NARROWS = ("softmax", "exps", "transpose", "gather")
"""Operations that can make codes of a byte of a unit whose codes have two, unrequantised."""
_PLACES = 15
"""Most bits of a factor of a blend behind the binary point."""


def vector_jobs(spec: Any) -> tuple[str, ...]:
    """Return the operations of vector jobs: the unit's, what needs no arithmetic, those on maps.

    Of a :class:`golden.soc.spec.CoprocessorSpec`, which is not known here.
    """
    moves = {
        "transpose": spec.transpose,
        "gather": spec.gather,
        INDEX: spec.lists > 0,
        TOP_K: spec.top_k > 0,
        BLEND: spec.blend,
    }
    return (
        *(() if spec.vector is None else spec.vector.built),
        *(name for name, there in moves.items() if there and spec.vector is not None),
        *MAPS * bool(spec.taps),
        *[DEPTHWISE] * spec.depthwise,
    )


def narrows(spec: Any, job: Job) -> bool:
    """Return whether a vector job writes a byte of codes that take two."""
    return spec.sizes and job.c_bytes == 1 and spec.vector_out_bytes > 1


def c_bytes(spec: Any, job: Job) -> int:
    """Return the bytes of a code of C of a vector job."""
    byte = narrows(spec, job) or job.vector in (*MAPS, DEPTHWISE)
    return 1 if byte else max(spec.vector_out_bytes, 1)


def vector_mode(spec: Any, job: Job) -> Error:
    """Check the operation of a vector job, its codes, and the length of its rows."""
    unit = spec.vector
    of_maps, windows, how = (*MAPS, DEPTHWISE), job.vector == DEPTHWISE, job.requantisation
    more = (
        job.b_format,
        job.encode,
        job.bias is not None and not (windows and spec.bias),
        job.records is not None
        and not (windows and spec.requantises_columns)
        and not (job.table and job.vector in MAPS),
        job.table and not (spec.table and job.vector in of_maps and job.records is not None),
        job.accumulate or job.row_factors is not None,
        job.by_columns or job.packed,
        any((job.block_m, job.block_n, job.block_k)),
        (job.window is not None) != windows,
        job.places is not None,
        job.vector in (INDEX, TOP_K) and job.c_bytes,
        job.vector == BLEND and how is not None and int(np.asarray(how.shift).item()) > _PLACES,
    )
    if (
        unit is None
        or job.vector not in spec.vector_jobs
        or job.a_format >= spec.vector_in_bytes
        or any(more)
        or (how is None) == (job.vector in (*SCALED, *of_maps, BLEND))
        or (job.vector in of_maps and (job.a_format > 0 or job.c_bytes > 1))
        or (spec.sizes and job.c_bytes > spec.vector_out_bytes)
        or (narrows(spec, job) and how is None and job.vector not in _NARROWS)
        or (
            job.vector == "transpose"
            and (job.a_format > 0 or narrows(spec, job) != (spec.vector_out_bytes > 1))
        )
        or (job.vector == "gather" and job.a_format + 1 != c_bytes(spec, job))
        or (how is not None and how.relu and not windows)
        or (job.vector in SCALED and how and int(how.multiplier[0]) >> unit.reciprocal_width)
    ):
        return Error.MODE
    if job.vector == TOP_K and job.k > min(spec.top_k, job.n):
        return Error.K_TOO_LARGE
    if job.vector in (INDEX, TOP_K):
        return Error.LONG_ROW if job.n > spec.lists else Error.NONE
    long = job.vector not in ("transpose", DEPTHWISE) and job.n > unit.most(job.vector)
    return Error.LONG_ROW if long else Error.NONE
