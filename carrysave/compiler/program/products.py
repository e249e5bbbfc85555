"""Products of a network in its program's memory: operands, jobs, and where results are.

Works of a product that are of one size are groups of one job: their operands lie side by side, or
one behind the other, and so do their results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.cost import planned
from carrysave.compiler.program.cut import Sources
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product
from carrysave.compiler.program.operands import Node, operand, rows, stride_of
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.job import Job

__all__ = ["placed", "started", "sums"]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """A work, sources of its operands, and where these are as they have to be; or None."""

    work: Work
    a: np.ndarray | None
    b: np.ndarray | None

    def size(self, image: Image) -> tuple[Any, ...]:
        """Return all in which works have to agree to be groups of one job."""
        work, how = self.work, self.work.requantisation
        sides = [
            (None, np.asarray(codes).shape)
            if sources is None
            else (stride_of(image, sources), sources.shape)
            for sources, codes in ((self.a, work.a), (self.b, work.b))
        ]
        limits: tuple[Any, ...] | None = None
        if how is not None:
            limits = how.low, how.high, how.relu, how.per_column
            if "per_column" not in image.target.info.features:
                limits = *limits, how.multiplier, how.shift, how.zero_point
        return *sides, self.a is None, self.b is None, work.bias is None, limits, work.wide


def placed(image: Image, sources: Sources, node: Node) -> tuple[list[JobGroup], list[np.ndarray]]:
    """Place the operands of a product's works, and make room for results.

    Returns
    -------
    Jobs, and the addresses of the result of each work.
    """
    parts = [
        _Part(work=work, a=a, b=b)
        for work, a, b in zip(sources.works, sources.a, sources.b, strict=True)
    ]
    groups: list[JobGroup] = []
    places: list[np.ndarray] = []
    for some in _together(image, parts):
        jobs, results = _jobs(image, some, node, sources.beside)
        groups += jobs
        places += results
    return groups, places


def started(image: Image, sources: Sources, node: Node) -> tuple[list[JobGroup], list[np.ndarray]]:
    """Have a product's works run; see :func:`placed`."""
    groups, places = placed(image, sources, node)
    count, done = len(sources.works), 0
    for group in groups:
        macs = sources.macs * (done + group.count) // count - sources.macs * done // count
        image.start(*node, group, macs=macs)
        done += group.count
    return groups, places


def _together(image: Image, parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Split works into those that follow each other and are of one size."""
    for _, some in groupby(parts, lambda part: part.size(image)):
        yield list(some)


def _jobs(
    image: Image, parts: list[_Part], node: Node, beside: bool
) -> tuple[list[JobGroup], list[np.ndarray]]:
    """Place works of one size: results side by side, or one behind the other."""
    name, count = node[0], len(parts)
    a = operand(image, node, [(one.a, one.work.a) for one in parts], "a", beside)
    b = operand(image, node, [(one.b, one.work.b) for one in parts], "b", False)
    m, n = a.buffer.rows, b.buffer.columns
    bits = image.target.info.sums.bits
    bias, biases = None, [0] * count
    if parts[0].work.bias is not None:
        codes = np.stack([np.asarray(one.work.bias) for one in parts]).reshape(1, -1)
        bias = image.known(f"{name}.bias", codes, bits).part(None, (0, n))
        biases = [bias.address + number * bias.row_bytes for number in range(count)]
    how, records = _scale([one.work.requantisation for one in parts], n), None
    if how is not None and how.per_column:
        records = image.records(name, how, count * n)
        how = _first(how, n)
    width = image.stride(8, count * n if beside else n)
    whole = image.reserve(
        name, m if beside else count * m, count * n if beside else n, 8, stride=width
    )
    results = [
        whole.part(None, (at * n, at * n + n)) if beside else whole.part((at * m, at * m + m))
        for at in range(count)
    ]
    first = product(
        image.target, a.buffer, b.buffer, results[0], bias=bias, how=how,
        records=None if records is None else records.part(None, (0, n)),
    )  # fmt: skip
    first = planned(first, image.target, image.memory)
    groups: tuple[JobGroup, ...] = ()
    for at in range(count):
        job = _moved(first, a.addresses[at], b.addresses[at], results[at].address)
        if bias is not None:
            job = replace(job, bias=biases[at])
        if records is not None:
            job = replace(job, records=records.address + 8 * at * n)
        groups = appended(groups, JobGroup(job=job))
    return list(groups), [_places(one) for one in results]


def _moved(job: Job, a: int, b: int, c: int) -> Job:
    return replace(job, a=a, b=b, c=c)


def _places(buffer: Buffer) -> np.ndarray:
    """Return the addresses of codes."""
    return np.asarray(
        buffer.address
        + buffer.stride * np.arange(buffer.rows)[:, None]
        + buffer.bits // 8 * np.arange(buffer.columns)
    )


def _scale(given: list[Requantisation | None], columns: int) -> Requantisation | None:
    """Return how the columns of all works are requantised."""
    hows = [one for one in given if one is not None]
    if not hows:
        return None
    first = hows[0]
    if not first.per_column and all(one == first for one in hows):
        return first
    multiplier, shift, zero_point = (
        np.concatenate([np.broadcast_to(getattr(one, name), columns) for one in hows])
        for name in _COLUMNS
    )
    return replace(first, multiplier=multiplier, shift=shift, zero_point=zero_point)


def _first(how: Requantisation, columns: int) -> Requantisation:
    """Return the part of the first columns."""
    multiplier, shift, zero_point = (np.asarray(getattr(how, name))[:columns] for name in _COLUMNS)
    return replace(how, multiplier=multiplier, shift=shift, zero_point=zero_point)


_COLUMNS = ("multiplier", "shift", "zero_point")
"""Fields of which columns may have their own."""


def sums(
    image: Image, node: Node, a: np.ndarray, weights: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Have codes multiplied by weights; return the addresses of the sums.

    Parameters
    ----------
    a : sources of the codes.
    weights : K x N.
    bias : addresses of a sum for each column, one after the other.
    """
    bits, n = image.target.info.sums.bits, weights.shape[1]
    left = rows(image, node, a)
    right = image.known(f"{node[0]}.b", weights, 8)
    row = n * bits // 8
    first = Buffer(
        name=f"{node[0]}.bias", address=int(bias[0]), rows=1, columns=n, bits=bits, stride=row
    )
    c = image.reserve(node[0], left.rows, n, bits, stride=image.stride(bits, n))
    job = product(image.target, left, right, c, bias=first)
    image.start(*node, planned(job, image.target, image.memory))
    return _places(c)
