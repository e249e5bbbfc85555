"""Tables that are jobs on maps: rows of codes, added, multiplied or compared by the vector unit."""

from dataclasses import replace

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable, MapRule
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node, stride_of
from carrysave.driver import Maps, Requantisation
from carrysave.driver.system import Tensor

__all__ = ["map_job"]


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
    a = _rows(image, node, first.sources)
    # Axes are as in broadcasting: from the last one on.
    ones = (1,) * (len(shape) - second.sources.ndim)
    b = _rows(image, node, second.sources.reshape(ones + second.sources.shape))
    if a is None or b is None or a.columns != b.columns or b.rows not in (1, a.rows):
        return None
    together = _together(a, b, unit.most(rule.operation))
    if together is None:
        return None
    a, b = together
    c = image.reserve(node[0], a.rows, a.columns, 8, stride=a.stride, lasting=False)
    job = rows(
        image.target, rule.operation, a, c, b=b, how=_scale(image, rule, table),
        maps=_maps(rule, first, second), once=b.rows == 1,
    )  # fmt: skip
    image.start(*node, job, macs=0)
    offset = code_offset("A", table.values.dtype, image.target.mode.a)
    places = first.sources - int(first.sources.min()) + c.address
    return Tensor(places, table.values.dtype, offset)


def _rows(image: Image, node: Node, sources: np.ndarray) -> Buffer | None:
    """Return the pixels of a tensor, rows of channels; None: they do not lie so."""
    if sources.ndim < 2:
        return None
    pixels = np.moveaxis(sources, 1, -1).reshape(-1, sources.shape[1])
    stride, (m, n) = stride_of(image, pixels), pixels.shape
    if not stride:
        return None
    first = int(pixels[0, 0])
    return Buffer(name=node[0], address=first, rows=m, columns=n, bits=8, stride=stride)


def _together(a: Buffer, b: Buffer, most: int) -> tuple[Buffer, Buffer] | None:
    """Return rows as long as the unit takes them: of several pixels, where these are whole."""
    m, n = a.rows, a.columns
    if a.stride == b.stride == n and b.rows == m:
        counts = [each for each in range(1, m + 1) if m % each == 0 and each * n <= most]
        return (_joined(a, counts[-1]), _joined(b, counts[-1])) if counts else None
    return (a, b) if n <= most else None


def _joined(one: Buffer, count: int) -> Buffer:
    """Let so many pixels be a row."""
    return replace(
        one, rows=one.rows // count, columns=one.columns * count, stride=one.stride * count
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
