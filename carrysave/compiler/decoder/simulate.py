"""Jobs of a decoder on the simulated block: all of them, or a sample of each kind."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.units import VECTOR, silu_scaling
from carrysave.compiler.decoder.watch import KINDS, Job, ProductJob, RowsJob
from carrysave.compiler.decoder.works import Laid, check, laid
from carrysave.compiler.front.gguf import Model
from carrysave.compiler.target.cost import work_estimate
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows
from carrysave.errors import UsageError, check_choice
from carrysave.sim.products import run_works
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles as vector_cycles
from golden.npe.vector_unit import vector_unit
from hw.catalog import Design

__all__ = ["CORES", "SIMULATIONS", "Simulation", "block_of", "golden"]

SIMULATIONS = ("none", "sample", "all")

CORES: Mapping[str, str] = {
    "lut_core": "lut_core(m=1,n=16,b_width={bits},group=2,lookups=4,folded=False,parallel=True)",
    "blocks": "systolic_os(m=2,n=16,b_width={bits},target=ecp5)",
    "int8": "npe(m=2,n=16,formats=int8,int4,accumulator_width=32)",
    "ternary_core": "ternary_core(m=1,n=16,k=20)",
    "shift_add_core": "shift_add_core(m=1,n=16,b_width={bits},k=16)",
}
"""Engines: tables of activations; multiplier blocks with several narrow products each; int8, with
weights of 4 bits in memory that are expanded at the array's edge; activations added, subtracted or
skipped, by weights that are five to a byte in memory; and shifted copies of them, added."""

_EACH = 2
"""Jobs of each kind in a sample."""
_CYCLES = 2_000
"""Most cycles of one of them, by the cost model; of larger ones some columns and rows run."""
_CODES = 1 << 23
"""Codes that are placed in the simulated memory at once."""


def block_of(core: str, parameters: Mapping[str, str], bits: int = 4) -> Design:
    """Return a co-processor with a core and the vector unit, and other parameters as given.

    Parameters
    ----------
    core : of :data:`CORES`.
    parameters : of the co-processor, the engine too.
    bits : of a weight, unless the core has a width of its own.
    """
    check_choice("--core", core, tuple(CORES))
    trits = core == "ternary_core" and "engine" not in parameters
    own = {
        "engine": CORES[core].replace("{bits}", str(bits)),
        "vector": f"vector_unit({_facts(VECTOR)})", "requantise": "false", "accumulate": "false",
        **({"trits": "true"} if trits else {}),
    }  # fmt: skip
    return Design.parse("coprocessor", {**own, **parameters})


class Simulation:
    """Takes a decoder's jobs, and runs them on the block.

    Parameters
    ----------
    design : a co-processor.
    model : whose weights it must take.
    length : the most tokens that the model takes.
    every : all jobs, else a sample.
    seed : of the sample.
    folder : each run gets a new folder in it.
    tell : told what is being done.

    Members
    -------
    kept : jobs that have not run, by kind.
    jobs, cycles : by kind: how many have run, and the cycles that the cost models expect of them.
    wrong : kinds of jobs whose results are not golden's, with how many.
    counted : cycles that the hardware counted.

    Raises
    ------
    UsageError
        The block cannot run the model.
    """

    def __init__(
        self,
        design: Design,
        model: Model,
        *,
        length: int,
        every: bool,
        seed: int,
        folder: Path,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        try:
            self.target = Target(design)
            check(self.target, model.longest(length), model.weight_format)
        except ValueError as error:
            raise UsageError(str(error)) from None
        unit = self.target.spec.vector
        if unit is not None and replace(unit, lanes=VECTOR.lanes) != VECTOR:
            raise UsageError(f"vector must be none, or of {_facts(VECTOR)}, not {_facts(unit)}")
        self.every = every
        self.jobs = dict.fromkeys(KINDS, 0)
        self.cycles = dict.fromkeys(KINDS, 0)
        self.wrong: dict[str, int] = {}
        self.counted = 0
        self.seconds = 0.0
        self._folder, self._tell = folder, tell
        self._rng = np.random.default_rng(seed)
        self._seen = dict.fromkeys(KINDS, 0)
        self.kept: dict[str, list[Job]] = {kind: [] for kind in KINDS}
        self._size = 0

    def take(self, job: Job) -> None:
        """Keep a job: each, or by chance, any job of a kind as likely as any other."""
        if isinstance(job, RowsJob) and self.target.spec.vector is None:
            return
        kept = self.kept[job.kind]
        self._seen[job.kind] += 1
        if self.every:
            kept.append(job)
            self._size += job.a.size + (job.b.size if isinstance(job, ProductJob) else 0)
            if self._size > _CODES:
                self.run()
        elif len(kept) < _EACH:
            kept.append(job)
        else:
            place = int(self._rng.integers(self._seen[job.kind]))
            if place < _EACH:
                kept[place] = job

    def run(self) -> None:
        """Run what was kept, and compare with golden."""
        jobs = [job for kept in self.kept.values() for job in kept]
        for kept in self.kept.values():
            kept.clear()
        self._size = 0
        if not jobs:
            return
        self._tell(f"simulate {len(jobs)} jobs")
        start = time.monotonic()
        if not self.every:
            jobs = [self._cut(job) for job in jobs]
        made = [self._laid(job) for job in jobs]
        works = [one.work if isinstance(one, Laid) else one for one in made]
        results, counters = run_works(self.target.design, works, self._folder, one_start=True)
        self.counted += sum(one["cycles"] for one in counters)
        for job, one, result in zip(jobs, made, results, strict=True):
            found = one.finish(result) if isinstance(one, Laid) else result
            self.jobs[job.kind] += 1
            self.cycles[job.kind] += self._estimate(one)
            if not np.array_equal(found, golden(job)):
                self.wrong[job.kind] = self.wrong.get(job.kind, 0) + 1
        self.seconds += time.monotonic() - start

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

    def _laid(self, job: Job) -> Laid | Rows:
        if isinstance(job, RowsJob):
            how = _how() if job.kind in VECTOR.GATES else None
            return Rows(operation=job.kind, a=job.a, requantisation=how)
        return laid(self.target, job.a, job.b)

    def _estimate(self, one: Laid | Rows) -> int:
        if isinstance(one, Rows):
            unit = self.target.spec.vector
            assert unit is not None
            assert one.a is not None
            return vector_cycles(unit, [(one.operation, row) for row in one.a])
        assert one.work.a is not None
        return work_estimate(self.target, one.work, len(one.work.a)).cycles

    def _cut(self, job: Job) -> Job:
        """Leave as many columns, and rows, as run in few cycles, from a place drawn by chance."""
        while self._estimate(self._laid(job)) > _CYCLES:
            if isinstance(job, ProductJob) and job.b.shape[1] > 2 * self.target.info.stores.tile_n:
                job = replace(job, b=self._half(job.b, 1))
            elif len(job.a) > 1:
                job = replace(job, a=self._half(job.a, 0))
            else:
                break
        return job

    def _half(self, array: np.ndarray, axis: int) -> np.ndarray:
        size = -(-array.shape[axis] // 2)
        start = int(self._rng.integers(array.shape[axis] - size + 1))
        return array[:, start : start + size] if axis else array[start : start + size]


def _how() -> Requantisation:
    """Return the requantisation of SiLUs, as the driver takes it."""
    to = silu_scaling()
    return Requantisation(multiplier=int(to.multiplier[0]), shift=int(to.shift[0]))


def _facts(unit: VectorUnitSpec) -> str:
    return ",".join(f"{name}={value}" for name, value in vars(unit).items())


def _without_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    return {kind: count for kind, count in counts.items() if count}


def golden(job: Job) -> np.ndarray:
    """Compute a job; of a softmax, exponents follow the codes of rows."""
    if isinstance(job, ProductJob):
        return np.rint(job.a.astype(np.float64) @ job.b.astype(np.float64)).astype(np.int64)
    rows = []
    for row in job.a:
        to = silu_scaling() if job.kind in VECTOR.GATES else None
        codes, exponent = vector_unit(VECTOR, job.kind, row, to)
        rows.append([*codes, exponent] if job.kind == "softmax" else codes)
    return np.array(rows)
