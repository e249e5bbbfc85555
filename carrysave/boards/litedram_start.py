"""Starts a memory by a list of commands, each after the time of the one before.

Of the program :mod:`carrysave.boards.litedram_core`, as are all modules that import Migen.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from migen import Array, If, Signal

from carrysave.boards.litex_parts import COMMANDS

__all__ = ["IDLE", "SPACE", "Step", "play", "steps_of"]

SPACE = 16
"""Cycles between commands of the start, at least: more than each of them takes."""
_CONTROLS = ("cke", "odt", "reset_n")


class Step(NamedTuple):
    """A command, and how long it takes.

    Members
    -------
    address, bank : of the command.
    command : its pins that are low, as :data:`carrysave.boards.litex_parts.COMMANDS` has them.
    controls : clock enable, termination and reset, which is low active; bit by bit.
    wait : cycles to the next step.
    """

    address: int
    bank: int
    command: int
    controls: int
    wait: int


IDLE = Step(0, 0, 0, 0, 0)
"""No command, in reset."""


def steps_of(
    sequence: Iterable[tuple[str, int, int, str, int]], wait: Callable[[str, int], int]
) -> list[Step]:
    """Return the steps of a list that LiteDRAM writes for software.

    Parameters
    ----------
    wait : cycles of a step, of its command, and of what the list says.
    """
    steps = []
    for _, address, bank, text, delay in sequence:
        words = text.split("|")
        control = words[0].startswith("DFII_CONTROL")
        if control:
            named = {word.removeprefix("DFII_CONTROL_").lower() for word in words}
            controls = sum(1 << bit for bit, name in enumerate(_CONTROLS) if name in named)
        else:
            controls = (1 << len(_CONTROLS)) - 1
        command = 0 if control else sum(COMMANDS[word] for word in words)
        steps.append(Step(address, bank, command, controls, wait(text, delay)))
    return steps


def play(core: Any, phases: Sequence[Any], steps: Sequence[Step]) -> Any:
    """Give the commands on the first of some phases of DFI; return what says that all are done."""
    done = Signal()
    step, left = Signal(max=len(steps) + 1), Signal(max=max(one.wait for one in steps) + 1)
    address, bank, bits, controls, wait = (
        Array(column)[step] for column in zip(*steps, strict=True)
    )
    command = Signal(4)
    for phase in phases:
        core.comb += [
            getattr(phase, name).eq((controls >> bit) & 1) for bit, name in enumerate(_CONTROLS)
        ]
    # A command is for one cycle.
    core.comb += [
        phases[0].address.eq(address),
        phases[0].bank.eq(bank),
        phases[0].cs_n.eq(~command[0]),
        phases[0].we_n.eq(~command[1]),
        phases[0].cas_n.eq(~command[2]),
        phases[0].ras_n.eq(~command[3]),
        If(~done & (left == 0), command.eq(bits)),
    ]
    core.sync += If(
        ~done,
        left.eq(left + 1),
        If(left == wait, left.eq(0), step.eq(step + 1), done.eq(step == len(steps) - 1)),
    )
    return done
