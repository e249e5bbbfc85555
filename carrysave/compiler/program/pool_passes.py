"""Passes of a pool of the greatest code: each compares codes along one axis of a map."""

from dataclasses import dataclass, replace

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.row_jobs import COPY
from carrysave.driver import Maps

__all__ = ["MAX", "Pass", "take_samples"]

MAX = "map_max"
"""The operation of its jobs."""
_SAME = COPY.how
_MAPS = Maps(zeros=(0, 0), factors=(1, 1))
_NOTHING = Maps(zeros=(0, 0), factors=(0, 0))


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Pixels of rows of codes, or rows of a map, and what each takes of those that follow it.

    Members
    -------
    groups, count, columns : jobs, rows of each, and codes of a row.
    size, before : rows of the source, and of the padding in front of them.
    stride, gap : rows of the source from a result to the next, and from a tap to the next.
    source, result : first addresses.
    unit, made : bytes from a row of the source to the next one, and of the result.
    next_source, next_result : from a job to the next.
    taps : how many codes are compared.
    """

    groups: int
    count: int
    columns: int
    size: int
    before: int
    stride: int
    gap: int
    source: int
    result: int
    unit: int
    made: int
    next_source: int
    next_result: int
    taps: int

    @property
    def row(self) -> int:
        """Bytes of the source from a result to the next."""
        return self.stride * self.unit

    def outputs(self, tap: int) -> tuple[int, int]:
        """Return the first result that has a tap inside the map, and the one behind the last."""
        off = tap * self.gap - self.before
        return max(0, -(off // self.stride)), min(
            self.count, (self.size - 1 - off) // self.stride + 1
        )

    def at(self, tap: int, result: int) -> int:
        """Return the address of a tap of a result."""
        return self.source + (result * self.stride + tap * self.gap - self.before) * self.unit


def take_samples(image: Image, node: Node, one: Pass, batch: int, source: int, result: int) -> None:
    """Compare codes of all samples: together, if they go on evenly.

    Parameters
    ----------
    source, result : bytes from a sample to the next.
    """
    if one.groups == 1:
        _run(image, node, replace(one, groups=batch, next_source=source, next_result=result))
    elif (source, result) == (one.groups * one.next_source, one.groups * one.next_result):
        _run(image, node, replace(one, groups=batch * one.groups))
    else:
        for number in range(batch):
            first = one.source + number * source, one.result + number * result
            _run(image, node, replace(one, source=first[0], result=first[1]))


def _run(image: Image, node: Node, one: Pass) -> None:
    """Compare codes with what follows them, tap by tap; results begin as the least code, or as one.

    A tap beyond the edges is left out.
    """
    whole = [tap for tap in range(one.taps) if one.outputs(tap) == (0, one.count)]
    taken = whole[:2]
    if whole:
        _take(image, node, one, whole[0], taken[-1])
    else:
        c = _rows(node, one, one.result, one.made)
        fill = rows(
            image.target, "map_add", c, c, b=c, how=replace(_SAME, zero_point=-128), maps=_NOTHING
        )
        group = JobGroup(job=fill, count=one.groups, a=one.next_result, c=one.next_result)
        image.start(*node, group, macs=0)
    for tap in range(one.taps):
        if tap not in taken:
            _take(image, node, one, None, tap)


def _take(image: Image, node: Node, one: Pass, base: int | None, tap: int) -> None:
    """Let results be the greater of two taps, or of a tap and of what they are.

    Rows that go on evenly are one job's.
    """
    first, end = one.outputs(tap)
    if first >= end:
        return
    one = replace(one, count=end - first, result=one.result + first * one.made)
    evenly = (one.next_source, one.next_result) == (one.count * one.row, one.count * one.made)
    if evenly and one.groups * one.count < 1 << image.target.spec.dimension_width:
        one = replace(one, groups=1, count=one.groups * one.count)
    c = _rows(node, one, one.result, one.made)
    a = c if base is None else _rows(node, one, one.at(base, first), one.row)
    b = _rows(node, one, one.at(tap, first), one.row)
    job = rows(image.target, MAX, a, c, b=b, how=_SAME, maps=_MAPS)
    image.start(*node, JobGroup(
        job=job, count=one.groups, a=one.next_result if base is None else one.next_source,
        b=one.next_source, c=one.next_result,
    ), macs=0)  # fmt: skip


def _rows(node: Node, one: Pass, address: int, stride: int) -> Buffer:
    """Return the rows of a job."""
    return Buffer(
        name=node[0], address=address, rows=one.count, columns=one.columns, bits=8, stride=stride
    )
