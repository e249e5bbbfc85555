"""``carrysave build``."""

import json
from typing import Annotated

from cyclopts import Parameter

from carrysave.boards.board import board_of
from carrysave.boards.build import build as build_board
from carrysave.boards.load import load, loader_of
from carrysave.cli.options import Folder, Json, Sets, console, errors, output_folder, settings
from carrysave.errors import UsageError
from carrysave.progress import Steps
from carrysave.report.synthesis import print_board

__all__ = ["build"]


def build(
    *,
    board: Annotated[str, Parameter(help="A board, see `carrysave boards`.")],
    parameter: Sets = None,
    clock: Annotated[
        float | None,
        Parameter(help="Clock of the design, MHz. [default: what it reaches]"),
    ] = None,
    baud: Annotated[
        int | None, Parameter(help="Baud rate of the serial line. [default: the board's highest]")
    ] = None,
    load_: Annotated[
        bool, Parameter(name="--load", help="Load the bitstream into the board, by openFPGALoader.")
    ] = False,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Build the bitstream of a co-processor for a board, with open-source tools.

    The host talks to it over the board's serial bridge, with `carrysave.driver.uart` or the C
    driver; both are written into `drivers`, beside the bitstream. The default parameters fit the
    board; `-p` takes those of `generate coprocessor_uart`. A PLL makes the clock that the design
    reaches, or that of `--clock`; fails if the design does not meet that. For boards with an FPGA
    of Xilinx's it writes a project for Vivado.

    **Examples:**

    - `carrysave build --board ulx3s_85f --load`
    - `carrysave build --board ulx3s_85f -p m=4 -p n=4 --clock 50 --baud 1000000`
    """
    from carrysave.ip.drivers import write_for_line

    chosen = board_of(board)
    if baud is not None and baud < 1:
        raise UsageError(f"--baud must be 1 or more, not {baud}")
    if clock is not None and not 1 <= clock <= 1000:
        raise UsageError(f"--clock must be 1..1000 MHz, not {clock:g}")
    if load_:
        loader_of(chosen)
    folder = output_folder(output) / "boards" / board
    with Steps(errors) as steps:
        design, found = build_board(
            chosen, settings(parameter), folder, steps.step, clock_mhz=clock, baud=baud or 0
        )
        if not chosen.processor:
            write_for_line(design.spec, folder / "drivers")
            found["files"].append(str(folder / "drivers"))
        if load_ and found["ok"]:
            steps.step(f"{board}: loading")
            load(chosen, folder)
    if json_:
        print(json.dumps(found, indent=2))
    else:
        print_board(console, found)
    return 1 if found["ok"] is False else 0
