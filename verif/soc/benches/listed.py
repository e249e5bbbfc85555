"""Jobs with lists of places: lists that are right, such as are not, and jobs that make them."""

from dataclasses import replace

import numpy as np

from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.lists import PLACE_BYTES, list_bytes, top_bytes
from golden.soc.spec import CoprocessorSpec
from verif.soc.benches.jobs import any_job
from verif.soc.uvm.orders import moved

__all__ = ["SLOT", "WAYS", "choosing_job", "index_job", "listed_job", "put", "spoiled", "top_job"]

SLOT = 1 << 14
"""Bytes of memory that a job has."""


def _words(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw a list: none, all or some places; behind them are numbers of no place."""
    share = float(rng.choice([0, 0.1, 0.5, 0.9, 1]))
    places = np.flatnonzero(rng.random(size) < share)
    words = rng.integers(1 << 32, size=size + 1).astype(np.uint32)
    words[: len(places)], words[size] = places, len(places)
    return words


def listed_job(
    spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, slot: int, likely: float
) -> Job:
    """Draw any product of a build, in a part of memory, with a list behind all else."""
    while True:
        job = any_job(spec, rng, likely)
        end = max(matrix.end for matrix in matrices(spec, job).values()) + int(rng.integers(40))
        if job.k <= spec.lists and end + list_bytes(job.k) <= SLOT:
            break
    job = replace(moved(job, slot * SLOT), places=slot * SLOT + end)
    put(memory, job, _words(rng, job.k))
    return job


def put(memory: np.ndarray, job: Job, words: np.ndarray) -> None:
    """Write the list of a job."""
    assert job.places is not None
    memory[job.places : job.places + list_bytes(job.k)] = words.astype("<u4").view(np.uint8)


def index_job(
    spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, slot: int
) -> Job:
    """Draw a job that makes lists, of codes some of which are at the least magnitude, or near."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, spec.lists + 1))
    wide = int(rng.integers(spec.vector_in_bytes))
    lda = n * (wide + 1) + int(rng.integers(9))
    ldc = list_bytes(n) + int(rng.integers(9))
    a = slot * SLOT + int(rng.integers(64))
    c = a + m * lda + int(rng.integers(40))
    most = 1 << 8 * wide + 7
    least = int(rng.choice([0, 1, most - 1, most, most + 1, int(rng.integers(most))]))
    job = Job(
        a=a,
        b=0,
        c=c,
        m=m,
        n=n,
        k=0,
        lda=lda,
        ldb=0,
        ldc=ldc,
        a_format=wide,
        vector="index",
        least=min(least, 0xFFFF),
    )
    rows = rng.integers(-most, most, (m, n))
    near = np.clip(
        rng.choice([-1, 1], (m, n)) * (least + rng.integers(-1, 2, (m, n))), -most, most - 1
    )
    matrices(spec, job)["a"].store(memory, np.where(rng.random((m, n)) < 0.5, rows, near))
    return job


def top_job(spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, slot: int) -> Job:
    """Draw a job that finds the greatest codes, of rows of few values or of many, or that fall."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(1, min(spec.lists, 150) + 1))
    k = int(rng.choice([1, min(spec.top_k, n), int(rng.integers(1, min(spec.top_k, n) + 1))]))
    wide = int(rng.integers(spec.vector_in_bytes))
    lda = n * (wide + 1) + int(rng.integers(9))
    a = slot * SLOT + int(rng.integers(64))
    job = Job(
        a=a,
        b=0,
        c=a + m * lda + int(rng.integers(40)),
        m=m,
        n=n,
        k=k,
        lda=lda,
        ldb=0,
        ldc=top_bytes(k, wide + 1) + int(rng.integers(9)),
        a_format=wide,
        vector="top_k",
    )
    most = 1 << 8 * wide + 7
    few = rng.choice([-most, -1, 0, 1, most - 1], int(rng.integers(1, 4)))
    rows = rng.choice(few, (m, n)) if rng.random() < 0.5 else rng.integers(-most, most, (m, n))
    if rng.random() < 0.3:
        rows = np.sort(rows, axis=1)[:, :: int(rng.choice([-1, 1]))]
    matrices(spec, job)["a"].store(memory, rows)
    return job


def choosing_job(
    spec: CoprocessorSpec,
    rng: np.random.Generator,
    memory: np.ndarray,
    slot: int,
    *,
    likely: float,
    beyond: int | None = None,
) -> Job:
    """Draw any product of a build, whose B is one of several, behind all else but its number.

    Parameters
    ----------
    beyond : the number is beyond all of them, by so much and one; None: it is of one of them.
    """
    while True:
        job, count = any_job(spec, rng, likely), int(rng.integers(1, 6))
        of = matrices(spec, job)
        first = max(matrix.end for matrix in of.values()) + int(rng.integers(40))
        apart = int(rng.integers(1, of["b"].end - of["b"].address + 9))
        end = first + count * apart + of["b"].end - of["b"].address
        if not job.packed and end + PLACE_BYTES <= SLOT:
            break
    place = int(rng.integers(count)) if beyond is None else count + beyond
    at = slot * SLOT + end
    job = replace(moved(replace(job, b=first), slot * SLOT), places=at, ldsa=apart, ldsb=count)
    memory[at : at + PLACE_BYTES] = np.array([place], "<u4").view(np.uint8)
    return job


def spoiled(
    spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, slot: int, how: str
) -> Job:
    """Draw a job whose list is spoiled, by one of :data:`WAYS`."""
    while True:
        job = listed_job(spec, rng, memory, slot, 0.06)
        assert job.places is not None
        words = memory[job.places : job.places + list_bytes(job.k)].copy().view("<u4")
        count = int(words[job.k])
        if how == "count" or count > 1:
            break
    if how == "count":
        words[job.k] = job.k + 1 + int(rng.choice([0, 5, 1 << 31]))
    else:
        # Of those that go beyond K, only the last one rises.
        last = how in ("beyond", "huge")
        place = count - 1 if last else int(rng.integers(1, count))
        words[place] = {
            "beyond": job.k,
            "twice": words[place - 1],
            "falls": max(int(words[place - 1]) - 1, 0),
            "huge": words[place] | 1 << 31,
        }[how]
    put(memory, job, words)
    return job


WAYS = ("beyond", "count", "falls", "twice", "huge")
"""How lists are none: a place or the count is beyond K, or places do not rise."""
