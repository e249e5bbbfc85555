"""Batches of a network over the pins of a simulated board, and the cycles that each takes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from carrysave.compiler.program.read import read
from carrysave.compiler.run import network
from carrysave.compiler.run.attached import wanted
from carrysave.compiler.run.device import by_device, place
from carrysave.driver import Coprocessor

__all__ = ["timed"]


def timed(
    device: Coprocessor,
    *,
    folder: Path,
    batches: Sequence[Mapping[str, np.ndarray]],
    progress: Callable[[int], None],
) -> list[tuple[dict[str, np.ndarray], int]]:
    """Place a folder's program, as a board's host does; return outputs and cycles of batches."""
    from carrysave.sim.cocotb.streams import PERIOD_NS  # of the simulator's process
    from carrysave.sim.cocotb.system import seconds

    program = read(folder)
    memory, runner = by_device(device, place(device, program), wanted=wanted(program))
    made = []
    for number, batch in enumerate(batches, 1):
        began = seconds()
        outputs = network.run(program, batch, memory, runner)
        made.append((outputs, round(1e9 * (seconds() - began) / PERIOD_NS)))
        progress(number)
    return made
