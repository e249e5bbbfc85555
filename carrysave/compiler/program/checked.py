"""Checks steps that were read: no refused job, nothing beyond memory, no loop without end."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.program import Section
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver.job import Job
from golden.soc.job_check import error_of, matrices
from golden.soc.spec import CoprocessorSpec

__all__ = ["check_section"]

_LOOP_WORDS = 4
_DEEPEST = 16
"""Loops in loops: a runner calls itself for each."""


def check_section(section: Section, memory: np.ndarray, spec: CoprocessorSpec) -> None:
    """Refuse jobs and moves of a section that no compiler makes, as its parameters now are.

    Parameters
    ----------
    memory : of the program, uint8.

    Raises
    ------
    ValueError
        The co-processor refuses a job; a job or a move is not within memory, or on chip; a loop of
        a move is not whole, or does nothing.
    """
    size = len(memory)
    for step in section.steps:
        if isinstance(step, Move):
            _check_move(step, memory)
        for group in step.groups if isinstance(step, Start) else ():
            if group.count > size:
                raise ValueError(f"a group must have at most {size:,} jobs, not {group.count}")
            for job in (group.job, group.at(group.count - 1)):
                _check_job(job, size, spec)


def _check_job(job: Job, size: int, spec: CoprocessorSpec) -> None:
    one, chip = golden_job(job, spec), spec.scratch_base
    if error := error_of(spec, one):
        raise ValueError(f"the co-processor refuses a job of {job.m} x {job.n}: {error.name}")
    for name, matrix in matrices(spec, one).items():
        end = chip + spec.scratch if matrix.address >= chip else size
        if not 0 <= matrix.address < matrix.end <= end:
            raise ValueError(f"{name} of a job must be within the {size:,} bytes of memory")


def _check_move(move: Move, memory: np.ndarray) -> None:
    size, table = len(memory), 256**move.taps if move.table and 0 < move.taps < 3 else 0
    if move.taps < 1 or bool(move.table) != bool(table):
        raise ValueError(f"a move must be of a source or more, of a table 1 or 2, not {move.taps}")
    end = move.at + 4 * move.words
    if move.at % 4 or not 0 <= move.at < end <= size or not 0 <= move.table <= size - table:
        raise ValueError(f"records of a move must be within the {size:,} bytes of memory")
    made = _Records(move.taps, size).bytes_of(memory[move.at : end].view("<i4").tolist())
    if not 0 <= move.to <= size - made:
        raise ValueError(f"a move must be to within the {size:,} bytes of memory, not {move.to}")


@dataclass(frozen=True)
class _Records:
    """Records of a move, so many sources each, from a memory of a size."""

    taps: int
    size: int

    def bytes_of(
        self,
        words: Sequence[int],
        first: tuple[int, int] = (0, 0),
        others: tuple[int, int] = (0, 0),
        depth: int = 0,
    ) -> int:
        """Check records; return how many bytes they make.

        Parameters
        ----------
        first, others : how far loops around them move their sources, at least and at most.
        """
        at = made = 0
        while at < len(words):
            if words[at] > 0:
                end = at + 1 + self.taps
                self._check_sources(words[at], words[at + 1 : end], first, others)
                made += words[at]
            else:
                times, end = -words[at], at + _LOOP_WORDS + max(sum(words[at + 1 : at + 2]), 0)
                body = words[at + _LOOP_WORDS : end]
                if not times or not body or len(words) < end or depth == _DEEPEST:
                    raise ValueError(f"a loop of a move must be whole, not of {len(body)} words")
                ways = [
                    (low + min(step * (times - 1), 0), high + max(step * (times - 1), 0))
                    for step, (low, high) in zip(
                        words[at + 2 : at + 4], (first, others), strict=True
                    )
                ]
                made += times * self.bytes_of(body, ways[0], ways[1], depth + 1)
            at = end
        if made > self.size:
            raise ValueError(f"a move must make at most {self.size:,} bytes, not {made:,}")
        return made

    def _check_sources(
        self, count: int, sources: Sequence[int], first: tuple[int, int], others: tuple[int, int]
    ) -> None:
        if len(sources) < self.taps:
            raise ValueError(f"a record of a move must have {self.taps} sources")
        for number, source in enumerate(sources):
            low, high = others if number else first
            if source >= 0 and not 0 <= source + low <= source + high <= self.size - count:
                raise ValueError(f"a move must be from within the {self.size:,} bytes of memory")
