"""Jobs on a board that is attached to this machine, over its serial line."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from carrysave.boards.board import Board
from carrysave.driver import Coprocessor, CoprocessorError
from carrysave.driver.batch import run_jobs
from carrysave.driver.device_info import Counters
from carrysave.driver.job import Job
from carrysave.driver.uart import SerialPort, UartLink
from carrysave.errors import ArgumentError, needs
from hw.catalog import Design

__all__ = ["TIMEOUT", "block", "built", "opened"]

TIMEOUT = 0.2
"""Seconds without a byte, after which a command is repeated."""


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


def opened(port: SerialPort, design: Design) -> tuple[Coprocessor, UartLink]:
    """Open the driver of a design behind a serial line; return that, and its link.

    Raises
    ------
    LinkError
        It does not answer.
    CoprocessorError
        Another design answers.
    """
    link = UartLink(port)
    device = Coprocessor(link, link)
    if device.info.hash != int(design.digest, 16):
        raise CoprocessorError(
            f"the board has another design, {device.info.hash:016x} and not {design.digest}:"
            " load it with `carrysave build --load`"
        )
    return device, link


def block(
    board: Board, design: Design, port: str, baud: int
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
                device, _ = opened(line, design)
            except CoprocessorError as error:
                raise type(error)(f"{board.name} at {port}, {baud} baud: {error}") from None
            return run_jobs(device, jobs, progress=tell)

    return run
