"""Jobs on a board that is attached to this machine, over its serial line."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from carrysave.boards.board import BOARDS, Board
from carrysave.driver import Coprocessor, CoprocessorError
from carrysave.driver.batch import run_jobs
from carrysave.driver.device_info import Counters
from carrysave.driver.job import Job
from carrysave.driver.registers import FIELDS
from carrysave.driver.uart import SerialPort, UartLink
from carrysave.errors import ArgumentError, UsageError, needs
from hw.catalog import CATALOG, Design
from hw.soc.coprocessor import discovery

__all__ = ["TIMEOUT", "block", "built", "opened"]

TIMEOUT = 0.2
"""Seconds without a byte, after which a command is repeated."""
PATIENCE = 2.0
"""Seconds in which memory starts; milliseconds, if nothing is wrong."""
_NAMED = (
    *("tile_m", "tile_n", "tile_k", "a_bits", "b_bits", "sum_bytes", "data_width", "address_width"),
    *("sums", "a_bytes", "b_bytes", "k_max", "outstanding", "dimension_width"),
)
"""Registers that tell designs apart, and say how."""


def built(board: Board, folder: Path) -> tuple[Design, int, float | None]:
    """Return the design that `carrysave build` made for a board, its baud rate, and its clock.

    The clock is in MHz; None if the report has none.

    Parameters
    ----------
    folder : of the builds, with one for each board.

    Raises
    ------
    UsageError
        There is no report of a build; or the host of the board is a processor on it.
    ValueError
        The report is damaged.
    """
    if board.processor:
        raise ArgumentError(
            "{port} is for boards with a serial line; {name} has a processor", name=board.name
        )
    report = folder / board.name / f"{board.name}.json"
    if not report.exists():
        raise ArgumentError(
            "{port} needs the report of `carrysave build --board {name}`, which says "
            "what is on the board: {report}",
            name=board.name,
            report=report,
        )
    try:
        facts = json.loads(report.read_text())
        clock = facts.get("clock_mhz")
        return (
            Design("coprocessor_uart", facts["parameters"]),
            int(facts["baud"]),
            None if clock is None else float(clock),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{report}: not a report of `carrysave build`: {error}") from None


def opened(
    port: SerialPort, design: Design, builds: Path | None = None, patience: float = PATIENCE
) -> tuple[Coprocessor, UartLink]:
    """Open the driver of a design behind a serial line; return that, and its link.

    Parameters
    ----------
    builds : folder of the builds, with one for each board, among which another design that answers
        is looked for, to call it by the name of its board.
    patience : seconds in which memory may start.

    Raises
    ------
    LinkError
        It does not answer.
    CoprocessorError
        Another design answers, of which it says what is other; or its memory was not levelled, or
        has not started.
    """
    link = UartLink(port)
    device = Coprocessor(link, link)
    if device.info.hash != int(design.digest, 16):
        of = _board_with(device.info.hash, builds) if builds else ""
        apart = ", ".join(_differences(device, link, design)) or "in other parameters"
        raise CoprocessorError(
            f"the board has another design{of}, {device.info.hash:016x} and not {design.digest}"
            f" ({apart}): load it with `carrysave build --load`"
        )
    end = time.monotonic() + patience
    while not link.started:
        if time.monotonic() > end:
            raise CoprocessorError(
                "memory has not started: "
                + (link.flash or "its controller, or a clock of it, does not come up")
            )
    if failed := link.failed_bytes():
        raise CoprocessorError(
            "the board's memory was not levelled: no read delay is right at bytes"
            f" {', '.join(map(str, failed))} of its bus; every access to it is an error"
        )
    return device, link


def _board_with(digest: int, builds: Path) -> str:
    """Name the board that a design was built for; empty if no report is of that design."""
    for report in sorted(builds.glob("*/*.json")):
        if report.stem not in BOARDS or report.stem != report.parent.name:
            continue
        try:
            design, _, _ = built(BOARDS[report.stem], builds)
        except (ValueError, UsageError):
            continue
        if int(design.digest, 16) == digest:
            return f", that of {report.stem}"
    return ""


def _differences(device: Coprocessor, link: UartLink, design: Design) -> Iterator[str]:
    """Name registers and memory in which a device is another one than a design."""
    assert design.engine is not None
    values = discovery(design.spec, design.engine.entry.number, 0)
    numbers = {entry.number: name for name, entry in CATALOG.items()}
    pairs = [(name, link.read(FIELDS[name][0]), values[name]) for name in _NAMED]
    pairs.append(("memory_bytes", link.size, design.spec.memory_bytes))
    engine = device.info.engine, design.engine.entry.number
    if engine[0] != engine[1]:
        yield "engine {}, not {}".format(*(numbers.get(one, one) for one in engine))
    for name, theirs, ours in pairs:
        if theirs != ours:
            yield f"{name} {theirs}, not {ours}"


def block(
    board: Board, design: Design, port: str, baud: int, builds: Path | None = None
) -> Callable[
    [Sequence[tuple[Job, Mapping[str, np.ndarray]]], Callable[[int], None]],
    list[tuple[np.ndarray, Counters]],
]:
    """Return what runs jobs on the board: a :data:`carrysave.compiler.run.alone.Block`."""
    needs("serial")

    def run(
        jobs: Sequence[tuple[Job, Mapping[str, np.ndarray]]], tell: Callable[[int], None]
    ) -> list[tuple[np.ndarray, Counters]]:
        from serial import Serial

        with Serial(port, baud, timeout=TIMEOUT) as line:
            try:
                device, _ = opened(line, design, builds)
            except CoprocessorError as error:
                raise type(error)(f"{board.name} at {port}, {baud} baud: {error}") from None
            return run_jobs(device, jobs, progress=tell)

    return run
