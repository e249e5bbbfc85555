"""Jobs on rows, as the vector unit of the block takes them."""

import numpy as np

from carrysave.compiler.program.jobs import (
    Add,
    Gate,
    Gather,
    Job,
    Multiply,
    Norm,
    Product,
    Scale,
    Softmax,
    Transpose,
)
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows

__all__ = [
    "narrows", "operands_of", "operation_of", "requantisation_of", "rows_of", "runs",
]  # fmt: skip

_Scaled = Add | Gate | Multiply | Scale


def operation_of(job: Job) -> str | None:
    """Name the operation of the vector unit that a job is, if its widths are; None: no such one."""
    if isinstance(job, Norm | Gate):
        return job.operation
    return None if isinstance(job, Product) else job.KIND


def operands_of(job: Job) -> tuple[View, ...]:
    """Return what a job on rows reads; first what its rows are, then what each has besides."""
    if isinstance(job, Add | Multiply):
        return job.a, job.b
    x: View = job.x  # type: ignore[attr-defined]
    if isinstance(job, Gather):
        return x, job.rows
    return (x, job.exponents) if isinstance(job, Scale) else (x,)


def runs(job: Job, memory: Memory, target: Target) -> bool:
    """Tell whether the block has a job: its operation, of these widths and sizes."""
    unit, operation = target.spec.vector, operation_of(job)
    if unit is None or operation is None or operation not in target.spec.vector_jobs:
        return False
    views = operands_of(job)
    if isinstance(job, Transpose):
        return memory.bits[views[0].name] == memory.bits[job.c.name] == 8
    a, others = memory.read(views[0]), views[1:]
    if memory.bits[views[0].name] != unit.width or a.shape[1] > unit.most(operation):
        return False
    bits = memory.bits[job.c.name]
    narrow = target.spec.sizes and unit.out_width > bits == 8
    if isinstance(job, Gather):
        rows = others[0]
        column = memory.read(rows).shape[1] == 1 and memory.bits[rows.name] == 32
        return column and bits == unit.width and unit.out_width > 8
    if isinstance(job, Norm):
        return bits == unit.out_width
    if isinstance(job, Softmax):
        return narrow if job.narrow else bits == unit.out_width
    assert isinstance(job, _Scaled)
    if bits != job.scaling.bits or not (narrow or bits == unit.out_width):
        return False
    if isinstance(job, Add) and job.factors != (1, 1):
        return False
    if isinstance(job, Scale):
        return memory.bits[others[0].name] == 8 and memory.read(others[0]).shape[1] == 1
    return all(
        memory.bits[view.name] == unit.width
        and memory.read(view).shape in (a.shape, (1, a.shape[1]))
        for view in others
    )


def rows_of(job: Job, memory: Memory, target: Target) -> Rows | None:
    """Return a job as the driver takes it, with copies of its operands; None: see :func:`runs`."""
    operation = operation_of(job)
    if operation is None or not runs(job, memory, target):
        return None
    a, *others = (memory.read(view).copy() for view in operands_of(job))
    assert target.spec.vector is not None
    return Rows(
        a=a,
        operation=operation,
        b=others[0] if others else None,
        requantisation=requantisation_of(job),
        narrow=narrows(job, memory, target.spec.vector.out_width),
    )


def narrows(job: Job, memory: Memory, out_width: int) -> bool:
    """Tell whether a job makes bytes of codes of that many bits, which take two."""
    return memory.bits[job.c.name] == 8 < out_width and not isinstance(job, Transpose | Gather)


def requantisation_of(job: Job) -> Requantisation | None:
    """Return what makes codes of a job's results, as the driver has it; None: there is none."""
    if not isinstance(job, _Scaled):
        return None
    to = job.to if isinstance(job, Gate) else job.scaling.to
    multiplier, shift, zero_point = (
        int(np.asarray(value).item()) for value in (to.multiplier, to.shift, to.zero_point)
    )
    return Requantisation(multiplier=multiplier, shift=shift, zero_point=zero_point)
