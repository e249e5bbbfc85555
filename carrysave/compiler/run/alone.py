"""Jobs on the block, each with its operands alone: of programs, or of products as they run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.packed import packed_job
from carrysave.compiler.timing.products import job_of_shape
from carrysave.driver.batch import Work, placed, run_jobs
from carrysave.driver.device_info import Counters
from carrysave.driver.job import TABLE_BYTES, Job
from carrysave.driver.number import Number
from carrysave.driver.product import FACTOR
from golden.soc.coprocessor import coprocessor
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix, Space
from golden.soc.row_factors import FACTOR_BYTES

__all__ = ["Alone", "Block", "of_job", "of_work", "product_job", "simulated"]

_BEAT = 64
"""Bytes of the widest beat, which rows begin with."""
_ROOM = 1 << 16
"""Bytes of a simulated memory, besides operands."""


@dataclass(frozen=True, eq=False)
class Alone:
    """A job, and what it works on.

    Members
    -------
    kind : of the job, to whoever took it.
    job : its addresses are those that it had.
    rows : bytes of its operands, rows x bytes, by name; those of C are zeros, or what is
        accumulated into.
    """

    kind: str
    job: Job
    rows: Mapping[str, np.ndarray]

    def golden(self, target: Target) -> np.ndarray:
        """Return the bytes of C, rows x bytes, by golden."""
        beat = target.info.stores.data_width // 8
        parts, places, end = [], {}, 0
        for name, data in self.rows.items():
            wide = -(-data.shape[1] // beat) * beat
            parts.append(np.pad(data, [(0, 0), (0, wide - data.shape[1])]).reshape(-1))
            places[name] = end, wide
            end += parts[-1].size
        memory = np.concatenate(parts)
        job = golden_job(placed(self.job, places), target.spec)
        if error := coprocessor(target.spec, memory, job):
            raise ValueError(f"{self.kind}: the co-processor cannot do it: {error.name}")
        return memory[matrices(target.spec, job)["c"].places()]

    def bytes_of(self, results: np.ndarray, target: Target) -> np.ndarray:
        """Return the bytes of C, rows x bytes, of a product with these results."""
        return _results(self.job, target).pack(results)

    def within(self, cycles: int, target: Target) -> "Alone":
        """Return its first rows: as many whole tiles as take so many cycles, one at least."""
        tile, one = target.info.stores.tile_m, self
        while one.job.m > tile and job_cycles(one.job, target) > cycles:
            one = one.some_rows(0, -(-one.job.m // 2 // tile) * tile, target)
        return one

    def packed(self, target: Target) -> "Alone":
        """Return it with B without its zeros, if that is shorter, and the build takes it."""
        if self.job.packed or "b" not in self.rows:
            return self
        made = packed_job(self.job, [self.rows["b"]], target)
        if made is None:
            return self
        job, (image,) = made
        return Alone(self.kind, job, {**self.rows, "b": np.frombuffer(image, np.uint8)[None]})

    def some_rows(self, start: int, count: int, target: Target) -> "Alone":
        """Return some rows of A, or of a gather some numbers of rows."""
        sides = {"b"} if self.job.vector == "gather" else {"a"}
        if self.job.accumulate:
            sides.add("c")
        if self.job.vector is not None and self.job.ldb:
            sides.add("b")
        if self.job.ldsa:
            sides.add("a_scales")
        rows = {
            name: data[start : start + count] if name in sides else data
            for name, data in self.rows.items()
        }
        if self.job.vector is None and self.job.ldsb and target.info.group_scales:
            rows["a_scales"] = self.rows["a_scales"][:, start : start + count]
        if "row_factors" in rows:
            part = slice(FACTOR_BYTES * start, FACTOR_BYTES * (start + count))
            rows["row_factors"] = rows["row_factors"][:, part]
        return self._of(replace(self.job, m=count), rows, target)

    def some_columns(self, start: int, count: int, target: Target) -> "Alone":
        """Return some columns of the B of a product; codes of less than a byte begin with one."""
        rows = dict(self.rows)
        sides = {"b", "bias", "records", *("c" * self.job.accumulate)}
        # A table is of all columns.
        sides |= {"b_scales"} if self.job.ldsb else set()
        for side in rows.keys() & sides:
            whole = rows[side]
            # A table is behind the records.
            end = whole.shape[1] - TABLE_BYTES * (self.job.table and side == "records")
            each = 8 * end // self.job.n
            part = whole[:, start * each // 8 : -(-(start + count) * each // 8)]
            rows[side] = np.concatenate([part, whole[:, end:]], axis=1)
        return self._of(replace(self.job, n=count), rows, target)

    def _of(self, job: Job, rows: Mapping[str, np.ndarray], target: Target) -> "Alone":
        """Return a job of another size, in blocks of its own, but those of a B that is packed."""
        job = job if job.vector is not None or job.packed else planned(job, target)
        if job.accumulate:
            return Alone(self.kind, job, rows)
        c = matrices(target.spec, golden_job(job, target.spec))["c"]
        return Alone(self.kind, job, {**rows, "c": np.zeros((c.rows, c.row_bytes), np.uint8)})


Jobs = Sequence[tuple[Job, Mapping[str, np.ndarray]]]
Block = Callable[[Jobs, Callable[[int], None]], list[tuple[np.ndarray, Counters]]]
"""Runs jobs, see :func:`carrysave.driver.batch.run_jobs`, and tells how many are done."""


def simulated(target: Target, folder: Path) -> Block:
    """Return the simulated block of a co-processor; each run gets a new folder in one."""

    def run(jobs: Jobs, tell: Callable[[int], None]) -> list[tuple[np.ndarray, Counters]]:
        from carrysave.sim.device import with_device  # loads all of simulation

        size = max(
            sum(len(data) * (data.shape[1] + _BEAT) + _BEAT for data in rows.values())
            for _, rows in jobs
        )
        made: list[tuple[np.ndarray, Counters]] = with_device(
            target.design, partial(run_jobs, jobs=list(jobs)), folder, size=size + _ROOM,
            memory=target.memory, progress=tell,
        )  # fmt: skip
        return made

    return run


def of_job(kind: str, job: Job, space: Space, target: Target) -> Alone:
    """Copy the operands of a job of a program; of a table the rows that are taken.

    Parameters
    ----------
    space : the program's memory, and what is on chip.
    """
    operands = matrices(target.spec, golden_job(job, target.spec))
    rows = {name: _bytes(space, one) for name, one in operands.items() if name != "a"}
    rows["c"] = np.zeros_like(rows["c"])
    if job.table:
        behind = rows.pop("table")
        records = rows.get("records", behind[:, :0])
        rows["records"] = np.concatenate([records, behind], axis=1)
    if job.vector == "gather":
        used, numbers = np.unique(space.load(operands["b"])[:, 0], return_inverse=True)
        rows["a"] = space.memory[operands["a"].places(used)]
        rows["b"] = numbers.astype("<i4").reshape(-1, 1).view(np.uint8)
        job = replace(job, k=len(used))
    else:
        rows["a"] = _bytes(space, operands["a"])
    return Alone(kind, job, rows)


def product_job(work: Work, target: Target) -> Job:
    """Return the job of a product that is nowhere in memory yet."""
    assert work.a is not None
    shape = *work.a.shape, work.b.shape[1]
    job = job_of_shape(
        target, shape, mode=work.mode, requantisation=work.requantisation, wide=work.wide,
        bias=work.bias is not None,
    )  # fmt: skip
    return job if work.row_factors is None else replace(job, accumulate=True, row_factors=0)


def _results(job: Job, target: Target) -> Number:
    """Return what C of a product has."""
    if job.requantisation is None:
        return target.info.sums
    return target.info.wide if job.c_bytes == 2 else target.info.codes


def of_work(kind: str, work: Work, target: Target, existing: np.ndarray | None = None) -> Alone:
    """Return a product as a job with its operands.

    Parameters
    ----------
    existing : sums that a work with factors of rows goes on with, if it has none of its own.

    Raises
    ------
    TypeError, ValueError
        Operands that are out of range.
    """
    job, mode, info = (
        planned(product_job(work, target), target),
        (work.mode or target.mode).tabled(work.b),
        target.info,
    )
    a, b = mode.a.check("a", work.a), mode.b_stored.check("b", mode.words(work.b))
    rows = {
        "a": mode.a.pack(a),
        "b": mode.b_stored.pack(b),
        "c": np.zeros((job.m, _results(job, target).row_bytes(job.n)), np.uint8),
    }
    if work.bias is not None:
        rows["bias"] = info.sums.pack(info.sums.check("bias", work.bias[None]))
    if (zeros := work.sides(mode)) is not None and mode.b_sides is not None:
        rows["b_scales"] = mode.b_sides.pack(mode.b_sides.check("b_zeros", zeros))
    elif mode.table:
        rows["b_scales"] = mode.table_bytes
    if work.row_factors is not None:
        sums = existing if work.existing is None else work.existing
        rows["c"] = info.sums.pack(info.sums.check("existing", sums))
        rows["row_factors"] = FACTOR.pack(FACTOR.check("row_factors", work.row_factors[None]))
    if job.requantisation is not None and job.records is not None:
        rows["records"] = job.requantisation.records(job.n).reshape(1, -1)
    return Alone(kind, job, rows)


def _bytes(space: Space, matrix: Matrix) -> np.ndarray:
    near = matrix.address >= space.base
    memory = space.scratch if near else space.memory
    one = matrix if matrix.distance or matrix.rows == 1 else replace(matrix, rows=1)
    return memory[one.places() - (space.base if near else 0)]
