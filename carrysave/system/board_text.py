"""A language model on a board without a processor: its program of a token."""

from dataclasses import replace
from pathlib import Path

from carrysave.boards.board import Board
from carrysave.compiler.decoder.program_folder import compile_file
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.system.board_network import check_room, target_of
from carrysave.system.board_page import a_second
from hw.catalog import Design

__all__ = ["text_on_board"]


def text_on_board(
    model: Path, board: Board, design: Design, *, cache: int, bits: int | None
) -> Program:
    """Compile a language model for a board; all that can be refused is, here.

    Parameters
    ----------
    model, cache, bits : of :func:`carrysave.compiler.decoder.program_folder.compile_file`.
    design : the board's co-processor.

    Raises
    ------
    UsageError
        The memory has no room for it: says the bytes that are needed, and those that are there. Or
        the board has a processor.
    """
    target = target_of(board, design)
    program, more = compile_file(model, target, cache=cache, bits=bits)
    cycles = sum(one.cycles for one in program.steps if isinstance(one, Start))
    mhz = board.clock_mhz or board.oscillator_mhz
    besides = (
        f"; jobs of a token would take {cycles:,} cycles, {a_second(1e6 * mhz / cycles)} tokens a"
        f" second at {mhz:g} MHz"
    )
    check_room(program, model.name, board, besides)
    return replace(program, more=more)
