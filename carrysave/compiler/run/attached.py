"""A program on a co-processor behind a serial line: run, and how long the line takes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.boards.attached import opened
from carrysave.compiler.program.array import BYTES
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move, Start
from carrysave.compiler.program.words import CHIP
from carrysave.compiler.run import network
from carrysave.compiler.run.device import by_device, place
from carrysave.driver.descriptor import written
from carrysave.driver.registers import JOB_BYTES
from carrysave.driver.uart import SerialPort

__all__ = ["Attached", "Traffic", "room", "traffic"]

_COMMAND, _ANSWER, _MORE = 15, 8, 4
"""Bytes of a frame with a command, of the one with its answer, and of the data's CRC or word."""
_ESCAPED = 1 + 2 / 256
"""Bytes on the line for one of a frame, as codes are spread evenly."""
_READS = 20
"""Registers that are read of a start: is it idle, is it done, how did it end, and counters."""


class Attached:
    """A program on a board: its memory is sent once, then inputs, and what comes between jobs.

    Parameters
    ----------
    program : for the co-processor that is on the board.
    port : an open serial line, see :class:`carrysave.driver.uart.UartLink`.

    Raises
    ------
    LinkError, CoprocessorError
        It does not answer, or another design does.
    """

    def __init__(self, program: Program, port: SerialPort) -> None:
        self._program = program
        device = opened(port, program.target.design)
        self.memory, self._runner = by_device(device, place(device, program))

    def run(
        self, inputs: Mapping[str, np.ndarray], parameters: Mapping[str, int] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the outputs for one batch of inputs, by name."""
        return network.run(self._program, inputs, self.memory, self._runner, parameters)


@dataclass(frozen=True)
class Traffic:
    """Bytes on the line for a batch of inputs.

    Members
    -------
    sent, came : to the device, and from it, with all that frames add.
    """

    sent: int
    came: int

    def seconds(self, baud: int) -> float:
        """Return how long they take, 10 bits each; a bridge's own pauses are not in it."""
        return 10 * (self.sent + self.came) / baud


def traffic(program: Program) -> Traffic:
    """Count what :class:`Attached` has on the line for a batch, once the memory is there.

    Every byte that a step beside the co-processor writes is counted, though those that are as they
    were need not be sent.
    """
    written_here = sum(
        program.tensors[name].sources.size * (4 if program.tensors[name].kind == np.float32 else 1)
        for name in dict.fromkeys((*program.inputs, *_brought(program)))
    )
    commands = sent = came = 0
    rings = "ring" in program.target.info.features
    for step in program.steps:
        if isinstance(step, Move):
            written_here += step.bytes
        elif isinstance(step, Floats):
            out = step.operands["out"]
            written_here += step.rows * step.columns * BYTES[out.format]
        elif isinstance(step, Start):
            ring = rings and len(step.jobs) > 1
            starts = 1 if ring else len(step.jobs)
            puts = 4 if ring else JOB_BYTES // 4 + 1
            commands += starts * (puts + _READS)
            came += starts * _READS * _MORE
            sent += len(step.jobs) * DESCRIPTOR * ring
            for job in step.jobs:
                first, end = written(job)
                came += (end - first) * (job.c < CHIP)
                commands += job.c < CHIP
            written_here += COUNTERS
            commands += 2  # what was written here, in few runs of bytes
    sent += written_here + commands * _COMMAND
    came += commands * _ANSWER
    return Traffic(round(sent * _ESCAPED), round(came * _ESCAPED))


def _brought(program: Program) -> list[str]:
    return [name for part in program.parts if isinstance(part, HostStep) for name in part.writes]


def room(program: Program) -> int:
    """Return the bytes of a device's memory that a program takes, with the driver's ring."""
    beat = program.target.info.stores.data_width // 8
    size = -(-program.image.end // beat) * beat + beat
    most = max((len(step.jobs) for step in program.steps if isinstance(step, Start)), default=1)
    if "ring" in program.target.info.features and most > 1:
        size += most * DESCRIPTOR + beat
    return size
