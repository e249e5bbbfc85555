"""Products of a network, of which convolutions of single channels are jobs of the vector unit."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.cut import computed, cut
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.products import columns_of, started
from carrysave.compiler.program.ring_cost import cycles_of, in_rings
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.program.volumes import volume
from carrysave.compiler.program.window_parts import part_of, reach
from carrysave.compiler.program.windows import Map, window_works
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.driver.operations import DEPTHWISE
from carrysave.driver.system import Tensor
from carrysave.driver.window import Window
from golden.soc.depthwise import groups_of
from golden.soc.job import Error
from golden.soc.job_check import error_of

__all__ = ["started_product"]

_FAR = 2
"""Times the cycles of another way."""


def started_product(
    image: Image,
    product: QuantisedProduct,
    a: Tensor,
    b: Tensor | None,
    table: bytes | None = None,
) -> tuple[list[JobGroup], np.ndarray]:
    """Have the jobs of a product run; return them, and the addresses of y.

    Single channels are multiplied by whichever takes fewer cycles, the vector unit or the array.

    Parameters
    ----------
    table : in which codes are looked up, by their bytes; None: they are as they are.
    """
    if b is None:
        tried = Image(target=image.target, end=image.end)
        if _depthwise(tried, product, a, table) is not None:
            other = Image(target=image.target, end=image.end)
            _multiplied(other, product, a, b, table)
            if _is_shorter(tried, other, image):
                made = _depthwise(image, product, a, table)
                assert made is not None
                return made
    return _multiplied(image, product, a, b, table)


def _is_shorter(tried: Image, other: Image, image: Image) -> bool:
    """Return whether starts take fewer cycles than others, behind the last one of an image.

    That for which a processor moves less is shorter in any case. What is far apart one job after
    the other is so in a ring, which takes longer to time.
    """
    moved, elsewhere = (
        sum(step.bytes for step in one.steps if isinstance(step, Move)) for one in (tried, other)
    )
    if moved != elsewhere:
        return moved < elsewhere
    alone, others = (
        sum(cycles_of(group, image.target) for step in _starts(one) for group in step.groups)
        for one in (tried, other)
    )
    if not others / _FAR < alone < others * _FAR:
        return alone < others
    return _cycles(tried, image) < _cycles(other, image)


def _starts(image: Image) -> list[Start]:
    return [step for step in image.steps if isinstance(step, Start)]


def _cycles(tried: Image, image: Image) -> int:
    """Return the cycles of starts that are tried, behind the last one of an image."""
    before = _starts(image)[-1:]
    steps = in_rings([*before, *tried.steps], image.target)[len(before) :]
    return sum(step.cycles for step in steps if isinstance(step, Start))


def _multiplied(
    image: Image, product: QuantisedProduct, a: Tensor, b: Tensor | None, table: bytes | None
) -> tuple[list[JobGroup], np.ndarray]:
    """Have matrices multiplied by the array; see :func:`started_product`."""
    if b is None:
        sources = volume(product, a, image) or cut(product, a, image)
    else:
        sources = computed(product, a, b, image)
    groups, places = started(image, sources, (product.name, product.operator), table)
    return groups, sources.shaped(places)


def _depthwise(
    image: Image, product: QuantisedProduct, a: Tensor, table: bytes | None
) -> tuple[list[JobGroup], np.ndarray] | None:
    """Have a channel of a map multiplied by its weights in each lane of the vector unit.

    Returns
    -------
    Jobs, and the addresses of y. None: the block has no such jobs, or none of this geometry; or
    there are sums to be made, not codes, or weights of several terms.
    """
    spec, weights, mode = image.target.spec, product.weights, image.target.mode
    node = product.name, product.operator
    if not spec.depthwise or weights is None or mode.a.low >= 0 or mode.b.low >= 0:
        return None
    channels, _, columns = weights.shape if weights.ndim == 3 else (0, 0, 0)
    if columns != 1 or a.sources.ndim not in (3, 4) or a.sources.shape[1] != channels:
        return None
    made = window_works(product, a, image, pixels=True)
    if made is None or made[0][0].requantisation is None:
        return None
    works, maps, outputs = made
    batch = a.sources.shape[0]
    each = len(works) // batch
    how = columns_of(
        [work.requantisation for work in works[:each]], [work.b.shape[1] for work in works[:each]]
    )
    window = replace(maps[0].window, channels=channels)
    if how is None:
        return None
    first = _job(window, maps[0], how)
    strips = _strips(image, first, outputs)
    if not strips:
        return None
    codes = weights[:, :, 0].T.astype(np.int64)
    shared: dict[str, Any] = {
        "b": image.known(f"{node[0]}.b", codes.reshape(1, -1), 8).address,
        "bias": _bias(image, node, works[:each], codes, product.a_zero - a.offset),
    }
    records = image.records(node[0], replace(how, table=table), channels)
    if records is not None:
        shared |= {"records": records.address, "table": table is not None}
    c = image.reserve(
        node[0], batch * first.m, channels, 8, stride=image.stride(8, channels), lasting=False
    )
    groups: tuple[JobGroup, ...] = ()
    for sample, one in enumerate(maps[::each]):
        for at, strip in strips:
            job = replace(
                strip, a=strip.a - first.a + one.address,
                c=c.address + (sample * first.m + at) * c.stride, ldc=c.stride, **shared,
            )  # fmt: skip
            groups = appended(groups, JobGroup(job=job))
    macs, count = product.useful(a.sources.shape), batch * first.m
    for group in groups:
        image.start(*node, group, macs=macs * group.count * group.job.m // count)
    places = c.places.reshape(batch, -1, channels).swapaxes(1, 2)
    return list(groups), places.reshape(batch, channels, *outputs)


def _strips(image: Image, whole: Job, outputs: tuple[int, ...]) -> list[tuple[int, Job]]:
    """Return the job, or those of parts of rows of windows where it is too long for the unit.

    Returns
    -------
    Each with the number of its first window; none: it cannot be done.
    """
    spec, window = image.target.spec, whole.window
    assert window is not None
    assert spec.vector is not None
    error = error_of(spec, golden_job(whole, spec))
    if error is not Error.BLOCKS:
        return [] if error else [(0, whole)]
    down, across = (1, *outputs)[-2:]
    groups = groups_of(window, spec.vector.lanes)
    most = min(
        spec.vector.beats // groups,
        (2 * spec.vector.length // window.pixel - reach(window, 1)) // window.strides[1],
    )
    if most < 1:
        return []
    count = -(-across // most)
    ends = np.linspace(0, across, count + 1).astype(int).tolist()
    strips = []
    for line in range(down):
        for begin, end in pairwise(ends):
            job = part_of(whole, range(line, line + 1), range(begin, end))
            if job is None or error_of(spec, golden_job(job, spec)):
                return []
            strips.append((line * across + begin, job))
    return strips


def _job(window: Window, one: Map, how: Requantisation) -> Job:
    """Return a job on all channels of a map; addresses but that of the map are to come."""
    n = window.channels
    return Job(
        a=one.address, b=0, c=0, m=one.rows, n=n, k=window.codes, lda=one.distance, ldb=0, ldc=n,
        requantisation=how, vector=DEPTHWISE, window=window,
    )  # fmt: skip


def _bias(image: Image, node: Node, works: list[Work], codes: np.ndarray, fill: int) -> int:
    """Place biases; those of works have the sums of weights of the code beyond the edges."""
    given = [np.zeros(work.b.shape[1]) if work.bias is None else work.bias for work in works]
    bias = np.concatenate(given).astype(np.int64) + fill * codes.sum(axis=0)
    return image.known(f"{node[0]}.bias", bias.reshape(1, -1), image.target.info.sums.bits).address
