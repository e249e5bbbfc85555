"""Tables that are jobs on maps: codes, added, multiplied or compared by the vector unit."""

from dataclasses import replace
from math import prod

import numpy as np

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.lowered.engine_codes import code_offset
from carrysave.compiler.passes.maps import map_scale
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.look_ups import table_bytes, with_axes
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.places import places_of, regular
from carrysave.compiler.program.reasons import NO_MAPS, NO_RULE, NO_TABLE, SHORT, UNEVEN
from carrysave.compiler.program.row_jobs import COPY, Axis, RowJob, row_groups, start_rows
from carrysave.driver import Maps
from carrysave.driver.system import Tensor

__all__ = ["map_job"]


def map_job(
    image: Image, node: Node, table: CodeTable, given: list[Tensor], after: CodeTable | None = None
) -> Tensor | str:
    """Have jobs make the codes of a table.

    Parameters
    ----------
    after : in which these are looked up, by the same jobs; None: they are as they are.

    Returns
    -------
    Its codes; or why it is no such job.
    """
    target = image.target
    if target.spec.vector is None or not target.spec.taps:
        return NO_MAPS
    shape = np.broadcast_shapes(*(one.sources.shape for one in given), (1,) * table.axes)
    first, second = (*given, given[0])[:2]
    swapped = first.sources.size < second.sources.size
    job = _job(image, table, (first, second), after, swapped=swapped)
    if swapped:
        first, second = second, first
    steps = [_steps(one.sources, shape) for one in (first, second)]
    if isinstance(job, str):
        return job
    if steps[0] is None or steps[1] is None:
        return UNEVEN
    far = [max(pair) for pair in zip(steps[0], steps[1], strict=True)]
    to, rows, stride = _like(image, shape, far)
    axes = [
        Axis(shape[axis], (steps[0][axis], steps[1][axis], to[axis]))
        for axis in sorted(range(len(shape)), key=lambda axis: -to[axis])
    ]
    if row_groups(axes, target.spec.vector.most(job.operation)) is None:
        return SHORT
    columns = prod(shape) // rows
    c = image.reserve(node[0], rows, columns, 8, stride=stride, lasting=False).address
    a, b = (int(one.sources.flat[0]) for one in (first, second))
    start_rows(image, node, job, (a, b, c), axes)
    kind, places = table.values.dtype, places_of(c, shape, to)
    if after is not None:
        kind, places = after.values.dtype, with_axes(places, after)
    return Tensor(places, kind, code_offset("A", kind, target.mode.a))


def _job(
    image: Image,
    table: CodeTable,
    given: tuple[Tensor, Tensor],
    after: CodeTable | None,
    *,
    swapped: bool,
) -> RowJob | str:
    """Return what jobs do for a table; or why it is none of theirs.

    Parameters
    ----------
    swapped : the second operand is A; all operations are alike in both.
    """
    target, rule = image.target, table.rule
    if rule is None:
        if after is not None or table.values.ndim > 1:
            return NO_RULE
        if not target.spec.table:
            return NO_TABLE
        return replace(COPY, table=image.shared(table_bytes(target, table, given[0].offset)))
    behind = None
    if after is not None:
        offset = code_offset("C", table.values.dtype, target.info.codes)
        behind = image.shared(table_bytes(target, after, offset))
    zeros = rule.zeros[0] - given[0].offset, rule.zeros[1] - given[1].offset
    factors = rule.factors
    if swapped:
        zeros, factors = zeros[::-1], factors[::-1]
    return RowJob(
        operation=rule.operation,
        how=map_scale(rule, code_offset("C", table.values.dtype, target.info.codes)),
        table=behind,
        maps=Maps(zeros=zeros, factors=factors),
        alone=rule.operation == "map_add" and not factors[1],
    )


def _steps(sources: np.ndarray, shape: tuple[int, ...]) -> list[int] | None:
    """Return bytes along the axes of a shape, 0 where codes are the same; None: they are uneven."""
    steps = regular(sources)
    if steps is None or sources.min() < 0 or min(steps, default=0) < 0:
        return None
    return [*[0] * (len(shape) - len(steps)), *steps]


def _like(image: Image, shape: tuple[int, ...], far: list[int]) -> tuple[list[int], int, int]:
    """Return where codes go that lie as others do, but for what these have between them.

    Parameters
    ----------
    far : bytes along each axis, of the others.

    Returns
    -------
    Bytes along each axis; rows of codes, and bytes from a row to the next.
    """
    order = sorted(
        (axis for axis, size in enumerate(shape) if size > 1), key=lambda axis: far[axis]
    )
    columns = 1
    steps = [0] * len(shape)
    if order and far[order[0]] == 1:
        columns, steps[order[0]] = shape[order[0]], 1
        order = order[1:]
    # Pixels have the same distance, if that is no more than a row's in whole beats.
    stride = image.stride(8, columns)
    if order and columns <= far[order[0]] < stride:
        stride = far[order[0]]
    step = stride
    for axis in order:
        steps[axis] = step
        step *= shape[axis]
    return steps, prod(shape) // columns, stride
