"""A memory that is attached to a controller of LiteDRAM: what each kind of memory gives it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Attached", "Clocks"]


@dataclass(frozen=True)
class Clocks:
    """What a board's top has for a memory.

    Members
    -------
    first, second : outputs of the PLL, see :class:`carrysave.boards.sdram.Sdram`.
    locked : they are stable.
    reset : of the top, by the clock that comes out.
    """

    first: Any
    second: Any
    locked: Any
    reset: Any


@dataclass(frozen=True, kw_only=True)
class Attached:
    """A memory behind its PHY.

    Members
    -------
    phy : with ``dfi`` and ``settings``.
    timings : LiteDRAM's description of the memory.
    started : the controller may have it.
    failed : bytes of its bus that do not answer then; None: nobody tries.
    inouts : pins that Migen takes for inputs, which buffers of the FPGA drive, too.
    inputs : parts of resources whose pins are inputs.
    overrides : by what special parts are replaced.
    """

    phy: Any
    timings: Any
    started: Any
    failed: Any = None
    inouts: tuple[Any, ...] = ()
    inputs: frozenset[str] = frozenset()
    overrides: Mapping[Any, Any] = field(default_factory=dict)
