"""Runs a program on a co-processor behind its driver: jobs there, moves by this processor."""

from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import Move
from carrysave.compiler.run.golden import move
from carrysave.compiler.run.network import Runner
from carrysave.driver import Coprocessor, Info, Matrix
from carrysave.driver.job import Job
from carrysave.driver.number import BYTE

__all__ = ["by_device", "place"]


def place(device: Coprocessor, program: Program) -> Matrix:
    """Copy a program's memory to the device: one row of bytes.

    Raises
    ------
    ValueError
        The device is not the one that it was compiled for.
    """
    ours, theirs = _facts(program.target.info), _facts(device.info)
    if wrong := [name for name, value in ours.items() if theirs[name] != value]:
        raise ValueError(
            "the program needs a device with "
            + ", ".join(f"{name} {ours[name]}, not {theirs[name]}" for name in wrong)
        )
    memory = device.empty((1, len(program.memory)), BYTE)
    with memory.freed_on_error():
        memory.write_bytes(program.memory[None])
    return memory


def by_device(device: Coprocessor, placed: Matrix) -> tuple[np.ndarray, Runner]:
    """Return the memory of a program on a device, and what runs sections there.

    Parameters
    ----------
    device : an opened driver.
    placed : of :func:`place`.
    """
    memory = placed.read_bytes()[0]

    def flush() -> None:
        placed.write_bytes(memory[None])

    def run(section: Section) -> None:
        for step in section.steps:
            if isinstance(step, Move):
                move(memory, step.to, step.at, step.patterns, step.taps, step.table)
                continue
            flush()
            device.run_jobs([_at(job, placed.address) for job in step.jobs])
            placed.read_bytes()

    return memory, run


def _at(job: Job, base: int) -> Job:
    """Return a job of a program that begins at an address."""
    return replace(
        job, a=job.a + base, b=job.b + base, c=job.c + base,
        bias=None if job.bias is None else job.bias + base,
        records=None if job.records is None else job.records + base,
    )  # fmt: skip


def _facts(info: Info) -> dict[str, Any]:
    """Return what a program depends on."""
    names = ("k_max", "dimension_width", "a", "b", "sums", "codes", "features", "rounding")
    found = {name: getattr(info, name) for name in names}
    found["features"] = ", ".join(sorted(info.features))
    return found | {
        name: getattr(info.stores, name)
        for name in ("tile_m", "tile_n", "tile_k", "data_width", "sums", "a_bytes", "b_bytes")
    }
