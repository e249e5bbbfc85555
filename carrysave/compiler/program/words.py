"""Steps of a program as words of 32 bits, as firmware and the Python runners read them.

A section begins with :data:`HEAD_WORDS` words: the count of its steps, room for descriptors, the
codes of the last product and their count, the address of the table of parameters, or 0, and whether
starts of rings are to run each by itself, 0 or 1.

A step begins with its kind. A start has its count of groups, the address of its counters, and for
each group :data:`JOB_WORDS` words, in the order of :data:`JOB_FIELDS`: those of its first job, its
count of jobs, what is added to each address from a job to the next, and the words of windows or of
maps as the descriptor of a job has them; of a product with octaves, the bytes from A to these, and
from a row of them to the next; of one whose groups are scaled, the address of powers, the bytes
from a row of them to the next, and both of scales. A move has :data:`MOVE_FIELDS`: the address that
it writes to, that of its records and loops and the count of their words, the sources of a byte, and
the address of a table, or 0. Addresses are from the memory's start; those of a job are on chip from
:data:`.golden_job.CHIP` on. A record is a count of bytes, and for each source an address, that goes
on with each byte; or a number below 0, which is a code less 256, and stays. A loop is a number
below 0, how often less 0; the words of its body, records and loops; what is added to the addresses
of the first source each time; and to those of all others; and its body.

A ring is several starts, whose jobs are descriptors in memory, as the hardware reads them. It has
:data:`RING_FIELDS`: their address; that for which they are written, 64 bits, of the memory's start
as the hardware sees it; the address of the counters of all; where what they read and write begins
and ends; how many they are; how many ranges of memory they write, and how many starts there are.
Then comes for each range its address and bytes, and for each start its count of jobs, and the
address of its counters. Of all together a driver may count cycles alone.

The table of parameters has their count, and for each the value that is wanted, the value that words
have, the least and greatest legal one, and a count of places: pairs of the address of a word, and
the factor by which the parameter is in it.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

from carrysave.compiler.program.groups import ADDRESSES, JobGroup
from carrysave.driver.descriptor import window_of, window_words
from carrysave.driver.job import Job, Requantisation
from carrysave.driver.maps import map_of_word, map_word
from carrysave.driver.operations import HIGH, INDEX, MAPS, OTHERS
from carrysave.driver.registers import OPERATIONS

__all__ = [
    "HEAD_WORDS", "JOBS", "JOB_FIELDS", "JOB_WORDS", "MOVE_FIELDS", "PARAMETER_WORDS",
    "APART_WORD", "RING_FIELDS", "TABLE_WORD", "Kind", "group_of", "group_words",
]  # fmt: skip

HEAD_WORDS = 6
TABLE_WORD, APART_WORD = 4, 5
"""Places of the address of parameters, and of whether starts run each by itself."""
JOBS = 8
"""On one start, as the firmware has room for."""
PARAMETER_WORDS = 5
"""Of a parameter, before its places."""


class Kind(IntEnum):
    """Kinds of steps."""

    MOVE = 1
    START = 2
    FLOATS = 3
    RING = 4


class _Option(IntFlag):
    BIAS = 1
    REQUANTISE = 2
    PER_COLUMN = 4
    BY_COLUMNS = 8
    ACCUMULATE = 16
    RELU = 32
    WINDOW = 64
    TABLE = 128
    PACKED = 256
    LISTED = 512
    GROUPED = 1024


_PLACES = ("a", "b", "c", "bias", "records", "m", "n", "k", "lda", "ldb", "ldc")
_SCALE = ("multiplier", "shift", "zero_point", "low", "high")
_MORE = ("block_m", "block_n", "block_k", "a_format", "c_bytes")
_STEPS = tuple(f"next_{name}" for name in ADDRESSES)
_MORE_WORDS = tuple(f"more_{number}" for number in range(5))
JOB_FIELDS = (*_PLACES, "options", *_SCALE, *_MORE, "vector", "count", *_STEPS, *_MORE_WORDS)
JOB_WORDS = len(JOB_FIELDS)
MOVE_FIELDS = ("to", "at", "words", "taps", "table")
RING_FIELDS = ("at", "base_lo", "base_hi", "counters", "low", "high", "count", "spans", "starts")
_LACKING = ("encode", "b_format", "a_scales", "b_scales", "ldsa", "ldsb")
_OF_A = ("a_scales", "ldsa")
"""Of a product whose B has no scales, these are of octaves in the rows of A."""
_OF_GROUPS = ("a_scales", "ldsa", "b_scales", "ldsb")
_HIGH = {low: name for name, low in HIGH.items()}
_NAMES = {number: name for name, number in OPERATIONS.items()}


def group_words(group: JobGroup) -> list[int]:
    """Write a group of jobs.

    Raises
    ------
    ValueError
        It has what words have no place for: several formats, block scales, or factors of rows.
    """
    job = group.job
    sides = _OF_GROUPS if _has_groups(job) else _OF_A if _has_octaves(job) else ()
    sides = ("ldsa", "ldsb") if job.places is not None else sides
    lacking = [name for name in _LACKING if getattr(job, name) and name not in sides]
    lacking += ["row_factors"] * (job.row_factors is not None)
    if lacking:
        raise ValueError(f"a job of a program must be without {', '.join(lacking)}")
    requantisation = job.requantisation
    options = _Option(0)
    for option, given in (
        (_Option.BIAS, job.bias is not None),
        (_Option.REQUANTISE, requantisation is not None),
        (_Option.PER_COLUMN, job.records is not None and job.vector not in MAPS),
        (_Option.BY_COLUMNS, job.by_columns),
        (_Option.ACCUMULATE, job.accumulate),
        (_Option.RELU, requantisation is not None and requantisation.relu),
        (_Option.WINDOW, job.window is not None),
        (_Option.TABLE, job.table),
        (_Option.PACKED, job.packed),
        (_Option.LISTED, job.places is not None or job.vector in HIGH),
        (_Option.GROUPED, _has_groups(job)),
    ):
        options |= option if given else _Option(0)
    scale = [
        0 if np.ndim(one := getattr(requantisation, name, 0)) else int(one or 0) for name in _SCALE
    ]
    return [
        *(getattr(job, name) or 0 for name in _PLACES),
        int(options),
        *scale,
        *(getattr(job, name) for name in _MORE),
        OPERATIONS[OTHERS.get(job.vector, job.vector)] if job.vector else 0,
        group.count,
        *(getattr(group, name) for name in ADDRESSES),
        *_more_words(job),
    ]


def group_of(words: Sequence[int]) -> JobGroup:
    """Read a group of jobs back; scales of columns stay in memory.

    Raises
    ------
    ValueError
        It has no job.
    """
    fields: dict[str, Any] = dict(zip(JOB_FIELDS, words, strict=True))
    for name in _PLACES:
        fields[name] &= 0xFFFFFFFF
    count = fields.pop("count")
    steps = {name: fields.pop(f"next_{name}") for name in ADDRESSES}
    if count < 1:
        raise ValueError(f"a group must have a job or more, not {count}")
    options, vector = _Option(fields.pop("options")), fields.pop("vector")
    more = [fields.pop(name) & 0xFFFFFFFF for name in _MORE_WORDS]
    requantisation = Requantisation(
        **{name: fields.pop(name) for name in _SCALE}, relu=_Option.RELU in options
    )
    job = Job(
        **fields,
        by_columns=_Option.BY_COLUMNS in options,
        accumulate=_Option.ACCUMULATE in options,
        vector=_NAMES[vector] if vector else None,
        window=window_of(more) if _Option.WINDOW in options else None,
    )
    job = replace(
        job,
        bias=job.bias if _Option.BIAS in options else None,
        records=job.records if options & (_Option.PER_COLUMN | _Option.TABLE) else None,
        table=_Option.TABLE in options,
        packed=_Option.PACKED in options,
        requantisation=requantisation if _Option.REQUANTISE in options else None,
    )
    if _Option.LISTED in options:
        named = None if job.vector is None else _HIGH[job.vector]
        places, least = (more[0], 0) if named is None else (None, more[1] * (named == INDEX))
        apart, size = more[2:4] if named is None else (0, 0)
        job = replace(job, places=places, least=least, vector=named, ldsa=apart, ldsb=size)
        return JobGroup(job=job, count=count, **steps)
    if job.vector in MAPS:
        (first, zero), (second, other) = map(map_of_word, more[:2])
        job = replace(job, zeros=(zero, other), factors=(first, second))
    if _Option.GROUPED in options:
        job = replace(job, **dict(zip(_OF_GROUPS, more, strict=False)))
    elif job.vector is None and job.window is None and more[1]:
        job = replace(job, a_scales=job.a + more[0] & 0xFFFFFFFF, ldsa=more[1])
    return JobGroup(job=job, count=count, **steps)


def _has_octaves(job: Job) -> bool:
    """Return whether blocks of A have octaves, which are not scales of a product of floats."""
    return job.vector is None and job.window is None and job.ldsa > 0 and not job.ldsb


def _has_groups(job: Job) -> bool:
    """Return whether groups of K are scaled: blocks along K, of A and B in one format."""
    sides = job.ldsa > 0 and job.ldsb > 0 and job.block_k > 0 and job.places is None
    return job.vector is None and job.window is None and sides and not job.a_format


def _more_words(job: Job) -> list[int]:
    """Write what windows are, how maps meet, where octaves, or powers and scales, are, or a list.

    Of a list its address, and the least magnitude; of a B that is chosen, how far it is to the
    next, and how many there are.
    """
    words = [job.places or 0, job.least] if job.window is None else window_words(job.window)
    if job.places is not None:
        words += [job.ldsa, job.ldsb]
    if job.vector in MAPS:
        words = [map_word(*pair) for pair in zip(job.factors, job.zeros, strict=True)]
    if _has_groups(job):
        words = [getattr(job, name) for name in _OF_GROUPS]
    elif _has_octaves(job):
        words = [job.a_scales - job.a, job.ldsa]
    return [*words, *[0] * (len(_MORE_WORDS) - len(words))]
