"""Flags that commands for a co-processor have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from carrysave.cli.options import Folder, Sets, output_folder, settings
from carrysave.compiler.target.memory import LEGAL, memory_of
from carrysave.errors import UsageError, option_of

if TYPE_CHECKING:
    from carrysave.compiler.target.target import Target

__all__ = ["DEFAULT_BLOCK", "Block", "MemoryName", "check_left_out", "target_of"]

MemoryName = Annotated[
    str | None,
    Parameter(
        name="--memory",
        help=f"Memory behind the co-processor, by which blocks are chosen and cycles counted:"
        f" {LEGAL}; latency is in cycles, from a row's request to its first beat, and bytes pass in"
        " a cycle. [default: axi, of 64 cycles and a beat each cycle]",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Block:
    """Parameters of a co-processor, and where files go."""

    parameter: Sets = None
    output: Folder = None

    def settings(self) -> dict[str, str]:
        """Return the parameters by name."""
        return settings(self.parameter)

    @property
    def folder(self) -> Path:
        """The folder for all files."""
        return output_folder(self.output)


def target_of(parameters: Mapping[str, str], memory: str | None) -> "Target":
    """Return the co-processor that parameters choose, with its memory; None: nothing is known."""
    # Slow to load, and not needed for an answer in golden.
    from carrysave.compiler.target.target import Target
    from hw.catalog import Design

    timing = None if memory is None else memory_of(memory)
    return Target(Design.parse("coprocessor", parameters), timing=timing).checked()


DEFAULT_BLOCK = Block()
"""No parameters, the folder by default."""


def check_left_out(given: Mapping[str, object], reason: str) -> None:
    """Refuse options that mean nothing here.

    Parameters
    ----------
    given : by the names of their arguments, or as flags (``-p``); what is None was not given.
    reason : why they must be left out.
    """
    names = [name for name, value in given.items() if value is not None]
    if flags := [name if name.startswith("-") else option_of(name) for name in names]:
        raise UsageError(f"{', '.join(flags)} must be left out: {reason}")
