"""Pools of the greatest code as jobs on maps: along rows of a map first, then along its columns.

Each job takes the greater of two codes: of pixels and of those beside them, or of rows and of those
below; what is beyond the edges is left out.
"""

from dataclasses import dataclass, replace

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.places import places_of
from carrysave.compiler.program.reasons import NO_MAPS, UNEVEN
from carrysave.compiler.program.row_jobs import COPY
from carrysave.compiler.program.windows import Layout, layout_of
from carrysave.driver import Maps
from carrysave.driver.system import Tensor

__all__ = ["max_pool"]

_MAX = "map_max"
_SAME = COPY.how
_MAPS = Maps(zeros=(0, 0), factors=(1, 1))
_NOTHING = Maps(zeros=(0, 0), factors=(0, 0))


@dataclass(frozen=True, kw_only=True)
class _Pass:
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


def max_pool(image: Image, node: Node, x: Tensor, windows: Windows) -> Tensor | str:
    """Have jobs take the greatest codes of windows.

    Returns
    -------
    Where they are; or why the block has no such jobs.
    """
    unit, shape = image.target.spec.vector, x.sources.shape
    layout = layout_of(x.sources) if len(shape) in (3, 4) else None
    if not image.target.spec.taps or unit is None:
        return NO_MAPS
    if layout is None or x.kind.kind == "f":
        return UNEVEN
    axes = zip(windows.kernel, windows.strides, strict=True)
    around = zip(axes, windows.around(shape[2:]), strict=True)
    if any(kernel == 1 and (stride > 1 or sum(pads)) for (kernel, stride), pads in around):
        return "a kernel of 1 must have a stride of 1, and no padding"
    outputs = windows.outputs(shape[2:])
    if min(outputs) < 1 or shape[1] > unit.most(_MAX):
        return f"it must have 1..{unit.most(_MAX):,} channels, not {shape[1]:,}"
    flat = len(shape) == 3
    high, wide = (1, *shape[2:])[-2:], (1, *outputs)[-2:]
    sizes, space = (shape[0], shape[1], high[0], wide[1]), shape[2:]
    layout = _across(image, node, layout, windows, space, sizes)
    if not flat and windows.kernel[0] > 1:
        sizes = (*shape[:2], *wide)
        layout = _down(image, node, layout, windows, space, sizes)
    steps = layout.sample, 1, layout.row, layout.pixel
    sources = places_of(layout.address, (*shape[:2], *wide), steps)
    return Tensor(sources.reshape(*shape[:2], *outputs), x.kind, x.offset, x.scale)


def _axis(windows: Windows, axis: int, space: tuple[int, ...]) -> dict[str, int]:
    """Return what a pass along an axis of a map takes."""
    return {
        "size": space[axis],
        "before": windows.around(space)[axis][0],
        "stride": windows.strides[axis],
        "gap": windows.dilations[axis],
        "taps": windows.kernel[axis],
    }


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
    image: Image,
    node: Node,
    x: Layout,
    windows: Windows,
    space: tuple[int, ...],
    sizes: tuple[int, int, int, int],
) -> Layout:
    """Take the greatest of pixels of each row."""
    if windows.kernel[-1] == 1:
        return x
    to = _room(image, node, sizes)
    for sample in range(sizes[0]):
        _run(image, node, _Pass(
            groups=sizes[2], count=sizes[3], columns=sizes[1], source=x.address + sample * x.sample,
            result=to.address + sample * to.sample, unit=x.pixel, made=to.pixel, next_source=x.row,
            next_result=to.row, **_axis(windows, -1, space),
        ))  # fmt: skip
    return to


def _down(
    image: Image,
    node: Node,
    x: Layout,
    windows: Windows,
    space: tuple[int, ...],
    sizes: tuple[int, int, int, int],
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
                result=to.address + sample * to.sample + first, unit=x.row, made=to.row,
                next_source=0, next_result=0, **_axis(windows, 0, space),
            ))  # fmt: skip
    return to


def _run(image: Image, node: Node, one: _Pass) -> None:
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


def _take(image: Image, node: Node, one: _Pass, base: int | None, tap: int) -> None:
    """Let results be the greater of two taps, or of a tap and of what they are.

    Rows that go on evenly are one job's.
    """
    first, end = one.outputs(tap)
    if first >= end:
        return
    one = replace(one, count=end - first, result=one.result + first * one.made)
    if (one.next_source, one.next_result) == (one.count * one.row, one.count * one.made):
        one = replace(one, groups=1, count=one.groups * one.count)
    c = _rows(node, one, one.result, one.made)
    a = c if base is None else _rows(node, one, one.at(base, first), one.row)
    b = _rows(node, one, one.at(tap, first), one.row)
    job = rows(image.target, _MAX, a, c, b=b, how=_SAME, maps=_MAPS)
    image.start(*node, JobGroup(
        job=job, count=one.groups, a=one.next_result if base is None else one.next_source,
        b=one.next_source, c=one.next_result,
    ), macs=0)  # fmt: skip


def _rows(node: Node, one: _Pass, address: int, stride: int) -> Buffer:
    """Return the rows of a job."""
    return Buffer(
        name=node[0], address=address, rows=one.count, columns=one.columns, bits=8, stride=stride
    )
