"""A list of jobs on a co-processor: matrices are placed once, and jobs run on one start."""

from collections.abc import Sequence

import numpy as np

from carrysave.compiler.program import jobs as kinds
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.rows import narrows, operands_of, operation_of, requantisation_of
from carrysave.driver import Coprocessor, Counters, Matrix, Number, Product, VectorWork
from carrysave.driver.number import BYTE
from carrysave.driver.vector import EXPONENT, INDEX

__all__ = ["OnDevice"]


class OnDevice:
    """The matrices of a list of jobs, on a device; those on chip are where the memory has them.

    ``with`` frees them at its end.

    Parameters
    ----------
    device : an opened driver, of a co-processor of integers.
    memory : the matrices.

    Raises
    ------
    MemoryError
        There is no such room on chip.
    """

    def __init__(self, device: Coprocessor, memory: Memory) -> None:
        self._device, self._memory = device, memory
        self._placed: dict[str, Matrix] = {}
        self._chip: Matrix | None = None
        if memory.on_chip:
            self._chip = device.empty((1, memory.chip), BYTE, on_chip=True)

    def __enter__(self) -> "OnDevice":
        """Use it up to the end of a ``with``, which frees it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Free the memory, unless the device may still write to it."""
        if not self._device.lost:
            for matrix in (*self._placed.values(), *([self._chip] if self._chip else [])):
                matrix.free()

    def run(self, jobs: Sequence[kinds.Job]) -> Counters:
        """Run jobs in order, on one start."""
        return self._device.run([self.work(job) for job in jobs])

    def work(self, job: kinds.Job) -> Product | VectorWork:
        """Return a job as the driver has it."""
        device, info = self._device, self._device.info
        if isinstance(job, kinds.Product):
            codes = info.wide if job.wide else info.codes
            bias = None if job.bias is None else self.matrix(job.bias, info.sums)
            return device.product(
                self.matrix(job.a, info.a), self.matrix(job.b, info.b), bias,
                requantisation=job.how, wide=job.wide,
                out=self.matrix(job.c, info.sums if job.how is None else codes),
            )  # fmt: skip
        unit, operation = info.vector, operation_of(job)
        factors = job.factors if isinstance(job, kinds.Add) else (1, 1)
        if unit is None or operation is None or factors != (1, 1):
            raise ValueError(f"{job.layer}: there is no hardware for {job.KIND}")
        x, *others = operands_of(job)
        narrow = narrows(job, self._memory, unit.out_width)
        of_rows = unit.a[0 if operation == "transpose" else -1]
        other = {"scale": EXPONENT, "gather": INDEX}.get(operation, of_rows)
        return device.vector(
            operation, self.matrix(x, of_rows),
            self.matrix(
                job.c, of_rows if operation == "gather" else unit.codes(operation, narrow=narrow)
            ),
            b=self.matrix(others[0], other) if others else None,
            requantisation=requantisation_of(job), narrow=narrow,
        )  # fmt: skip

    def read(self, view: View) -> np.ndarray:
        """Return the codes of a part of a matrix in memory; integers, two's complement."""
        bits = self._memory.bits[view.name]
        return self.matrix(view, Number.of(bits, bits, True)).read().astype(np.int64)

    def matrix(self, view: View, number: Number) -> Matrix:
        """Return a part of a matrix, as numbers of as many bits."""
        memory, name = self._memory, view.name
        rows, columns = memory.matrices[name].shape
        if number.bits != memory.bits[name]:
            raise ValueError(f"{name} must be of {number.bits} bits, not {memory.bits[name]}")
        each = number.row_bytes(columns)
        first, last = view.rows or (0, rows)
        start, stop = view.columns or (0, columns // view.parts)
        shape = (last - first) * view.parts, stop - start
        skip = first * each + number.row_bytes(start)
        whole = self._chip
        if name in memory.on_chip:
            skip += memory.on_chip[name]
        else:
            whole = self._placed.get(name) or self._place(name)
        assert whole is not None
        return whole.within(shape, number, skip, each // view.parts)

    def _place(self, name: str) -> Matrix:
        """Copy a matrix to the device, with packed rows."""
        codes, bits = self._memory.matrices[name], self._memory.bits[name]
        whole = self._device.empty((1, codes.size * bits // 8), BYTE)
        with whole.freed_on_error():
            number = Number.of(bits, bits, True)
            whole.within(codes.shape, number, 0, number.row_bytes(codes.shape[1])).write(codes)
        self._placed[name] = whole
        return whole
