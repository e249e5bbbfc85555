"""A program that the firmware of a system runs whole, behind a serial line."""

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run.network import Runner
from carrysave.driver.system import System
from carrysave.driver.uart import SerialPort

__all__ = ["by_system"]

_PATIENCE = 600.0
"""Seconds that a run may take."""


def by_system(program: Program, port: SerialPort) -> tuple[np.ndarray, Runner]:
    """Send a program's memory to a system; return the memory, and what runs sections there.

    What a run takes is sent from the memory returned, and what it makes is read into it.

    Parameters
    ----------
    program : of one section, for the system that is on the board.
    port : an open serial line.

    Raises
    ------
    CoprocessorError
        The firmware does not answer, or the co-processor fails.
    """
    plan = program.plan
    system = System(port, plan, _PATIENCE)
    system.load()
    memory = program.memory.copy()
    taken = [(one.address, 4) for one in plan.parameters]
    taken += [tensor.span for tensor in plan.inputs.values()]

    def run(section: Section) -> None:
        assert section.start == plan.start
        for address, size in taken:
            system.write(address, memory[address : address + size].tobytes())
        system.start()
        for address, size in plan.results.values():
            made = system.read(address, size)
            memory[address : address + size] = np.frombuffer(made, np.uint8)

    return memory, run
