"""A system on a board that is attached to this machine, over its serial line."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from carrysave.driver.errors import CoprocessorError
from carrysave.driver.system import Outcome, Plan, System

__all__ = ["run"]

_TIMEOUT = 0.2
"""Seconds without a byte, after which a command is repeated."""
_PATIENCE = 60.0
"""Seconds that a network may run."""


def run(
    port: str,
    baud: int,
    plan: Plan,
    inputs: Sequence[tuple[dict[str, np.ndarray], dict[str, int]]],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Outcome], float]:
    """Load a network into a board's memory, and run inputs on it.

    Parameters
    ----------
    port, baud : of the serial line.
    plan : of the network.
    inputs : codes and parameters of each; the last one with its starts apart, so that they are
        counted.
    progress : called with bytes that are loaded, and inputs that are done, and their totals.

    Returns
    -------
    What each made, and the seconds that all took, the line included.

    Raises
    ------
    CoprocessorError
        The firmware does not answer, or the co-processor fails; says where.
    """
    from serial import Serial

    with Serial(port, baud, timeout=_TIMEOUT) as line:
        try:
            system = System(line, plan, _PATIENCE)
            system.load(progress)
            outcomes: list[Outcome] = []
            began = time.monotonic()
            for number, (codes, parameters) in enumerate(inputs, 1):
                outcomes.append(system.run(codes, parameters, apart=number == len(inputs)))
                progress(number, len(inputs))
        except CoprocessorError as error:
            raise type(error)(f"{port}, {baud} baud: {error}") from None
    return outcomes, time.monotonic() - began
