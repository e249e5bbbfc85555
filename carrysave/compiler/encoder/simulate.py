"""Jobs of an encoder on the simulated block: a layer in full, and a part of each other one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.encoder.compile import JobList
from carrysave.compiler.program.job_cycles import spent
from carrysave.compiler.program.jobs import Job, Product
from carrysave.compiler.program.matrices import Memory
from carrysave.compiler.program.rows import rows_of
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows, Work

__all__ = ["SIMULATIONS", "Part", "parts", "wrong"]

SIMULATIONS = ("layer", "sample", "none")
"""Simulate the first layer in full, and a part of a job of each kind of each other; parts alone."""
_LAYER = "0"
_ROWS = 8
_COLUMNS = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A job, or some rows and columns of one.

    Members
    -------
    layer : of the job.
    work : for the driver.
    expected : what golden made.
    modelled : cycles of a job, see :func:`carrysave.compiler.program.job_cycles.spent`; of a part
        None.
    """

    layer: str
    work: Work | Rows
    expected: np.ndarray
    modelled: int | None = None


def parts(jobs: JobList, simulation: str, target: Target) -> list[Part]:
    """Run a list of jobs by golden, and keep those to simulate, with what they make.

    Parameters
    ----------
    jobs : the list.
    simulation : one of :data:`SIMULATIONS` but none.
    target : the co-processor, with a vector unit.
    """
    found: list[Part] = []
    seen: set[tuple[str, str]] = set()
    for job in jobs.jobs:
        job.run(jobs.memory)
        part = _part(job, jobs.memory, target)
        if part is None:
            continue
        whole = simulation == "layer" and job.layer.partition(".")[0] == _LAYER
        kind = job.layer, job.KIND
        if whole or kind not in seen:
            cycles = spent(job, jobs.memory, target).cycles
            found.append(replace(part, modelled=cycles) if whole else _less(part))
            seen.add(kind)
    return found


def wrong(found: list[Part], made: list[np.ndarray]) -> list[str]:
    """Return the layers of parts that are not as expected, once each."""
    pairs = zip(found, made, strict=True)
    return list(dict.fromkeys(
        part.layer for part, c in pairs if not np.array_equal(c, part.expected)
    ))  # fmt: skip


def _part(job: Job, memory: Memory, target: Target) -> Part | None:
    """Take what a job has read, and what it has written; None: the block has no such job."""
    c = memory.read(job.c).copy()
    work: Work | Rows | None
    if isinstance(job, Product):
        work = job.work(memory)
        assert work.a is not None
        work = replace(work, a=work.a.copy(), b=work.b.copy())
    else:
        work = rows_of(job, memory, target)
        if work is None:
            return None
    return Part(layer=job.layer, work=work, expected=c)


def _less(part: Part) -> Part:
    """Take the first rows, of a product's weights the first columns."""
    work, expected = part.work, part.expected[:_ROWS]
    assert work.a is not None
    if isinstance(work, Rows):
        b = work.b if work.b is None or len(work.b) == 1 else work.b[:_ROWS]
        if work.operation == "gather":
            assert b is not None
            used, rows = np.unique(b, return_inverse=True)
            own = replace(work, a=work.a[used], b=rows.reshape(-1, 1))
            return replace(part, work=own, expected=expected)
        if work.operation == "transpose":
            expected = part.expected[:, :_ROWS]
        return replace(part, work=replace(work, a=work.a[:_ROWS], b=b), expected=expected)
    columns = slice(0, _COLUMNS)
    less = replace(
        work,
        a=work.a[:_ROWS],
        b=work.b[:, columns],
        bias=None if work.bias is None else work.bias[columns],
        requantisation=_columns(work.requantisation, columns),
    )
    return replace(part, work=less, expected=expected[:, columns])


def _columns(how: Requantisation | None, columns: slice) -> Requantisation | None:
    if how is None:
        return None

    def own(value: Any) -> Any:
        return value if np.ndim(value) == 0 else np.asarray(value)[columns]

    return replace(
        how, multiplier=own(how.multiplier), shift=own(how.shift), zero_point=own(how.zero_point)
    )
