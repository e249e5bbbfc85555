"""Jobs of a program on the simulated block, each with its operands alone: all, or a sample."""

import time
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.program import Program
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.alone import Alone, of_job, simulated
from carrysave.compiler.run.golden import execute
from carrysave.driver.job import Job
from golden.soc.memory import Space

__all__ = ["Sample"]

_EACH = 2
"""Jobs of each kind in a sample."""
_CYCLES = 2_000
"""Most cycles of one of them, by the cost model; of larger ones some columns and rows run."""
_BYTES = 1 << 23
"""Operands that are taken before they run."""


def _kind(step: Start, job: Job) -> str:
    return job.vector or step.node.rpartition(".")[2]


class Sample:
    """Takes jobs as golden comes to them, and runs them on the block.

    Parameters
    ----------
    program : whose jobs they are.
    every : of which steps all jobs run, and whole ones: of all, of none, or by a function.
    seed : of the sample.
    folder : each run gets a new folder in it.
    tell : called with what is being done.
    kind : of a job: of each, some are in a sample.
    each : how many.

    Members
    -------
    kinds : of all jobs of a run, in order; by default operations of the vector unit, or ends of
        nodes' names.
    jobs, cycles : by kind: how many have run, and the cycles that the cost model expects of them.
    wrong : kinds of jobs whose results are not golden's, with how many.
    counted : cycles that the hardware counted.
    whole_counted, whole_modelled : the same of those that ran since all of their step's do.
    """

    def __init__(
        self,
        program: Program,
        *,
        every: bool | Callable[[Start], bool],
        seed: int,
        folder: Path,
        tell: Callable[[str], None] = lambda text: None,
        kind: Callable[[Start, Job], str] = _kind,
        each: int = _EACH,
    ) -> None:
        self.target, self._each = program.target, each
        pairs = [
            (kind(step, job), every(step) if callable(every) else every)
            for step in program.steps
            if isinstance(step, Start)
            for job in step.jobs
        ]
        self.kinds = [name for name, _ in pairs]
        self.jobs = dict.fromkeys(self.kinds, 0)
        self.cycles = dict.fromkeys(self.kinds, 0)
        self.wrong: dict[str, int] = {}
        self.counted, self.seconds = 0, 0.0
        self.whole_counted, self.whole_modelled = 0, 0
        self._folder, self._tell = folder, tell
        self._rng = np.random.default_rng(seed)
        self._seen = dict.fromkeys(self.kinds, 0)
        self._taken: dict[str, list[Alone]] = {name: [] for name in self.kinds}
        self._all = {name for name, whole in pairs if whole}
        self._size = 0

    def execute(self, memory: np.ndarray, start: int) -> None:
        """Run a section by golden, and take its jobs."""
        left, spec = iter(self.kinds), self.target.spec
        chip = np.zeros(spec.scratch, np.uint8)
        space = Space(memory=memory, scratch=chip, base=spec.scratch_base)
        execute(spec, memory, start, chip, lambda job: self.take(next(left), job, space))

    def take(self, kind: str, job: Job, space: Space) -> None:
        """Take a job: each, or by chance, any job of a kind as likely as any other."""
        taken = self._taken[kind]
        self._seen[kind] += 1
        index = len(taken)
        if kind not in self._all and index == self._each:
            index = int(self._rng.integers(self._seen[kind]))
            if index >= self._each:
                return
        one = of_job(kind, job, space, self.target)
        taken[index:] = [one, *taken[index + 1 :]]
        if kind in self._all:
            self._size += sum(rows.size for rows in one.rows.values())
        if self._size > _BYTES:
            self.run()

    def run(self) -> None:
        """Run what was taken, and compare with golden."""
        some = list(chain.from_iterable(self._taken.values()))
        for taken in self._taken.values():
            taken.clear()
        self._size = 0
        if not some:
            return
        self._tell(f"simulate {len(some)} jobs")
        began = time.monotonic()
        some = [one if one.kind in self._all else self._cut(one) for one in some]
        block = simulated(self.target, self._folder)
        made = block([(one.job, one.rows) for one in some], lambda done: None)
        for one, (c, counters) in zip(some, made, strict=True):
            modelled = cycles_of(one.job, self.target)
            self.jobs[one.kind] += 1
            self.cycles[one.kind] += modelled
            self.counted += counters.cycles
            if one.kind in self._all:
                self.whole_counted += counters.cycles
                self.whole_modelled += modelled
            if not np.array_equal(one.golden(self.target), c):
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

    def _cut(self, one: Alone) -> Alone:
        """Leave as many columns, and rows, as run in few cycles, from a place drawn by chance."""
        while cycles_of(one.job, self.target) > _CYCLES:
            m, n = one.job.m, one.job.n
            if one.job.vector is None and n > 2 * self.target.info.stores.tile_n:
                half = -(-n // 16) * 8
                # Codes of less than a byte begin with one.
                start = int(self._rng.integers((n - half) // 8 + 1)) * 8
                one = one.some_columns(start, half, self.target)
            elif m > 1:
                half = -(-m // 2)
                start = int(self._rng.integers(m - half + 1))
                one = one.some_rows(start, half, self.target)
            else:
                break
        return one


def _without_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}
