"""Runs a program by the golden model: on bytes of memory, from the words that firmware reads."""

from collections.abc import Callable

import numpy as np

from carrysave.compiler.program.image import COUNTERS
from carrysave.compiler.program.rings import Ring
from carrysave.compiler.run.interpret import interpret
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver.job import Job
from golden.soc.coprocessor import coprocessor
from golden.soc.spec import CoprocessorSpec

__all__ = ["execute"]


def execute(
    spec: CoprocessorSpec,
    memory: np.ndarray,
    start: int,
    chip: np.ndarray | None = None,
    watch: Callable[[Job], None] = lambda job: None,
) -> None:
    """Run the steps at an address.

    Parameters
    ----------
    spec : the co-processor.
    memory : uint8; what steps make is written into it.
    start : where their words are.
    chip : uint8, what is on chip; None: nothing of another section.
    watch : sees each job before it runs.

    Raises
    ------
    ValueError
        A job that the hardware would refuse, or words of no step.
    """
    scratch = np.zeros(spec.scratch, np.uint8) if chip is None else chip

    def run_jobs(jobs: list[Job]) -> np.ndarray:
        for number, job in enumerate(jobs):
            watch(job)
            error = coprocessor(spec, memory, golden_job(job, spec), scratch)
            if error:
                raise ValueError(f"job {number} of a start: the co-processor says {error.name}")
        return np.ones(COUNTERS // 8, "<u8")

    def run_ring(ring: Ring, first: int, count: int) -> np.ndarray:
        return run_jobs(ring.jobs(memory, spec.scratch_base)[first : first + count])

    interpret(memory, start, run_jobs, run_ring)
