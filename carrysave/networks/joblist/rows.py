"""Jobs on rows, as the vector unit of the block takes them."""

import numpy as np

from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows
from golden.npe.vector import VectorUnitSpec

from .jobs import Add, Gate, Job, Multiply, Norm, Scaling, Softmax
from .matrices import Memory

__all__ = ["operation_of", "rows_of", "runs"]


def operation_of(job: Job) -> str | None:
    """Name the operation of the vector unit that a job is, if its widths are; None: no such one."""
    if isinstance(job, Norm | Gate):
        return job.operation
    return job.KIND if isinstance(job, Softmax | Add | Multiply) else None


def runs(job: Job, memory: Memory, unit: VectorUnitSpec) -> bool:
    """Tell whether the block has a job: its operation, of these widths and sizes."""
    operation = operation_of(job)
    if operation not in unit.built:
        return False
    if isinstance(job, Softmax | Norm):
        return True
    # Sums and products: gates make codes of other widths than the unit writes.
    if not isinstance(job, Add | Multiply) or (isinstance(job, Add) and job.factors != (1, 1)):
        return False
    a, b = (memory.read(view) for view in (job.a, job.b))
    widths = {memory.bits[view.name] for view in (job.a, job.b)}
    return (
        widths == {unit.width}
        and memory.bits[job.c.name] == job.scaling.bits == unit.out_width
        and b.shape in (a.shape, (1, a.shape[1]))
        and a.shape[1] <= unit.most(operation)
    )


def rows_of(job: Job, memory: Memory, unit: VectorUnitSpec) -> Rows | None:
    """Return a job as the driver takes it, with copies of its operands; None: see :func:`runs`."""
    operation = operation_of(job)
    if operation is None or not runs(job, memory, unit):
        return None
    if isinstance(job, Add | Multiply):
        a, b = (memory.read(view).copy() for view in (job.a, job.b))
        return Rows(a=a, operation=operation, b=b, requantisation=_driver(job.scaling))
    assert isinstance(job, Norm | Softmax)
    return Rows(a=memory.read(job.x).copy(), operation=operation)


def _driver(scaling: Scaling) -> Requantisation:
    to = scaling.to
    multiplier, shift, zero_point = (
        int(np.asarray(value).item()) for value in (to.multiplier, to.shift, to.zero_point)
    )
    return Requantisation(multiplier=multiplier, shift=shift, zero_point=zero_point)
