"""Loads a bitstream into a board, by openFPGALoader."""

from pathlib import Path

from carrysave.boards.board import Board
from carrysave.errors import ArgumentError
from hw import device
from hw.emit import tools

__all__ = ["LoadError", "load", "loader_of"]

_PROGRAM = "openFPGALoader"


class LoadError(RuntimeError):
    """openFPGALoader does not find the board, or does not load it."""


def loader_of(board: Board) -> str:
    """Return the path of openFPGALoader, if it can load what is built for a board.

    Raises
    ------
    UsageError
        No bitstream is built for the board.
    MissingToolError
        It is not installed.
    """
    if device.family(board.family).flow.bitstream is None:
        raise ArgumentError(
            "{load} needs a bitstream, which Vivado builds for {name}", name=board.name
        )
    return tools.find(_PROGRAM)


def load(board: Board, folder: Path) -> None:
    """Load the bitstream of a build into the FPGA, until power goes.

    Raises
    ------
    LoadError
        It fails; its last line says why.
    """
    bitstream = device.family(board.family).flow.bitstream
    assert bitstream is not None
    image = (folder / f"{board.name}{bitstream.suffix}").resolve()
    done = tools.run([loader_of(board), "-b", board.loader, str(image)], cwd=folder)
    if done.code:
        lines = done.output.strip().splitlines() or ["it says nothing"]
        raise LoadError(f"{_PROGRAM} -b {board.loader}: {lines[-1]}")
