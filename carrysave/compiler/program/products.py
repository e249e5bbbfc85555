"""Products of a network in its program's memory: operands, jobs, and where results are.

Works of a product that are of one size are groups of one job: their operands lie side by side, or
one behind the other, and so do their results. A of a convolution is a map whose windows the block
reads, or, in a co-processor without windows, its patches, which moves put together before.
"""

import itertools
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.cut import Part, Sources
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product
from carrysave.compiler.program.operands import Node, Operand, operand, rows, stride_of
from carrysave.compiler.program.packed import stored, unplaced
from carrysave.compiler.program.windows import Map
from carrysave.driver import Requantisation

__all__ = ["columns_of", "placed", "started", "sums"]


def _size_of(image: Image, part: Part) -> tuple[Any, ...]:
    """Return all in which works have to agree to be groups of one job."""
    work, how = part.work, part.work.requantisation
    sides = [_size(image, part.a, work.a), _size(image, part.b, work.b)]
    limits: tuple[Any, ...] | None = None
    if how is not None:
        limits = how.low, how.high, how.relu, how.per_column
        if "per_column" not in image.target.info.features:
            limits = *limits, how.multiplier, how.shift, how.zero_point
    return *sides, part.a is None, part.b is None, work.bias is None, limits, work.wide


def _size(
    image: Image, sources: np.ndarray | Map | None, codes: np.ndarray | None
) -> tuple[Any, ...]:
    """Return all of an operand but where it is."""
    if isinstance(sources, Map):
        return sources.window, sources.distance, sources.rows
    if sources is None:
        return None, np.asarray(codes).shape
    return stride_of(image, sources), sources.shape


def placed(
    image: Image, sources: Sources, node: Node, table: bytes | None = None
) -> tuple[list[JobGroup], list[np.ndarray]]:
    """Place the operands of a product's works, and make room for results.

    Parameters
    ----------
    table : in which codes are looked up, by their bytes; None: they are as they are.

    Returns
    -------
    Jobs, and the addresses of the result of each work.
    """
    parts = sources.parts
    groups: list[JobGroup] = []
    results: list[Buffer] = []
    beside = _beside(image, node, parts) if sources.beside else []
    for _, alike in groupby(parts, lambda part: _size_of(image, part)):
        some = list(alike)
        count = len(some)
        each = beside[len(results) : len(results) + count] or _behind(image, node, some)
        groups += _jobs(image, some, node, each, sources.beside, table)
        results += each
    return groups, [one.places for one in results]


def _beside(image: Image, node: Node, parts: list[Part]) -> list[Buffer]:
    """Make room for results side by side."""
    ends = np.cumsum([0, *(part.columns for part in parts)]).tolist()
    width = image.stride(8, ends[-1])
    whole = image.reserve(node[0], parts[0].rows, ends[-1], 8, stride=width, lasting=False)
    return [whole.part(None, (at, end)) for at, end in itertools.pairwise(ends)]


def _behind(image: Image, node: Node, parts: list[Part]) -> list[Buffer]:
    """Make room for results of one size, one behind the other."""
    m, n = parts[0].rows, parts[0].columns
    whole = image.reserve(node[0], len(parts) * m, n, 8, stride=image.stride(8, n), lasting=False)
    return [whole.part((at, at + m)) for at in range(0, len(parts) * m, m)]


def started(
    image: Image, sources: Sources, node: Node, table: bytes | None = None
) -> tuple[list[JobGroup], list[np.ndarray]]:
    """Have a product's works run; see :func:`placed`."""
    groups, places = placed(image, sources, node, table)
    count, done = len(sources.parts), 0
    for group in groups:
        macs = sources.macs * (done + group.count) // count - sources.macs * done // count
        image.start(*node, group, macs=macs)
        done += group.count
    return groups, places


def _jobs(
    image: Image,
    parts: list[Part],
    node: Node,
    results: list[Buffer],
    beside: bool,
    table: bytes | None,
) -> list[JobGroup]:
    """Place operands of works of one size."""
    name, count = node[0], len(parts)
    a = _left(image, node, parts, beside)
    given = [(one.b, one.work.b) for one in parts]
    later = parts[0].b is None and "sparse" in image.target.info.features
    b = unplaced(image, node, given) if later else operand(image, node, given, "b", False)
    n = b.buffer.columns
    bits = image.target.info.sums.bits
    bias, biases = None, [0] * count
    if parts[0].work.bias is not None:
        codes = np.stack([np.asarray(one.work.bias) for one in parts]).reshape(1, -1)
        bias = image.known(f"{name}.bias", codes, bits).part(None, (0, n))
        biases = [bias.address + number * bias.row_bytes for number in range(count)]
    how = columns_of([one.work.requantisation for one in parts], [n] * count)
    if how is not None:
        how = replace(how, table=table)
    records = image.records(name, how, n, count)
    if how is not None and how.per_column:
        how = _first(how, n)
    first = product(
        image.target, a.buffer, b.buffer, results[0], bias=bias, how=how,
        records=None if records is None else records.part(None, (0, n)),
        window=parts[0].a.window if isinstance(parts[0].a, Map) else None,
    )  # fmt: skip
    if later:
        first, b = stored(image, node, first, given)
    groups: tuple[JobGroup, ...] = ()
    for at in range(count):
        job = replace(first, a=a.addresses[at], b=b.addresses[at], c=results[at].address)
        if bias is not None:
            job = replace(job, bias=biases[at])
        if records is not None:
            step = 8 * n if table is None else records.stride
            job = replace(job, records=records.address + at * step)
        groups = appended(groups, JobGroup(job=job))
    return list(groups)


def _left(image: Image, node: Node, parts: list[Part], beside: bool) -> Operand:
    """Place the matrices A of works; those of windows are maps that are there."""
    maps = [one.a for one in parts if isinstance(one.a, Map)]
    if not maps:
        given = [(one.a, one.work.a) for one in parts if not isinstance(one.a, Map)]
        return operand(image, node, given, "a", beside)
    first = maps[0]
    buffer = Buffer(
        name=node[0], address=first.address, rows=first.rows, columns=first.window.codes, bits=8,
        stride=first.distance,
    )  # fmt: skip
    return Operand(buffer=buffer, addresses=[one.address for one in maps])


def columns_of(given: list[Requantisation | None], columns: list[int]) -> Requantisation | None:
    """Return how the columns of all works, so many of each, are requantised."""
    scales = [one for one in given if one is not None]
    if not scales:
        return None
    first = scales[0]
    if not first.per_column and all(one == first for one in scales):
        return first
    multiplier, shift, zero_point = (
        np.concatenate([
            np.broadcast_to(getattr(one, name), count)
            for one, count in zip(scales, columns, strict=True)
        ])
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
    given = [(None, weights)]
    later = "sparse" in image.target.info.features
    b = unplaced(image, node, given) if later else operand(image, node, given, "b", False)
    row = n * bits // 8
    first = Buffer(
        name=f"{node[0]}.bias", address=int(bias[0]), rows=1, columns=n, bits=bits, stride=row
    )
    c = image.reserve(node[0], left.rows, n, bits, stride=image.stride(bits, n), lasting=False)
    job = product(image.target, left, b.buffer, c, bias=first)
    if later:
        job, _ = stored(image, node, job, given)
    image.start(*node, job)
    return c.places
