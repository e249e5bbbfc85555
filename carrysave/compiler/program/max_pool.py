"""Pools of the greatest code as jobs on maps, along its columns and along its rows.

Each job takes the greater of two codes: of rows and of those below, or of pixels and of those
beside them; what is beyond the edges is left out. A short row takes the unit longer than its codes:
mostly columns come first, which leave fewer pixels.
"""

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.places import places_of
from carrysave.compiler.program.pool_passes import MAX, Pass, take_samples
from carrysave.compiler.program.reasons import NO_MAPS, UNEVEN
from carrysave.compiler.program.windows import Layout, layout_of
from carrysave.driver.system import Tensor

__all__ = ["max_pool"]

_ROW = 7
"""Cycles of a row of few codes, on memory that answers at once."""


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
    if min(outputs) < 1 or shape[1] > unit.most(MAX):
        return f"it must have 1..{unit.most(MAX):,} channels, not {shape[1]:,}"
    sizes = (*shape[:2], *(1, *shape[2:])[-2:])
    for axis in _order(windows, layout, sizes, unit.lanes):
        along, space = (_down, _across)[axis], shape[2:]
        sizes = (*sizes[: 2 + axis], (1, *outputs)[-2:][axis], *sizes[3 + axis :])
        layout = along(image, node, layout, windows, space, sizes)
    sources = places_of(layout.address, sizes, (layout.sample, 1, layout.row, layout.pixel))
    return Tensor(sources.reshape(*shape[:2], *outputs), x.kind, x.offset, x.scale)


def _order(
    windows: Windows, layout: Layout, sizes: tuple[int, int, int, int], lanes: int
) -> list[int]:
    """Return the axes of a map with more than a code to compare, in the order of fewer cycles.

    Parameters
    ----------
    sizes : batch, channels, height, width.
    """
    _, channels, *space = sizes
    taps, left = (1, *windows.kernel)[-2:], (1, *windows.outputs(space[-len(windows.kernel) :]))

    def cycles(order: list[int]) -> int:
        (rows, pixels), pixel, total = space, layout.pixel, 0
        for axis in order:
            if axis == 0:
                rows = left[-2]
                count, row = rows, (pixels - 1) * pixel + channels
            else:
                pixels, pixel = left[-1], channels
                count, row = rows * pixels, channels
            total += (taps[axis] - 1) * count * max(_ROW, -(-row // lanes))
        return total

    axes = [axis for axis in (0, 1) if taps[axis] > 1]
    return min(axes, axes[::-1], key=cycles)


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
    """Take the greatest of pixels of each row, whose maps then have these sizes."""
    to, per_sample = _room(image, node, sizes), sizes[2]
    one = Pass(
        groups=per_sample, count=sizes[3], columns=sizes[1], source=x.address, result=to.address,
        unit=x.pixel, made=to.pixel, next_source=x.row, next_result=to.row,
        **_axis(windows, -1, space),
    )  # fmt: skip
    take_samples(image, node, one, sizes[0], x.sample, to.sample)
    return to


def _down(
    image: Image,
    node: Node,
    x: Layout,
    windows: Windows,
    space: tuple[int, ...],
    sizes: tuple[int, int, int, int],
) -> Layout:
    """Take the greatest of rows, in parts that the unit takes; maps then have these sizes."""
    unit = image.target.spec.vector
    assert unit is not None
    batch, channels, height, width = sizes
    buffer = _room(image, node, (batch, x.pixel, height, width))
    to = Layout(
        address=buffer.address, sample=height * width * x.pixel, row=width * x.pixel, pixel=x.pixel
    )
    whole, most = (width - 1) * x.pixel + channels, unit.most(MAX)
    for first in range(0, whole, most):
        one = Pass(
            groups=1, count=height, columns=min(most, whole - first), source=x.address + first,
            result=to.address + first, unit=x.row, made=to.row, next_source=0, next_result=0,
            **_axis(windows, -len(space), space),
        )  # fmt: skip
        take_samples(image, node, one, batch, x.sample, to.sample)
    return to
