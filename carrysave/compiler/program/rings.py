"""Starts whose jobs are ready in memory: descriptors, one behind the other, for one start of all.

A runner writes where they are and how many, and waits once. It expands no job, and checks none:
the compiler has done that, and the hardware does it again. Descriptors have addresses from the
program's memory on; a runner for which that begins elsewhere changes them, once.

A runner may also take each node's start by itself: then counters are of each.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.floats import SectionStep
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import RING_FIELDS, Kind
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job, moved, unmoved
from carrysave.driver.descriptor import descriptors
from carrysave.driver.job import Job
from carrysave.driver.ready import job_of, relocate
from carrysave.driver.registers import JOB_BYTES
from golden.soc.job_check import matrices

__all__ = ["Ring", "fits", "is_ready", "ring_of", "ring_words"]

_MOST = 256
"""Jobs of a start that are ready: 32 KiB of descriptors, which is as much as a small board's memory
has room for; more are written by the runner, a few at a time, from the words of their groups."""


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Jobs in memory, and what a runner must know of them.

    Members
    -------
    at : address of the descriptors.
    word : address of the word with the address that they are written for, of 64 bits: where the
        program's memory begins, to the hardware.
    counters : address of those of all jobs.
    low, high : what jobs read or write is from one address on, and before the other.
    written : first address and bytes of what they write in memory.
    starts : jobs of each start, and the address of its counters.
    """

    at: int
    word: int
    counters: int
    low: int
    high: int
    written: tuple[tuple[int, int], ...]
    starts: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return sum(count for count, _ in self.starts)

    def base(self, memory: np.ndarray) -> int:
        """Return the address that descriptors are written for."""
        return int.from_bytes(memory[self.word : self.word + 8].tobytes(), "little")

    def jobs(self, memory: np.ndarray, chip: int) -> list[Job]:
        """Return the jobs, as a program has them.

        Parameters
        ----------
        memory : of the program.
        chip : first address on chip, to the hardware.
        """
        base = self.base(memory)
        return [unmoved(job_of(row.tobytes()), base, chip) for row in self._rows(memory)]

    def move(self, memory: np.ndarray, base: int, chip: int) -> None:
        """Have descriptors right for memory that begins at an address."""
        if (by := base - self.base(memory)) == 0:
            return
        relocate(self._rows(memory), by, chip)
        memory[self.word : self.word + 8] = np.frombuffer(base.to_bytes(8, "little"), np.uint8)

    def _rows(self, memory: np.ndarray) -> np.ndarray:
        return memory[self.at : self.at + self.count * JOB_BYTES].reshape(-1, JOB_BYTES)


def is_ready(step: SectionStep, target: Target) -> bool:
    """Return whether a step is a start whose jobs can be in memory as the hardware reads them."""
    return (
        isinstance(step, Start)
        and not step.varies
        and fits(sum(group.count for group in step.groups), target)
    )


def fits(count: int, target: Target) -> bool:
    """Return whether so many jobs of a start can be."""
    return "ring" in target.info.features and count <= _MOST


def ring_words(
    starts: Sequence[Start], target: Target, at: int, counters: int
) -> tuple[bytes, list[int]]:
    """Write starts as descriptors, and the words that tell a runner of them.

    Parameters
    ----------
    at : address of the descriptors.
    counters : address of those of all jobs.
    """
    chip = target.info.memory_end
    image = b"".join(
        descriptors([moved(job, 0, chip) for job in start.jobs], target.info.sums.bits // 8)
        for start in starts
    )
    reads, writes = [(at, at + len(image))], list[tuple[int, int]]()
    for job in (job for start in starts for job in start.jobs):
        for name, one in matrices(target.spec, golden_job(job, target.spec)).items():
            if one.address < chip:
                end = one.address + (one.rows - 1) * one.distance + one.row_bytes
                if name == "b" and job.places is not None and job.ldsa:  # any of several
                    end += (job.ldsb - 1) * job.ldsa
                (writes if name == "c" else reads).append((one.address, end))
    spans = _merged(writes)
    low, high = min(first for first, _ in reads + writes), max(end for _, end in reads + writes)
    count = sum(len(one.jobs) for one in starts)
    words = [Kind.RING, at, 0, 0, counters, low, high, count, len(spans), len(starts)]
    words += [word for first, end in spans for word in (first, end - first)]
    words += [word for one in starts for word in (len(one.jobs), one.counters)]
    return image, words


def ring_of(words: np.ndarray, address: int) -> tuple[Ring, int]:
    """Read a ring from the words behind its kind; return it, and how many words it has.

    Parameters
    ----------
    words : and more behind them.
    address : of the first of them.

    Raises
    ------
    ValueError
        It has no start, or one without a job, or it ends beyond the memory.
    """
    head = words[: len(RING_FIELDS)].tolist()
    one = dict(zip(RING_FIELDS, head, strict=False))
    spans, starts = one.get("spans", -1), one.get("starts", -1)
    end = len(head) + 2 * (spans + starts)
    if spans < 0 or starts < 1 or end > len(words):
        raise ValueError("a ring must be of one start or more, all of it in memory")
    pairs = [(int(first), int(more)) for first, more in words[len(head) : end].reshape(-1, 2)]
    if any(count < 1 for count, _ in pairs[spans:]):
        raise ValueError("a start of a ring must have a job or more")
    if one["count"] != (count := sum(count for count, _ in pairs[spans:])):
        raise ValueError(f"a ring must have the {count} jobs of its starts, not {one['count']}")
    return Ring(
        at=one["at"],
        word=address + 4 * RING_FIELDS.index("base_lo"),
        counters=one["counters"],
        low=one["low"],
        high=one["high"],
        written=tuple(pairs[:spans]),
        starts=tuple(pairs[spans:]),
    ), end


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put ranges together that touch."""
    whole: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if whole and first <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(whole[-1][1], end)
        else:
            whole.append((first, end))
    return whole
