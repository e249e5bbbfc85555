"""A program on a co-processor behind a serial line: run, and how long the line takes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.boards.attached import opened
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move
from carrysave.compiler.run import network
from carrysave.compiler.run.device import by_device, place
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver.descriptor import written
from carrysave.driver.registers import JOB_BYTES
from carrysave.driver.uart import SerialPort

__all__ = ["Attached", "Traffic", "room", "traffic"]

_COMMAND, _ANSWER, _MORE = 15, 8, 4
"""Bytes of a frame with a command, of the one with its answer, and of the data's CRC or word."""
_ESCAPED = 1 + 2 / 256
"""Bytes on the line for one of a frame, as codes are spread evenly."""
_RING = 4
"""Registers that are written to start a ring."""
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
        device, _ = opened(port, program.target.design)
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
    host = (part for part in program.parts if isinstance(part, HostStep))
    names = {*program.inputs, *(name for part in host for name in part.writes)}
    written_here = sum(
        program.tensors[name].sources.size * (4 if program.tensors[name].kind == np.float32 else 1)
        for name in names
    )
    commands = sent = came = 0
    rings = "ring" in program.target.info.features
    for section in program.sections:
        for one in section.rings:
            commands += _RING + _READS + len(one.written) + 2
            came += _READS * _MORE + sum(size for _, size in one.written)
            written_here += COUNTERS
        for start in section.written:
            ring = rings and len(start.jobs) > 1
            starts = 1 if ring else len(start.jobs)
            puts = _RING if ring else JOB_BYTES // 4 + 1
            commands += starts * (puts + _READS)
            came += starts * _READS * _MORE
            sent += len(start.jobs) * DESCRIPTOR * ring
            for job in start.jobs:
                first, end = written(job)
                came += (end - first) * (job.c < CHIP)
                commands += job.c < CHIP
            written_here += COUNTERS
            commands += 2  # what was written here, in few runs of bytes
    for step in program.steps:
        if isinstance(step, Move):
            written_here += step.bytes
        elif isinstance(step, Floats):
            out = step.operands["out"]
            written_here += step.rows * step.columns * out.format.type.itemsize
    sent += written_here + commands * _COMMAND
    came += commands * _ANSWER
    return Traffic(round(sent * _ESCAPED), round(came * _ESCAPED))


def room(program: Program) -> int:
    """Return the bytes of a device's memory that a program takes, with the driver's ring."""
    beat = program.target.info.stores.data_width // 8
    size = -(-program.image.end // beat) * beat + beat
    written_here = [start for section in program.sections for start in section.written]
    most = max((len(start.jobs) for start in written_here), default=1)
    if "ring" in program.target.info.features and most > 1:
        size += most * DESCRIPTOR + beat
    return size
