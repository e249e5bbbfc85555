"""Tables that are jobs on maps: rows of codes, added, multiplied or compared by the vector unit."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable, MapRule
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node
from carrysave.driver import Maps, Requantisation
from carrysave.driver.system import Tensor

__all__ = ["map_job"]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Pixels of a tensor, channels last: rows of codes, evenly apart."""

    address: int
    rows: int
    columns: int
    stride: int


def map_job(image: Image, node: Node, table: CodeTable, given: list[Tensor]) -> Tensor | None:
    """Have a job make the codes of a table.

    Returns
    -------
    None: the table is no such job, or codes do not lie in rows.
    """
    unit, rule = image.target.spec.vector, table.rule
    if rule is None or unit is None:
        return None
    shape = np.broadcast_shapes(*(one.sources.shape for one in given), (1,) * table.axes)
    first, second = (*given, given[0])[:2]
    if first.sources.shape != shape:
        # Both are taken alike, but for their order: B may be one row for all.
        return None
    ours = _rows(first.sources)
    theirs = _rows(second.sources, one=second.sources.size < first.sources.size)
    if ours is None or theirs is None or theirs.columns != ours.columns:
        return None
    if theirs.rows not in (1, ours.rows):
        return None
    together = _together(ours, theirs, unit.most(rule.operation))
    if together is None:
        return None
    ours, theirs = together
    c = image.reserve(node[0], ours.rows, ours.columns, 8, stride=ours.stride, lasting=False)
    a, b = (
        Buffer(
            name=node[0], address=one.address, rows=one.rows, columns=one.columns, bits=8,
            stride=one.stride,
        )
        for one in (ours, theirs)
    )  # fmt: skip
    job = rows(
        image.target, rule.operation, a, c, b=b, how=_scale(image, rule, table),
        maps=_maps(rule, first, second), once=b.rows == 1,
    )  # fmt: skip
    image.start(*node, job, macs=0)
    offset = code_offset("A", table.values.dtype, image.target.mode.a)
    places = first.sources - int(first.sources.min()) + c.address
    return Tensor(places, table.values.dtype, offset)


def _rows(sources: np.ndarray, *, one: bool = False) -> _Rows | None:
    """Return the rows of a tensor of addresses, channels last; None: there are no such rows.

    Parameters
    ----------
    one : each channel has one code.
    """
    if sources.ndim < 2 or sources.min() < 0:
        return None
    flat = np.moveaxis(sources, 1, -1).reshape(-1, sources.shape[1])
    if one and len(flat) != 1:
        return None
    m, n = flat.shape
    first = int(flat[0, 0])
    stride = int(flat[1, 0]) - first if m > 1 else n
    straight = first + stride * np.arange(m)[:, None] + np.arange(n)
    if stride < n or not np.array_equal(flat, straight):
        return None
    return _Rows(address=first, rows=m, columns=n, stride=stride)


def _together(ours: _Rows, theirs: _Rows, most: int) -> tuple[_Rows, _Rows] | None:
    """Return rows that are as long as the unit takes them, of several pixels where these are whole.

    What lies between rows of pixels is read and written as codes: nobody looks at it.
    """
    m, n, stride = ours.rows, ours.columns, ours.stride
    if theirs.rows == 1 < m:
        return (ours, theirs) if n <= most else None
    if stride == theirs.stride == n:
        count = max(
            (each for each in range(1, m + 1) if m % each == 0 and each * n <= most), default=0
        )
        if not count:
            return None
        return _joined(ours, count), _joined(theirs, count)
    return (ours, theirs) if n <= most else None


def _joined(one: _Rows, count: int) -> _Rows:
    """Let so many pixels be a row."""
    return _Rows(
        address=one.address,
        rows=one.rows // count,
        columns=one.columns * count,
        stride=one.stride * count,
    )


def _scale(image: Image, rule: MapRule, table: CodeTable) -> Requantisation:
    offset = code_offset("C", table.values.dtype, image.target.info.codes)
    return Requantisation(
        multiplier=rule.multiplier,
        shift=rule.shift,
        zero_point=rule.zero_point - offset,
        low=rule.low - offset,
        high=rule.high - offset,
    )


def _maps(rule: MapRule, first: Tensor, second: Tensor) -> Maps:
    zeros = rule.zeros[0] - first.offset, rule.zeros[1] - second.offset
    return Maps(zeros=zeros, factors=rule.factors)
