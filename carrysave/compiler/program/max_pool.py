"""Pools of the greatest code as jobs on maps: along rows of a map first, then along its columns.

Each job takes the greater of two codes: of pixels and of those beside them, or of rows and of those
below. Windows that reach beyond the map stay with the processor.
"""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.windows import Layout, layout_of
from carrysave.driver import Maps, Requantisation
from carrysave.driver.system import Tensor

__all__ = ["max_pool"]

_MAX = "map_max"
_SAME = Requantisation(multiplier=1 << 30, shift=30, zero_point=0, low=-128, high=127)
_MAPS = Maps(zeros=(0, 0), factors=(1, 1))


@dataclass(frozen=True, kw_only=True)
class _Pass:
    """Pixels of rows of codes, or rows of a map, and what each takes of those that follow it.

    Members
    -------
    groups, count, columns : jobs, rows of each, and codes of a row.
    source, result : first addresses.
    row, step : bytes from a row of the source to the next, and to what is beside it.
    made : bytes from a row of the result to the next.
    next_source, next_result : from a job to the next.
    taps : how many codes are compared.
    """

    groups: int
    count: int
    columns: int
    source: int
    result: int
    row: int
    step: int
    made: int
    next_source: int
    next_result: int
    taps: int


def max_pool(image: Image, node: Node, x: Tensor, windows: Windows) -> Tensor | None:
    """Have jobs take the greatest codes of windows.

    Returns
    -------
    None: the block has no such jobs, windows reach beyond the map, or codes do not lie as one.
    """
    unit, shape = image.target.spec.vector, x.sources.shape
    layout = layout_of(x.sources) if len(shape) in (3, 4) else None
    if not image.target.spec.taps or unit is None or layout is None or x.kind.kind == "f":
        return None
    axes = zip(windows.kernel, windows.strides, strict=True)
    if any(sum(pads) for pads in windows.around(shape[2:])) or any(
        kernel == 1 < stride for kernel, stride in axes
    ):
        return None
    outputs = windows.outputs(shape[2:])
    if min(outputs) < 1 or shape[1] > unit.most(_MAX):
        return None
    flat = len(shape) == 3
    high, wide = (1, *shape[2:])[-2:], (1, *outputs)[-2:]
    layout = _across(image, node, layout, windows, (shape[0], shape[1], high[0], wide[1]))
    if not flat and windows.kernel[0] > 1:
        layout = _down(image, node, layout, windows, (shape[0], shape[1], *wide))
    sizes = shape[0], shape[1], *wide
    grid = np.ogrid[tuple(map(slice, sizes))]
    steps = layout.sample, 1, layout.row, layout.pixel
    places = layout.address + sum(step * at for step, at in zip(steps, grid, strict=True))
    sources = np.broadcast_to(places, sizes).reshape(*shape[:2], *outputs)
    return Tensor(np.ascontiguousarray(sources), x.kind, x.offset, x.scale)


def _room(image: Image, node: Node, sizes: tuple[int, int, int, int]) -> Layout:
    """Make room for maps of batch x channels x height x width."""
    batch, channels, height, width = sizes
    pixel = image.stride(8, channels)
    buffer = image.reserve(
        node[0], batch * height * width, channels, 8, stride=pixel, lasting=False
    )
    row = width * pixel
    return Layout(address=buffer.address, sample=height * row, row=row, pixel=pixel)


def _across(
    image: Image, node: Node, x: Layout, windows: Windows, sizes: tuple[int, int, int, int]
) -> Layout:
    """Take the greatest of pixels of each row."""
    if windows.kernel[-1] == 1:
        return x
    to = _room(image, node, sizes)
    for sample in range(sizes[0]):
        _run(image, node, _Pass(
            groups=sizes[2], count=sizes[3], columns=sizes[1], source=x.address + sample * x.sample,
            result=to.address + sample * to.sample, row=windows.strides[-1] * x.pixel,
            step=windows.dilations[-1] * x.pixel, made=to.pixel, next_source=x.row,
            next_result=to.row, taps=windows.kernel[-1],
        ))  # fmt: skip
    return to


def _down(
    image: Image, node: Node, x: Layout, windows: Windows, sizes: tuple[int, int, int, int]
) -> Layout:
    """Take the greatest of rows, in parts that the unit takes."""
    unit = image.target.spec.vector
    assert unit is not None
    batch, channels, height, width = sizes
    buffer = _room(image, node, (batch, x.pixel, height, width))
    to = Layout(
        address=buffer.address, sample=height * width * x.pixel, row=width * x.pixel, pixel=x.pixel
    )
    whole, most = (width - 1) * x.pixel + channels, unit.most(_MAX)
    for sample in range(batch):
        for first in range(0, whole, most):
            _run(image, node, _Pass(
                groups=1, count=height, columns=min(most, whole - first),
                source=x.address + sample * x.sample + first,
                result=to.address + sample * to.sample + first, row=windows.strides[0] * x.row,
                step=windows.dilations[0] * x.row, made=to.row, next_source=0, next_result=0,
                taps=windows.kernel[0],
            ))  # fmt: skip
    return to


def _run(image: Image, node: Node, one: _Pass) -> None:
    """Compare codes with what follows them, tap by tap; rows that go on evenly are one job's."""
    steps = one.count * one.row, one.count * one.made
    if (one.next_source, one.next_result) == steps:
        one = replace(one, groups=1, count=one.groups * one.count)

    def buffer(address: int, stride: int) -> Buffer:
        return Buffer(
            name=node[0], address=address, rows=one.count, columns=one.columns, bits=8,
            stride=stride,
        )  # fmt: skip

    c = buffer(one.result, one.made)
    for tap in range(1, one.taps):
        first = tap == 1
        job = rows(
            image.target, _MAX, buffer(one.source, one.row) if first else c, c,
            b=buffer(one.source + tap * one.step, one.row), how=_SAME, maps=_MAPS,
        )  # fmt: skip
        image.start(*node, JobGroup(
            job=job, count=one.groups, a=one.next_source if first else one.next_result,
            b=one.next_source, c=one.next_result,
        ), macs=0)  # fmt: skip
