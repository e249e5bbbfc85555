"""The first difference between the memories of two runners of a program."""

import numpy as np

from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import APART_WORD, JOBS

__all__ = ["comparable", "first_difference"]


def comparable(program: Program, memory: np.ndarray) -> np.ndarray:
    """Return memory without counters, and without what drivers write for the device."""
    masked = memory.copy()
    for step in program.steps:
        if isinstance(step, Start):
            masked[step.counters : step.counters + COUNTERS] = 0
    for section in program.sections:
        apart = section.start + 4 * APART_WORD
        masked[apart : apart + 4] = 0
    for ring in (one for section in program.sections for one in section.rings):
        masked[ring.counters : ring.counters + COUNTERS] = 0
        masked[ring.word : ring.word + 8] = 0
        masked[ring.at : ring.at + DESCRIPTOR * ring.count] = 0
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
    within = [
        one
        for one in program.buffers.values()
        if not one.on_chip and one.address <= at < one.address + one.rows * one.stride
    ]
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
