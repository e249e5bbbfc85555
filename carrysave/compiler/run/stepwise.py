"""Memory after each step of a program, and the first difference between two runners."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Start
from carrysave.compiler.program.words import JOBS

__all__ = ["comparable", "first_difference", "stepwise"]


def stepwise(program: Program) -> Program:
    """Return a program that does the same, each step as a section of its own.

    Its buffers are where they are; states are copied by its last step, as they were.
    """
    image = replace(
        program.image, parts=dict(program.image.parts), buffers=dict(program.image.buffers)
    )
    parts = [step if isinstance(step, HostStep) else (step,) for step in program.steps]
    placed = assembled(
        image, parts, scores=(program.scores, program.classes), parameters=program.parameters
    )
    return replace(
        program, image=image, parts=placed.parts, ring=placed.ring, parameters=placed.parameters
    )


def comparable(program: Program, memory: np.ndarray) -> np.ndarray:
    """Return memory without counters, and without what drivers write for the device."""
    masked = memory.copy()
    for step in program.steps:
        if isinstance(step, Start):
            masked[step.counters : step.counters + COUNTERS] = 0
    masked[program.ring : program.ring + JOBS * DESCRIPTOR] = 0
    return masked


def first_difference(
    program: Program, ours: np.ndarray, theirs: np.ndarray, step: int | None = None
) -> str | None:
    """Say where memory differs first: by step, buffer, row and column; None: nowhere.

    Parameters
    ----------
    ours, theirs : memory, uint8.
    step : number of the section after which it is compared, of a stepwise program; None: at the
        end.
    """
    differ = np.flatnonzero(comparable(program, ours) != comparable(program, theirs))
    if not differ.size:
        return None
    at = int(differ[0])
    where = "at the end"
    if step is not None:
        (one,) = program.sections[step].steps
        where = f"after step {step}, {one.operator} {one.node!r}"
    within = [one for one in program.buffers.values() if _holds(one, at)]
    if not within:
        return f"{where}: byte {at:#x} is {ours[at]}, not {theirs[at]}"
    buffer = within[-1]
    row, more = divmod(at - buffer.address, buffer.stride)
    column = more * 8 // buffer.bits
    if column >= buffer.columns:
        return (
            f"{where}: a byte behind row {row} of {buffer.name!r} is {ours[at]}, not {theirs[at]}"
        )
    codes = [int(buffer.read(one)[row, column]) for one in (ours, theirs)]
    return f"{where}: {buffer.name!r}, row {row}, column {column} is {codes[0]}, not {codes[1]}"


def _holds(buffer: Buffer, address: int) -> bool:
    return not buffer.on_chip and buffer.address <= address < (
        buffer.address + buffer.rows * buffer.stride
    )
