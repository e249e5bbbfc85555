"""Jobs of a program on the simulated block, each with its operands alone: all, or a sample."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.blocks import planned
from carrysave.compiler.program.cost import cycles_of
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.golden import execute
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix

__all__ = ["Sample"]

_EACH = 2
"""Jobs of each kind in a sample."""
_CYCLES = 2_000
"""Most cycles of one of them, by the cost model; of larger ones some columns and rows run."""
_BYTES = 1 << 23
"""Operands that are placed in the simulated memory at once."""
_STRIDES = {"a": "lda", "b": "ldb", "c": "ldc"}


@dataclass(frozen=True)
class _Taken:
    """A job, and the bytes of its operands, rows x bytes, by name; those of C are zeros."""

    kind: str
    job: Job
    rows: Mapping[str, np.ndarray]


class Sample:
    """Takes jobs as golden comes to them, and runs them on the block.

    Parameters
    ----------
    program : whose jobs they are.
    every : all jobs, else a sample.
    seed : of the sample.
    folder : each run gets a new folder in it.
    tell : told what is being done.

    Members
    -------
    kinds : of all jobs of a run, in order: operations of the vector unit, or ends of nodes' names.
    jobs, cycles : by kind: how many have run, and the cycles that the cost model expects of them.
    wrong : kinds of jobs whose results are not golden's, with how many.
    counted : cycles that the hardware counted.
    """

    def __init__(
        self,
        program: Program,
        *,
        every: bool,
        seed: int,
        folder: Path,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.target, self.every = program.target, every
        self.kinds = [
            job.vector or step.node.rpartition(".")[2]
            for step in program.steps
            if isinstance(step, Start)
            for job in step.jobs
        ]
        self.jobs = dict.fromkeys(self.kinds, 0)
        self.cycles = dict.fromkeys(self.kinds, 0)
        self.wrong: dict[str, int] = {}
        self.counted, self.seconds = 0, 0.0
        self._folder, self._tell = folder, tell
        self._rng = np.random.default_rng(seed)
        self._seen = dict.fromkeys(self.kinds, 0)
        self._taken: dict[str, list[_Taken]] = {kind: [] for kind in self.kinds}
        self._size = 0

    def execute(self, memory: np.ndarray, start: int) -> None:
        """Run a section by golden, and take its jobs."""
        left = iter(self.kinds)
        execute(
            self.target.spec, memory, start, watch=lambda job: self.take(next(left), job, memory)
        )

    def take(self, kind: str, job: Job, memory: np.ndarray) -> None:
        """Take a job: each, or by chance, any job of a kind as likely as any other."""
        taken = self._taken[kind]
        self._seen[kind] += 1
        place = len(taken)
        if not self.every and place == _EACH:
            place = int(self._rng.integers(self._seen[kind]))
            if place >= _EACH:
                return
        own = _apart(kind, job, memory, self.target)
        taken[place:] = [own, *taken[place + 1 :]]
        self._size += sum(rows.size for rows in own.rows.values()) * self.every
        if self._size > _BYTES:
            self.run()

    def run(self) -> None:
        """Run what was taken, and compare with golden."""
        some = [one for taken in self._taken.values() for one in taken]
        for taken in self._taken.values():
            taken.clear()
        self._size = 0
        if not some:
            return
        self._tell(f"simulate {len(some)} jobs")
        began = time.monotonic()
        if not self.every:
            some = [self._cut(one) for one in some]
        image = Image(self.target)
        jobs = [_placed(image, one) for one in some]
        program = assembled(image, [image.steps])
        ours, theirs = program.memory, program.memory.copy()
        (section,) = program.sections
        execute(self.target.spec, ours, section.start)
        by_block(program, theirs, self._folder)(section)
        for step in program.steps:
            assert isinstance(step, Start)
            self.counted += int(theirs[step.counters :][:8].view("<u8")[0])
        for one, job in zip(some, jobs, strict=True):
            self.jobs[one.kind] += 1
            self.cycles[one.kind] += cycles_of(job, self.target)
            place = _matrices(job, self.target)["c"].places()
            if not np.array_equal(ours[place], theirs[place]):
                self.wrong[one.kind] = self.wrong.get(one.kind, 0) + 1
        self.seconds += time.monotonic() - began

    def facts(self) -> dict[str, Any]:
        """Return what ran."""
        return {
            "design": self.target.design.module,
            "jobs": _without_zeros(self.jobs),
            "of_jobs": _without_zeros(self._seen),
            "cycles": self.counted,
            "modelled_cycles": _without_zeros(self.cycles),
            "wrong": self.wrong,
            "seconds": round(self.seconds, 3),
        }

    def _cut(self, one: _Taken) -> _Taken:
        """Leave as many columns, and rows, as run in few cycles, from a place drawn by chance."""
        while cycles_of(one.job, self.target) > _CYCLES:
            job = one.job
            if job.vector is None and job.n > 2 * self.target.info.stores.tile_n:
                one = self._some(one, "n", ("b", "c", "bias", "records"), job.n)
            elif job.m > 1:
                one = self._some(one, "m", ("a", "c"), job.m)
            else:
                break
        return one

    def _some(self, one: _Taken, name: str, sides: Sequence[str], size: int) -> _Taken:
        """Take half of the columns of B, or of the rows of A."""
        half = -(-size // 16) * 8 if name == "n" else -(-size // 2)
        # Codes of less than a byte begin with one.
        start = int(self._rng.integers((size - half) // 8 + 1)) * 8 if name == "n" else 0
        if name == "m":
            start = int(self._rng.integers(size - half + 1))
        job = replace(one.job, n=half) if name == "n" else replace(one.job, m=half)
        rows = dict(one.rows)
        for side in rows.keys() & sides:
            if name == "m":
                rows[side] = rows[side][start : start + half]
                continue
            each = 8 * rows[side].shape[1] // _matrices(one.job, self.target)[side].columns
            rows[side] = rows[side][:, start * each // 8 : -(-(start + half) * each // 8)]
        if job.vector is None:
            job = planned(job, self.target)
        return _Taken(one.kind, job, rows)


def _matrices(job: Job, target: Target) -> dict[str, Matrix]:
    return matrices(target.spec, golden_job(job, target.spec))


def _apart(kind: str, job: Job, memory: np.ndarray, target: Target) -> _Taken:
    """Copy a job's operands."""
    rows = {}
    for name, one in _matrices(job, target).items():
        at = one.places()
        rows[name] = np.zeros(at.shape, np.uint8) if name == "c" else memory[at]
    return _Taken(kind, job, rows)


def _placed(image: Image, one: _Taken) -> Job:
    """Place a job's operands, have it run, and return it."""
    fields: dict[str, Any] = {}
    for name, rows in one.rows.items():
        each = image.stride(8, rows.shape[1])
        padded = np.pad(rows, [(0, 0), (0, each - rows.shape[1])])
        fields[name] = image.put(padded.tobytes())
        if name in _STRIDES and getattr(one.job, _STRIDES[name]):
            fields[_STRIDES[name]] = each
    job = replace(one.job, **fields)
    image.start(one.kind, "Job", job)
    return job


def _without_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}
