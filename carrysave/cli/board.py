"""``carrysave board``."""

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from carrysave.boards.attached import TIMEOUT, built, opened
from carrysave.boards.board import board_of
from carrysave.boards.memory_test import BYTES, check_memory
from carrysave.cli.options import Json, errors, print_outcome
from carrysave.driver import CoprocessorError
from carrysave.errors import UsageError, needs
from carrysave.progress import Steps
from carrysave.report.designs import print_line

__all__ = ["board"]


def board(
    action: Annotated[Literal["test"], Parameter(help="What to do.")],
    /,
    *,
    board_: Annotated[str, Parameter(name="--board", help="A board, see `carrysave boards`.")],
    port: Annotated[str, Parameter(help="Serial port of the board.")],
    size: Annotated[int, Parameter(help="Bytes of random data, all over the memory.")] = BYTES,
    seed: Annotated[int, Parameter(help="Of the data.")] = 0,
    output: Annotated[
        Path, Parameter(name=("--output", "-o"), help="The folder that `build` wrote to.")
    ] = Path("build"),
    json_: Json = False,
) -> int:
    """Test the memory of a board that was loaded by `build --load`: wires, bytes, and its rate.

    Writes and reads each wire of data and of addresses, and random bytes all over the memory, whose
    content is lost; says which bytes and bits are wrong. If none is, a product in memory says how
    many bytes a second pass. Fails if a byte is wrong.

    **Examples:**

    - `carrysave board test --board ulx3s_85f --port /dev/ttyUSB0`
    - `carrysave board test --board ulx3s_85f --port /dev/ttyUSB0 --size 1000000 --json`
    """
    if size < 1:
        raise UsageError(f"--size must be 1 or more, not {size}")
    if seed < 0:
        raise UsageError(f"--seed must be 0 or more, not {seed}")
    chosen = board_of(board_)
    design, baud, clock_mhz = built(chosen, output / "boards")
    needs("serial")
    from serial import Serial

    with Steps(errors) as steps, Serial(port, baud, timeout=TIMEOUT) as line:
        steps.step(f"{action} memory of {chosen.name}")
        try:
            device, link = opened(line, design, output / "boards")
            flash = link.flash or None
            tested = check_memory(link, device, size, seed, steps.advance)
        except CoprocessorError as error:
            raise type(error)(f"{chosen.name} at {port}, {baud} baud: {error}") from None
    seconds = tested.cycles and clock_mhz and tested.cycles / (1e6 * clock_mhz)
    moved = (tested.read_bytes or 0) + (tested.written_bytes or 0)
    facts = {
        "board": chosen.name,
        "memory": design.spec.memory,
        "flash": flash,
        **vars(tested),
        "clock_mhz": clock_mhz,
        "bytes_per_second": moved / seconds if seconds else None,
        "ok": tested.ok,
    }
    print_outcome(facts, _show, json_)
    return 0 if tested.ok else 1


def _show(console: Console, facts: dict[str, Any]) -> None:
    wrong, tested = facts["wrong"], facts["tested"]
    print_line(
        console,
        f"{facts['board']}: {facts['memory_bytes']:,} bytes of memory ({facts['memory']}),"
        f" {tested:,} tested, {wrong:,} wrong",
    )
    if facts["flash"]:
        print_line(console, f"  from flash, before: {facts['flash']}")
    for one in facts["first"]:
        print_line(
            console,
            f"  {one['test']}: at {one['address']:#x} {one['wrote']:#04x} was written,"
            f" {one['read']:#04x} read",
        )
    for name, value in (("1", facts["high"]), ("0", facts["low"])):
        bits = [bit for bit in range(value.bit_length()) if value >> bit & 1]
        if bits:
            print_line(console, f"  read as {name}: bits {', '.join(map(str, bits))} of 8 bytes")
    if rate := facts["bytes_per_second"]:
        print_line(
            console,
            f"{rate / 1e6:,.1f} MB/s in a product at {facts['clock_mhz']:g} MHz:"
            f" {facts['read_bytes']:,} bytes read, {facts['written_bytes']:,} written",
        )
