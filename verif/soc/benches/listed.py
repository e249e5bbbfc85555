"""Jobs with lists of places: lists that are right, such as are not, and jobs that make them."""

from dataclasses import replace

import numpy as np

from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.lists import list_bytes
from golden.soc.spec import CoprocessorSpec
from verif.soc.benches.jobs import any_job
from verif.soc.uvm.orders import moved

__all__ = ["SLOT", "WAYS", "index_job", "listed_job", "put", "spoiled"]

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
