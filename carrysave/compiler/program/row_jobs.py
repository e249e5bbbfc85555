"""Vector jobs on boxes of codes: axes become rows, columns, and groups of jobs.

A box has sizes, and bytes from a code to the next along each axis, of each of its matrices. Axes
that go on from each other in all of them are one; the last one is the columns of a job, where codes
follow each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node
from carrysave.compiler.target.target import Target
from carrysave.driver import Maps, Requantisation

__all__ = [
    "COPY",
    "Axis",
    "RowJob",
    "are_few",
    "box_groups",
    "jobs_of",
    "row_groups",
    "start_rows",
]

_FEW, _WORTH = 16, 16
"""Jobs that any codes may take; codes that a job must have where there are more."""
_ONE = (1, 1, 1)


@dataclass(frozen=True)
class Axis:
    """An axis of a box.

    Members
    -------
    size : codes along it.
    steps : bytes from a code to the next, of A, B and C; 0: it is the same one.
    """

    size: int
    steps: tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class RowJob:
    """What each job of a box does.

    Members
    -------
    operation : of maps.
    how, maps : of its codes.
    table : address of that in which they are looked up; None: in none.
    alone : what B is does not matter: it is the first row of A.
    """

    operation: str
    how: Requantisation
    maps: Maps
    table: int | None = None
    alone: bool = False


COPY = RowJob(
    operation="map_add",
    how=Requantisation(multiplier=1 << 30, shift=30, zero_point=0, low=-128, high=127),
    maps=Maps(factors=(1, 0)),
    alone=True,
)
"""Codes as they are."""


def row_groups(
    axes: Sequence[Axis], most: int
) -> list[tuple[tuple[int, int, int], list[Axis]]] | None:
    """Return groups of jobs: the offsets of their first codes, and axes: count, rows, columns.

    Parameters
    ----------
    axes : the outermost first.
    most : columns of a job.

    Returns
    -------
    None: there would be many jobs of few codes each.
    """
    made = list(_groups(_joined(axes), most))
    codes = prod(axis.size for axis in axes)
    return made if are_few(jobs_of(made), codes) else None


def jobs_of(groups: Sequence[tuple[tuple[int, int, int], list[Axis]]]) -> int:
    """Count the jobs of groups."""
    return sum(count.size for _, (count, _, _) in groups)


def are_few(jobs: int, codes: int) -> bool:
    """Return whether jobs are worth it, for so many codes of theirs."""
    return jobs <= max(_FEW, codes // _WORTH)


def start_rows(
    image: Image, node: Node, job: RowJob, firsts: tuple[int, int, int], axes: Sequence[Axis]
) -> None:
    """Have jobs make all codes of a box, of which :func:`row_groups` must have groups.

    Parameters
    ----------
    firsts : addresses of the first codes of A, B and C.
    axes : the outermost first.
    """
    groups = box_groups(image.target, node[0], job, firsts, axes)
    assert groups is not None
    for group in groups:
        image.start(*node, group, macs=0)


def box_groups(
    target: Target, name: str, job: RowJob, firsts: tuple[int, int, int], axes: Sequence[Axis]
) -> list[JobGroup] | None:
    """Return the jobs that make all codes of a box; None: they would be many of few codes.

    Parameters
    ----------
    name : of the node, for messages.
    firsts : addresses of the first codes of A, B and C.
    axes : the outermost first.
    """
    unit, made = target.spec.vector, list[JobGroup]()
    assert unit is not None
    groups = row_groups(axes, unit.most(job.operation))
    if groups is None:
        return None
    for offsets, (count, down, across) in groups:
        addresses = [first + offset for first, offset in zip(firsts, offsets, strict=True)]
        a, b, c = (
            Buffer(
                name=name, address=address, rows=down.size, columns=across.size, bits=8,
                stride=step if down.size > 1 else across.size,
            )
            for address, step in zip(addresses, down.steps, strict=True)
        )  # fmt: skip
        once = job.alone or not down.steps[1] or down.size == 1
        one = rows(
            target, job.operation, a, c, b=replace(b, rows=1) if once else b, how=job.how,
            maps=job.maps, once=once,
        )  # fmt: skip
        if job.table is not None:
            one = replace(one, records=job.table, table=True)
        a_step, b_step, c_step = count.steps
        made.append(JobGroup(job=one, count=count.size, a=a_step, b=b_step, c=c_step))
    return made


def _joined(axes: Sequence[Axis]) -> list[Axis]:
    """Return axes without those of one code, and those as one that go on from each other."""
    made: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        on = tuple(axis.size * step for step in axis.steps)
        if made and made[-1].steps == on:
            made[-1] = Axis(made[-1].size * axis.size, axis.steps)
        else:
            made.append(axis)
    return made


def _groups(axes: list[Axis], most: int) -> Iterator[tuple[tuple[int, int, int], list[Axis]]]:
    """Yield groups of joined axes; see :func:`row_groups`."""
    if not axes or axes[-1].steps != _ONE:
        axes = [*axes, Axis(1, _ONE)]
    *outer, across = axes
    if across.size > most:
        size = max(each for each in range(1, most + 1) if across.size % each == 0)
        if 2 * size < most:
            # A part of whole rows, and what is left.
            whole = across.size // most * most
            yield from _groups([*outer, Axis(whole, _ONE)], most)
            for offsets, rest in _groups([*outer, Axis(across.size - whole, _ONE)], most):
                first, second, third = (offset + whole for offset in offsets)
                yield (first, second, third), rest
            return
        outer, across = [*outer, Axis(across.size // size, (size,) * 3)], Axis(size, _ONE)
    # Rows along the longest axis, and jobs along the next one.
    outer = sorted(outer, key=lambda axis: (_apart(axis, across.size), axis.size))
    one = Axis(1, (0, 0, 0))
    down = outer.pop() if outer and _apart(outer[-1], across.size) else one
    outer.sort(key=lambda axis: axis.size)
    count = outer.pop() if outer else one
    for places in product(*(range(axis.size) for axis in outer)):
        first, second, third = (
            sum(axis.steps[side] * at for axis, at in zip(outer, places, strict=True))
            for side in range(3)
        )
        yield (first, second, third), [count, down, across]


def _apart(axis: Axis, columns: int) -> bool:
    """Return whether rows along an axis are apart; those of B may be one row."""
    a, b, c = axis.steps
    return min(a, c) >= columns and (b == 0 or b >= columns)
