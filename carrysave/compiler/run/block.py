"""Runs a program on the simulated co-processor, through its driver."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run.device import by_device
from carrysave.compiler.run.network import Runner
from carrysave.driver import Coprocessor
from carrysave.driver.number import BYTE
from carrysave.sim.device import with_device

__all__ = ["by_block"]

_ROOM = 1 << 16
"""Bytes of the simulated memory, besides the program's."""


def by_block(
    program: Program, memory: np.ndarray, directory: Path, *, deadline: float = 3600.0
) -> Runner:
    """Return what runs sections by the simulated block.

    Parameters
    ----------
    memory : of the program.
    directory : folder in which each section gets its own new folder.
    deadline : seconds after which a simulation is ended.

    Raises
    ------
    RuntimeError : of the runner, if a simulation fails; names the log.
    """

    def simulate(section: Section) -> None:
        memory[:] = with_device(
            program.target.design,
            partial(_run, section=section, memory=memory),
            directory,
            size=len(memory) + _ROOM,
            deadline=deadline,
        )

    return simulate


def _run(
    device: Coprocessor,
    *,
    section: Section,
    memory: np.ndarray,
    progress: Callable[[int], None],
) -> np.ndarray:
    """Place a program's memory, run a section, and return what is there then."""
    placed = device.empty((1, len(memory)), BYTE)
    placed.write_bytes(memory[None])
    ours, runner = by_device(device, placed)
    runner(section)
    progress(1)
    return ours.copy()
