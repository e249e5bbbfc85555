"""Runs a program by the golden model: on bytes of memory, from the words that firmware reads."""

from dataclasses import fields
from typing import Any

import numpy as np

from carrysave.compiler.program.image import COUNTERS
from carrysave.compiler.program.words import JOB_WORDS, MOVE_WORDS, Kind, job_of
from carrysave.driver.job import Job
from golden.npe.requantiser import Requantisation
from golden.soc import job as memory_jobs
from golden.soc.coprocessor import coprocessor
from golden.soc.spec import CoprocessorSpec

__all__ = ["execute", "golden_job", "move"]


def execute(spec: CoprocessorSpec, memory: np.ndarray, start: int) -> None:
    """Run the steps at an address.

    Parameters
    ----------
    spec : the co-processor.
    memory : uint8; what steps make is written into it.
    start : where their words are.

    Raises
    ------
    ValueError
        A job that the hardware would refuse, or words of no step.
    """
    words = memory[start : start + (len(memory) - start) // 4 * 4].view("<i4")
    place = 4
    for _ in range(int(words[0])):
        kind, place = int(words[place]), place + 1
        if kind == Kind.MOVE:
            move(memory, *words[place : place + MOVE_WORDS].tolist())
            place += MOVE_WORDS
        elif kind == Kind.START:
            count, counters = words[place : place + 2].tolist()
            memory[counters : counters + COUNTERS].view("<u8")[:] = 1
            place += 2
            for _ in range(count):
                job = job_of(words[place : place + JOB_WORDS].tolist())
                error = coprocessor(spec, memory, golden_job(job))
                if error:
                    raise ValueError(f"job at word {place}: the co-processor says {error.name}")
                place += JOB_WORDS
        else:
            raise ValueError(f"a step must be of kind 1 or 2, not {kind}")


def move(memory: np.ndarray, to: int, at: int, patterns: int, taps: int, table: int) -> None:
    """Do a move; see :mod:`carrysave.compiler.program.words`."""
    words, moved = memory[at:].view(np.uint8), []
    for _ in range(patterns):
        repeat, step, count = words[:12].view("<i4").tolist()
        end = 12 + 4 * count * (1 + taps)
        records = words[12:end].view("<i4").reshape(count, 1 + taps).astype(np.int64)
        sizes, first = records[:, 0], records[:, 1:]
        each = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        sources = np.repeat(first, sizes, axis=0)
        moving = sources + each[:, None] + step * np.arange(repeat)[:, None, None]
        moved.append(np.where(sources < 0, sources, moving).reshape(-1, taps))
        words = words[end:]
    sources = np.concatenate(moved)
    moving = np.maximum(sources, 0)
    codes = np.where(sources < 0, sources.astype(np.int8), memory.view(np.int8)[moving])
    if not table:
        made = codes.max(axis=1).view(np.uint8)
    else:
        index = codes.view(np.uint8).astype(np.int64)
        index = index[:, 0] if taps == 1 else 256 * index[:, 0] + index[:, 1]
        made = memory[table : table + 256**taps][index]
    memory[to : to + len(made)] = made


def golden_job(job: Job) -> memory_jobs.Job:
    """Return a job of the driver as golden has it."""
    values: dict[str, Any] = {one.name: getattr(job, one.name) for one in fields(job)}
    how = job.requantisation
    if how is not None:
        scale = {
            name: np.atleast_1d(getattr(how, name))
            for name in ("multiplier", "shift", "zero_point")
        }
        values["requantisation"] = Requantisation(
            **scale, low=how.low, high=how.high, relu=how.relu
        )  # fmt: skip
    return memory_jobs.Job(**values)
