"""Boards with SDRAM that a system can use, and what it takes of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.boards.board import BOARDS, Board, board_of
from carrysave.boards.sdram import SDRAMS, Sdram
from carrysave.errors import refusal
from hw.catalog import Design

__all__ = ["SYSTEMS", "SystemBoard", "design_of", "system_board_of"]


@dataclass(frozen=True, kw_only=True)
class SystemBoard:
    """A board with SDRAM.

    Members
    -------
    sdram : of the board.
    size : rows and columns of the default engine.
    clock_mhz : default clock.
    phase : degrees by which the clock of its SDRAM is late, as LiteX's target has it.
    """

    sdram: Sdram
    size: int
    clock_mhz: float = 60.0
    phase: int = 90


SYSTEMS = {
    "ulx3s_12f": SystemBoard(sdram=SDRAMS["ulx3s_12f"], size=4),
    "ulx3s_25f": SystemBoard(sdram=SDRAMS["ulx3s_25f"], size=4),
    "ulx3s_45f": SystemBoard(sdram=SDRAMS["ulx3s_45f"], size=4),
    "ulx3s_85f": SystemBoard(sdram=SDRAMS["ulx3s_85f"], size=8),
    "colorlight_i5": SystemBoard(sdram=SDRAMS["colorlight_i5"], size=4, phase=180),
    "colorlight_i9": SystemBoard(sdram=SDRAMS["colorlight_i9"], size=4, phase=180),
    "orangecrab_25f": SystemBoard(sdram=SDRAMS["orangecrab_25f"], size=4),
    "orangecrab_85f": SystemBoard(sdram=SDRAMS["orangecrab_85f"], size=8),
    "ecpix5_45f": SystemBoard(sdram=SDRAMS["ecpix5_45f"], size=4),
    "ecpix5_85f": SystemBoard(sdram=SDRAMS["ecpix5_85f"], size=8),
}
"""By names of :data:`carrysave.boards.board.BOARDS`."""

_WITHOUT = {
    "tang_nano_20k": "the system's PLL and its constraints of pins are those of ECP5, not of Gowin"
}
"""Why boards whose SDRAM `build` uses have no system."""


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
        why = f": {_WITHOUT[name]}" if name in _WITHOUT else ""
        legal = f"one with SDRAM that a system uses, {', '.join(SYSTEMS)}"
        raise refusal("board", legal, f"{name}{why}")
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
