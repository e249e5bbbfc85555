"""Maps a board's design, and seeks the largest that fits where one does not."""

from collections.abc import Callable, Iterator, Mapping
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


def _sizes(design: Design, below: float) -> Iterator[tuple[int, int]]:
    """List rows and columns of smaller engines, the largest first, from a number of MACs down."""
    inside = design.spec.inside
    m, n = inside.m, inside.n
    while m > 1 or n > 1:
        m, n = (m, n - 1) if n > m else (m - 1, n)
        if m and n and m * n <= below:
            yield m, n


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

    def fits(m: int, n: int) -> bool:
        small = design_of(board, {**parameters, "m": str(m), "n": str(n)})
        clock, memory = Clock(board.oscillator_mhz), None
        verilog = verilog_of(small)
        if small.spec.external:
            memory = controller(board, small.spec, 1e6 * clock.mhz)
            verilog += memory.verilog
        verilog += top(board, small.module, clock, memory)
        try:
            with tools.workplace() as work:
                smallest.update(map_whole(board, small.module, verilog, work, progress)[0])
        except TooLargeError as error:
            smallest.update(error.taken)
            return False
        return True

    if not fits(1, 1):
        return "nor does m=1, n=1 fit"
    macs = inside.m * inside.n
    # Resources grow by about as much with each MAC.
    shares = [
        (limit - smallest[name]) / (taken[name] - smallest[name])
        for name, limit in limits.items()
        if taken[name] > max(limit, smallest[name])
    ]
    for m, n in _sizes(design, 1 + min(shares) * (macs - 1)):
        if fits(m, n):
            return f"m={m}, n={n} fits"
    return "m=1, n=1 fits"
