"""The jobs of a step on the simulated co-processor, byte by byte as golden has them."""

from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.run.sample import Sample
from carrysave.training.learner import Learner
from golden.soc.memory import Space

__all__ = ["simulated_step"]


def simulated_step(
    learner: Learner,
    x: np.ndarray,
    labels: np.ndarray,
    folder: Path,
) -> dict[str, Any]:
    """Have a network learn one step, and run each of its jobs on the block, with its operands.

    Parameters
    ----------
    folder : each run gets a new folder in it.

    Returns
    -------
    ``jobs``; ``cycles`` that the hardware counted and ``modelled_cycles`` of the same; ``wrong``,
    names of jobs whose bytes are others than golden's.
    """
    program = learner.step_program.program
    sample = Sample(program, every=True, seed=0, folder=folder, kind=lambda step, job: step.node)
    spec = learner.target.spec
    space = Space(memory=learner.memory, scratch=np.zeros(0, np.uint8), base=spec.scratch_base)
    names = iter(sample.kinds)
    learner.step(x, labels, learner.by_golden(lambda job: sample.take(next(names), job, space)))
    sample.run()
    return {
        "jobs": sum(sample.jobs.values()),
        "cycles": sample.whole_counted,
        "modelled_cycles": sample.whole_modelled,
        "wrong": sorted(sample.wrong),
    }
