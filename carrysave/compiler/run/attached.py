"""A program on a co-processor behind a serial line: run, and how long the line takes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from carrysave.boards.attached import TIMEOUT, opened
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move
from carrysave.compiler.run import network
from carrysave.compiler.run.device import Spans, by_device, place, within
from carrysave.compiler.run.on_system import by_system
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver.descriptor import written
from carrysave.driver.registers import JOB_BYTES
from carrysave.driver.uart import SerialPort, near_runs
from carrysave.errors import ArgumentError, needs

__all__ = ["Attached", "Traffic", "on_board", "room", "traffic", "wanted"]

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

    Memory comes from the board's flash, if it has just that. A board with a processor runs all that
    is between jobs itself.

    Parameters
    ----------
    program : for the co-processor that is on the board.
    port : an open serial line, see :class:`carrysave.driver.uart.UartLink`.

    Members
    -------
    memory, runner : the program's memory as the host knows it, and what runs its sections there.

    Raises
    ------
    LinkError, CoprocessorError
        It does not answer, or another design does.
    """

    def __init__(self, program: Program, port: SerialPort) -> None:
        self._program = program
        self.flash = ""
        """Why its memory did not come from flash; empty: it did, or there is none."""
        if program.more.get("system"):
            self.memory, self.runner = by_system(program, port)
            return
        device, link = opened(port, program.target.design)
        self.flash = "" if link.fill(program.memory.tobytes()) else link.flash or "no flash"
        placed = place(device, program)
        self.memory, self.runner = by_device(device, placed, wanted=wanted(program))

    def run(
        self, inputs: Mapping[str, np.ndarray], parameters: Mapping[str, int] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the outputs for one batch of inputs, by name."""
        return network.run(self._program, inputs, self.memory, self.runner, parameters)


@contextmanager
def on_board(program: Program, port: str, baud: int | None) -> Iterator[Attached]:
    """Give a program on the board at a serial port, which is closed behind the ``with``.

    Parameters
    ----------
    baud : None: that of the board's build, which the program's manifest has.

    Raises
    ------
    UsageError
        The manifest has none, either.
    """
    baud = baud or program.more.get("baud")
    if not isinstance(baud, int):
        raise ArgumentError("{baud} must be given: the program is not of `carrysave build`")
    needs("serial")
    from serial import Serial

    with Serial(port, baud, timeout=TIMEOUT) as line:
        yield Attached(program, line)


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
    spans_read = wanted(program)

    def read(*spans: tuple[int, int]) -> list[int]:
        return [more for span in spans for _, more in within(*span, spans_read)]

    host = (part for part in program.parts if isinstance(part, HostStep))
    names = {*program.inputs, *(name for part in host for name in part.writes)}
    written_here = sum(
        program.tensors[name].sources.size * program.tensors[name].width for name in names
    )
    commands = sent = came = 0
    rings = "ring" in program.target.info.features
    for section in program.sections:
        for one in section.rings:
            parts = read(*one.written)
            commands += _RING + _READS + len(parts) + 2
            came += _READS * _MORE + sum(parts)
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
                parts = read((first, end - first)) if job.c < CHIP else []
                came += sum(parts)
                commands += len(parts)
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


def wanted(program: Program) -> Spans | None:
    """Return what is read here of what jobs write, as far as jobs are all that there is; None: all.

    What comes from the host has a room of its own, which no job writes.
    """
    if program.states or any(isinstance(step, Move | Floats) for step in program.steps):
        return None
    names = {*program.outputs}
    for part in program.parts:
        if isinstance(part, HostStep):
            names.update(part.reads)
    seen = np.zeros(len(program.memory), bool)
    for name in names:
        if name in program.tensors:
            tensor = program.tensors[name]
            for byte in range(tensor.width):
                seen[tensor.sources + byte] = True
        elif name in program.buffers:
            return None
    return [(first, end - first) for first, end in near_runs(seen)]


def room(program: Program) -> int:
    """Return the bytes of a device's memory that a program takes, with the driver's ring."""
    beat = program.target.info.stores.data_width // 8
    size = -(-program.image.end // beat) * beat + beat
    written_here = [start for section in program.sections for start in section.written]
    most = max((len(start.jobs) for start in written_here), default=1)
    if "ring" in program.target.info.features and most > 1:
        size += most * DESCRIPTOR + beat
    return size
