"""Maps a board's design, and seeks the largest that fits where one does not."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from carrysave.boards.board import Board, design_of
from carrysave.boards.external import controller
from carrysave.boards.implement import TooLargeError, mapped
from carrysave.boards.top import TOP, Clock, top
from carrysave.sim.emission import verilog_of
from hw.catalog import Design
from hw.emit import tools

__all__ = ["largest", "map_whole"]


def map_whole(
    board: Board, module: str, verilog: str, folder: Path, progress: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, int]]:
    """Map a co-processor and the top around it; see :func:`carrysave.boards.implement.mapped`."""
    (folder / "top.v").write_text(verilog)
    return mapped(board, module, TOP, [folder / "top.v"], folder, progress)


def _sizes(design: Design, least: tuple[int, int], below: float) -> Iterator[tuple[int, int]]:
    """List rows and columns of smaller engines, the largest first, from a number of MACs down."""
    inside = design.spec.inside
    m, n = inside.m, inside.n
    while m > least[0] or n > least[1]:
        m, n = (m, n - 1) if n > max(m, least[1]) else (m - 1, n)
        if m and n and m * n <= below:
            yield m, n


def _sized(board: Board, parameters: Mapping[str, str], m: int, n: int) -> Design | None:
    """Return the design with other rows and columns; None: its parameters do not go with these."""
    try:
        small = design_of(board, {**parameters, "m": str(m), "n": str(n)})
        small.component()
    except ValueError:
        return None
    return small


def largest(
    board: Board,
    parameters: Mapping[str, str],
    taken: Mapping[str, float],
    progress: Callable[[str], None],
) -> str:
    """Say which rows and columns fit, of the same design: found by mapping it again."""
    design = design_of(board, parameters)
    inside = design.spec.inside
    if not {"m", "n"} <= vars(inside).keys():
        return "no smaller one was tried"
    if inside.m * inside.n == 1:
        return "there is no smaller one"
    assert board.part is not None
    limits, smallest = board.part.capacity, {}

    sized = partial(_sized, board, parameters)
    # Other parameters may need the columns as they are: so many requantisers, or lanes.
    least = next((size for size in ((1, 1), (1, inside.n)) if sized(*size)), None)
    if least is None:
        return "no smaller one was tried"

    def fits(m: int, n: int) -> bool:
        small = sized(m, n)
        if small is None:
            return False
        clock = Clock(board.oscillator_mhz, pair=small.spec.array_clock > 1)
        memory = None
        verilog = verilog_of(small)
        if small.spec.external:
            memory = controller(board, small.spec, 1e6 * clock.mhz)
            verilog += memory.verilog
        verilog += top(board, small.module, clock, memory, flash=bool(small.spec.flash))
        try:
            with tools.workplace() as work:
                smallest.update(map_whole(board, small.module, verilog, work, progress)[0])
        except TooLargeError as error:
            smallest.update(error.taken)
            return False
        return True

    said = "m={}, n={}".format(*least)
    if not fits(*least):
        return f"nor does {said} fit"
    macs, few = inside.m * inside.n, least[0] * least[1]
    # Resources grow by about as much with each MAC.
    shares = [
        (limit - smallest[name]) / (taken[name] - smallest[name])
        for name, limit in limits.items()
        if taken[name] > max(limit, smallest[name])
    ]
    for m, n in _sizes(design, least, few + min(shares) * (macs - few)):
        if fits(m, n):
            return f"m={m}, n={n} fits"
    return f"{said} fits"
