"""Boards with SDRAM that a system can use, and what it takes of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from carrysave.boards.board import BOARDS, Board, board_of
from carrysave.compiler.program.cycles import Memory
from carrysave.compiler.target.target import Target
from carrysave.errors import refusal
from hw.catalog import Design

__all__ = ["SYSTEMS", "SystemBoard", "design_of", "system_board_of"]


@dataclass(frozen=True, kw_only=True)
class SystemBoard:
    """A board with SDRAM.

    Members
    -------
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    memory, memory_bits : LiteDRAM's name of the SDRAM, and bits of its data bus.
    memory_bytes : of the SDRAM.
    size : rows and columns of the default engine.
    clock_mhz : default clock.
    """

    platform: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    memory: str
    memory_bits: int
    memory_bytes: int
    size: int
    clock_mhz: float = 60.0

    def timing(self, target: Target) -> Memory:
        """Return how long the memory takes for a co-processor."""
        return Memory(beat=target.info.stores.data_width / self.memory_bits)


def _ulx3s(size: int, engine: int) -> SystemBoard:
    return SystemBoard(
        platform="radiona_ulx3s",
        arguments={"device": f"LFE5U-{size}F"},
        memory="MT48LC16M16",
        memory_bits=16,
        memory_bytes=1 << 25,
        size=engine,
    )


SYSTEMS = {
    "ulx3s_25f": _ulx3s(25, 4),
    "ulx3s_45f": _ulx3s(45, 4),
    "ulx3s_85f": _ulx3s(85, 8),
}
"""By names of :data:`carrysave.boards.board.BOARDS`."""


def system_board_of(name: str) -> tuple[Board, SystemBoard]:
    """Return a board, and what a system takes of it.

    Raises
    ------
    ValueError
        There is none of that name.
    UsageError
        It has no SDRAM that a system can use.
    """
    board = board_of(name)
    if name not in SYSTEMS:
        raise refusal("board", f"one with SDRAM that a system uses, {', '.join(SYSTEMS)}", name)
    return board, SYSTEMS[name]


def design_of(board: Board, parameters: Mapping[str, str]) -> Design:
    """Return the co-processor of a system, with other parameters if given."""
    size = SYSTEMS[board.name].size
    texts: dict[str, Any] = {
        "engine": f"systolic_os(m={size},n={size},target={board.family})",
        "data_width": 32,
        "address_width": 32,
        "outstanding": 4,
        "sums": 4 * size * size * 4,
        "a_bytes": 2048,
        "b_bytes": 2048,
        "requantisers": 1,
    }
    return Design.parse(
        "coprocessor", {key: str(value) for key, value in texts.items()} | dict(parameters)
    )


assert SYSTEMS.keys() <= BOARDS.keys()
