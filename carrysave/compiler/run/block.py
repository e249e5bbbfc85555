"""Runs a program on the simulated co-processor, through its driver."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run.device import by_device
from carrysave.compiler.run.network import Runner
from carrysave.driver import Coprocessor
from carrysave.driver.number import BYTE
from carrysave.sim.device import with_device

__all__ = ["by_block", "simulated"]

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
        (memory[:],) = simulated(program, memory, [section], directory, deadline=deadline)

    return simulate


def simulated(
    program: Program,
    memory: np.ndarray,
    sections: Sequence[Section],
    directory: Path,
    *,
    deadline: float = 3600.0,
) -> list[np.ndarray]:
    """Run sections one after the other in one simulation; return memory after each."""
    made: list[np.ndarray] = with_device(
        program.target.design,
        partial(_run, sections=sections, memory=memory),
        directory,
        size=len(memory) + _ROOM,
        memory=program.target.memory,
        deadline=deadline,
    )
    return made


def _run(
    device: Coprocessor,
    *,
    sections: Sequence[Section],
    memory: np.ndarray,
    progress: Callable[[int], None],
) -> list[np.ndarray]:
    """Place a program's memory, run sections, and return what is there after each."""
    from carrysave.sim.cocotb.job_samples import WatchedCoprocessor  # of the simulator's process

    placed = device.empty((1, len(memory)), BYTE)
    placed.write_bytes(memory[None])
    watch = device.watch if isinstance(device, WatchedCoprocessor) else None
    ours, runner = by_device(device, placed, lambda: watch.samples if watch else [])
    made = []
    for number, section in enumerate(sections, 1):
        runner(section)
        made.append(ours.copy())
        progress(number)
    return made
