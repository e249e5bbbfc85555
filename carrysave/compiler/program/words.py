"""Steps of a program as words of 32 bits, as firmware and the golden model read them.

A step begins with its kind. A start has its count of jobs, the address of its counters, and for
each job :data:`JOB_WORDS` words. A move has the address that it writes to, that of its patterns and
their count, the sources of a byte, and the address of a table, or 0. Addresses are from the
memory's start. A pattern has how often it comes, what is added to its addresses each time, and its
count of records. A record is a count of bytes, and for each source an address, which goes on with
each byte; or a number below 0, which is a code less 256, and stays.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

from carrysave.driver.job import Job, Requantisation

__all__ = ["JOB_WORDS", "MOVE_WORDS", "Kind", "job_of", "job_words"]


class Kind(IntEnum):
    """Kinds of steps."""

    MOVE = 1
    START = 2


class _Option(IntFlag):
    BIAS = 1
    REQUANTISE = 2
    PER_COLUMN = 4
    BY_COLUMNS = 8


_PLACES = ("a", "b", "c", "bias", "records", "m", "n", "k", "lda", "ldb", "ldc")
_BLOCKS = ("block_m", "block_n", "block_k")
_SCALE = ("multiplier", "shift", "zero_point", "low", "high")
JOB_WORDS = len(_PLACES) + 1 + len(_SCALE) + len(_BLOCKS)
MOVE_WORDS = 5


def job_words(job: Job) -> list[int]:
    """Write a product of codes of a byte."""
    how = job.requantisation
    assert how is not None
    options = _Option.REQUANTISE
    options |= _Option.BIAS if job.bias is not None else _Option(0)
    options |= _Option.PER_COLUMN if job.records is not None else _Option(0)
    options |= _Option.BY_COLUMNS if job.by_columns else _Option(0)
    scale = [0 if np.ndim(one := getattr(how, name)) else int(one or 0) for name in _SCALE]
    return [
        *(getattr(job, name) or 0 for name in _PLACES), int(options), *scale,
        *(getattr(job, name) for name in _BLOCKS),
    ]  # fmt: skip


def job_of(words: Sequence[int]) -> Job:
    """Read a job back; scales of columns stay in memory."""
    at = len(_PLACES)
    options = _Option(words[at])
    scale: dict[str, Any] = dict(zip(_SCALE, words[at + 1 :], strict=False))
    sizes: dict[str, Any] = dict(zip(_PLACES, words, strict=False))
    sizes |= dict(zip(_BLOCKS, words[at + 1 + len(_SCALE) :], strict=False))
    job = Job(
        **sizes, requantisation=Requantisation(**scale), by_columns=_Option.BY_COLUMNS in options
    )
    return replace(
        job, bias=job.bias if _Option.BIAS in options else None,
        records=job.records if _Option.PER_COLUMN in options else None,
    )  # fmt: skip
