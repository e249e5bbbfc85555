"""Whether parts of a program's memory are each by itself, and as large as what is in them."""

from collections.abc import Iterator
from itertools import pairwise

from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from golden.soc.job_check import matrices

__all__ = ["check_memory"]

_Span = tuple[int, int, str]
"""The first address, that behind the last, and what is there."""


def check_memory(program: Program) -> None:
    """Check that what is filled before a run is its buffer's, and that nothing else takes it."""
    image = program.image
    filled = [(at, at + len(data), f"bytes at {at}") for at, data in image.parts.items()]
    buffers = [
        (one.address, one.address + one.rows * one.stride, name)
        for name, one in image.buffers.items()
        if not one.on_chip
    ]
    for first, end, name in buffers:
        if first in image.parts:
            assert end - first == len(image.parts[first]), name
    others = [one for one in buffers if one[0] not in image.parts]
    _apart(filled, image.end)
    for one in (*others, *_written(program)):
        _apart([part for part in filled if part[0] != one[0]] + [one], image.end)
    _apart([*_counted(program), *filled], image.end)
    # Images of language models name no buffers.
    for first, end, name in _written(program, jobs_alone=True) if buffers else ():
        assert any(at <= first and end <= behind for at, behind, _ in buffers), name


def _apart(spans: list[_Span], end: int) -> None:
    for (_, behind, one), (first, _, other) in pairwise(sorted(spans)):
        assert behind <= first, (one, other)
    assert max(behind for _, behind, _ in spans) <= end


def _written(program: Program, *, jobs_alone: bool = False) -> Iterator[_Span]:
    """Yield what jobs write in memory, and moves."""
    spec = program.target.spec
    for step in program.steps:
        if isinstance(step, Move) and not jobs_alone:
            yield step.to, step.to + step.bytes, step.node
        elif isinstance(step, Start):
            for job in step.jobs:
                c = matrices(spec, golden_job(job, spec))["c"]
                if c.address < CHIP:
                    yield c.address, c.end, step.node


def _counted(program: Program) -> Iterator[_Span]:
    """Yield the room of firmware's descriptors, and of counters."""
    rooms = {program.ring: DESCRIPTOR}
    for part in program.parts:
        if isinstance(part, Section):
            rooms |= {ring.counters: COUNTERS for ring in part.rings}
            rooms |= {one.counters: COUNTERS for one in part.steps if isinstance(one, Start)}
    yield from ((at, at + size, "counters") for at, size in rooms.items())
