"""What takes the place of the simulated block in tests of what is done with it."""

from dataclasses import fields
from typing import Any

import numpy as np

from carrysave.compiler.run.alone import Alone
from carrysave.compiler.target.target import Target
from carrysave.driver.device_info import Counters

__all__ = ["by_golden"]


def by_golden(target: Target, wrong: str = "none") -> Any:
    """Return a :func:`carrysave.compiler.run.alone.simulated` that is golden.

    Parameters
    ----------
    wrong : an operation of the vector unit, whose results are not right.
    """

    def run(jobs: Any, tell: Any) -> list[tuple[np.ndarray, Counters]]:
        found = []
        for job, rows in jobs:
            c = Alone("", job, rows).golden(target)
            c[0, 0] ^= job.vector == wrong
            found.append((c, Counters(*[1] * len(fields(Counters)))))
        return found

    return lambda design, folder: run
