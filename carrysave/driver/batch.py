"""Batches of matrix products, and running them through the driver."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .coprocessor import Coprocessor
from .device_info import Counters
from .job import Job, Requantisation
from .matrix import Matrix, Product
from .mode import Mode
from .number import BYTE, Number
from .product import FACTOR, STRIDES, ProductOptions
from .vector import EXPONENT, INDEX, VectorWork

__all__ = ["Rows", "Work", "placed", "run", "run_jobs"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """C = requantise(A x B + bias), in the co-processor's codes.

    Parameters
    ----------
    a : M x K; None: the previous work's C, of a softmax without exponents.
    b : K x N.
    bias : N sums, or None.
    requantisation : None: C holds sums.
    mode : formats of A and B; None for an integer engine.
    wide : codes of two bytes.
    row_factors : the sums are added to the previous work's, which C holds then, times so many 2^-15
        for each row, if the device has such factors; without bias and requantisation of both.
    existing : M x N sums in place of the previous work's, for factors of rows.
    b_zeros : zero points, blocks x N, of a mode that has them; None: all are 0.
    """

    a: np.ndarray | None
    b: np.ndarray
    bias: np.ndarray | None = None
    requantisation: Requantisation | None = None
    mode: Mode | None = None
    wide: bool = False
    row_factors: np.ndarray | None = None
    existing: np.ndarray | None = None
    b_zeros: np.ndarray | None = None

    @property
    def goes_on(self) -> bool:
        """Whether it takes what the previous work has made."""
        return self.a is None or (self.row_factors is not None and self.existing is None)

    def sides(self, mode: Mode) -> np.ndarray | None:
        """Return the zero points of blocks of B: those given, or zeros; None: there are none."""
        if not mode.zeros or self.b_zeros is not None:
            return self.b_zeros
        return np.zeros((mode.blocks(self.b.shape[0]), self.b.shape[1]), mode.b.dtype)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """An operation of the vector unit on each row of a matrix.

    Parameters
    ----------
    a : M x N codes, of the most bits that the unit takes, for a transposition of 8; of a gather the
        table. None: the previous work's codes, of as many bits as these have.
    operation : such as ``softmax``, whose rows end with their exponents.
    b : of sums and products: as `a`, or one row for all. Of a scale: exponents, a column. Of a
        gather: numbers of rows, a column.
    requantisation : of gates, sums, products and scales.
    narrow : codes of a byte.
    """

    a: np.ndarray | None
    operation: str
    b: np.ndarray | None = None
    requantisation: Requantisation | None = None
    narrow: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether it takes what the previous work has made."""
        return self.a is None


