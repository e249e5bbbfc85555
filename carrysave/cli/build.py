"""``carrysave build``."""

import json
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Folder, Json, Sets, console, errors, output_folder, settings
from carrysave.errors import UsageError
from carrysave.fpga import boards
from carrysave.progress import Steps
from carrysave.report.synthesis import print_board

__all__ = ["build"]


def build(
    *,
    board: Annotated[str, Parameter(help=f"One of {', '.join(boards.BOARDS)}.")],
    parameter: Sets = None,
    baud: Annotated[int, Parameter(help="Baud rate of the serial line.")] = boards.BAUD,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Build the bitstream of a co-processor for a board, with open-source tools.

    The host talks to it over the board's serial bridge, with `carrysave.driver.uart` or the C
    driver; both are written into `drivers`, beside the bitstream. The default parameters fit the
    board; `-p` takes those of `generate coprocessor_uart`. Fails if the design does not meet the
    board's clock.

    **Examples:**

    - `carrysave build --board ulx3s_85f`
    - `carrysave build --board ulx3s_85f -p m=4 -p n=4 --baud 1000000`
    """
    from carrysave.ip.drivers import write_for_line

    if baud < 1:
        raise UsageError(f"--baud must be 1 or more, not {baud}")
    folder = output_folder(output)
    chosen = boards.design_of(board, baud, settings(parameter))
    with Steps(errors) as steps:
        found = boards.build(board, chosen, folder / "boards" / board, steps.step)
    drivers = folder / "boards" / board / "drivers"
    write_for_line(chosen.spec, drivers)
    found["files"].append(str(drivers))
    if json_:
        print(json.dumps(found, indent=2))
    else:
        print_board(console, found)
    return 0 if found["ok"] else 1