def run(
    device: Coprocessor,
    works: Sequence[Work | Rows],
    *,
    one_start: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[list[np.ndarray], list[Counters]]:
    """Run products and vector jobs in order; intermediate matrices stay on the device.

    Parameters
    ----------
    device : an opened driver.
    works : the first must have an A.
    one_start : all in one start, else one start each.
    progress : called with the number of completed works.

    Returns
    -------
    C of each, and the counters of each start. In one start, the C that another work goes on with is
    that one's.
    """
    results: list[np.ndarray] = []
    counters: list[Counters] = []
    chain: list[Product | VectorWork] = []

    def free() -> None:
        # A softmax's codes are in the memory of its C.
        for matrix in {one.address: one for product in chain for one in product.allocated}.values():
            matrix.free()
        chain.clear()

    try:
        for number, work in enumerate(works):
            if not (work.goes_on or one_start):
                free()
            chain.append(_place(device, work, _codes(chain[-1]) if chain else None))
            if one_start:
                continue
            counters.append(device.run(chain[-1:]))
            results.append(chain[-1].c.read())
            progress(number + 1)
        if one_start:
            counters.append(device.run(chain))
            results = [product.c.read() for product in chain]
            progress(len(works))
    finally:
        if not device.lost:
            free()
    return results, counters


def run_jobs(
    device: Coprocessor,
    jobs: Sequence[tuple[Job, Mapping[str, np.ndarray]]],
    *,
    progress: Callable[[int], None] = lambda done: None,
) -> list[tuple[np.ndarray, Counters]]:
    """Run jobs, each with copies of its operands alone.

    Parameters
    ----------
    device : an opened driver.
    jobs : of each the bytes of its matrices, rows x bytes, by name; those of C are not written, but
        for a job that accumulates.
    progress : called with the number of completed jobs.

    Returns
    -------
    The bytes of C of each, and its counters.
    """
    made = []
    for number, (job, operands) in enumerate(jobs, 1):
        matrices: dict[str, Matrix] = {}
        with ExitStack() as stack:
            for name, data in operands.items():
                matrices[name] = device.empty(data.shape, BYTE)
                # What a lost device may still write to is not freed.
                stack.callback(_free, device, matrices[name])
                if name != "c" or job.accumulate:
                    matrices[name].write_bytes(data)
            at = {name: (one.address, one.distance) for name, one in matrices.items()}
            counters = device.run_jobs([placed(job, at)])
            made.append((matrices["c"].read_bytes().copy(), counters))
        progress(number)
    return made


def placed(job: Job, places: Mapping[str, tuple[int, int]]) -> Job:
    """Return a job whose matrices are elsewhere.

    Parameters
    ----------
    places : of each, by name, its address, and bytes from row to row, which are left out of what
        has one row for all.
    """
    fields: dict[str, Any] = {name: at for name, (at, _) in places.items()}
    fields |= {
        STRIDES[name]: distance
        for name, (_, distance) in places.items()
        if name in STRIDES and getattr(job, STRIDES[name])
    }
    return replace(job, **fields)


def _free(device: Coprocessor, matrix: Matrix) -> None:
    if not device.lost:
        matrix.free()


def _codes(work: Product | VectorWork) -> Matrix:
    """Return what the next work takes."""
    return work.codes if isinstance(work, VectorWork) else work.c


def _place(device: Coprocessor, work: Work | Rows, before: Matrix | None) -> Product | VectorWork:
    info = device.info
    if isinstance(work, Rows):
        info.require("vector")
        assert info.vector is not None
        number = info.vector.a[0 if work.operation == "transpose" else -1]
        a = _operand(device, work, number, before)
        other = {"scale": EXPONENT, "gather": INDEX}.get(work.operation, number)
        b = None if work.b is None else device.place(work.b, other, "b")
        return device.vector(
            work.operation, a, b=b, requantisation=work.requantisation, narrow=work.narrow
        )
    mode = (work.mode or info.mode).tabled(work.b)
    a = _operand(device, work, mode.a, before)
    bias = None if work.bias is None else device.place(work.bias[None], info.sums, "bias")
    b = device.place(mode.words(work.b), mode.b_stored, "b")
    how: ProductOptions = {
        "requantisation": work.requantisation,
        "mode": mode,
        "wide": work.wide,
    }
    zeros = None
    if (sides := work.sides(mode)) is not None and mode.b_sides is not None:
        zeros = device.place(sides, mode.b_sides, "b_zeros")
    if work.row_factors is None:
        return device.product(a, b, bias, b_scales=zeros, **how)
    if work.existing is not None:
        before = device.place(work.existing, info.sums, "existing")
    how["accumulate"] = True
    how["row_factors"] = device.place(np.asarray(work.row_factors)[None], FACTOR, "row_factors")
    return device.product(a, b, bias, out=before, b_scales=zeros, **how)


def _operand(
    device: Coprocessor, work: Work | Rows, number: Number, before: Matrix | None
) -> Matrix:
    """Return A: placed, or the work's before."""
    if work.a is not None:
        return device.place(work.a, number, "a")
    if before is None:
        raise ValueError("a must be given in the first work")
    return before
