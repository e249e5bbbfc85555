"""Matrices of addresses: products are cut by their own compiler, with addresses for codes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.lowered.engine_codes import check_depth
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.windows import Map, window_works
from carrysave.driver.batch import Work
from carrysave.driver.system import Tensor

__all__ = ["Sources", "computed", "cut"]

_FAR = 1 << 40
"""Added to addresses, so that they are no codes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sources:
    """The works of a product, and where their codes are.

    Members
    -------
    works : in order.
    a, b : sources of their operands, addresses or codes; None: those of the work. A may be windows
        of a map.
    shaped : makes addresses of y of those of the results.
    macs : products of codes that the model needs.
    beside : matrices A have rows in common: those of results lie side by side.
    """

    works: list[Work]
    a: list[np.ndarray | Map | None]
    b: list[np.ndarray | None]
    shaped: Callable[[list[np.ndarray]], np.ndarray]
    macs: int
    beside: bool = False


def cut(product: QuantisedProduct, a: Tensor, image: Image) -> Sources:
    """Cut matrices A of addresses, as if these were codes; what else is in them are codes.

    Codes along K go in the order of their addresses, and rows of B with them.
    """
    if a.kind != product.a_type:
        raise ValueError(f"{product.name}: A must be of {product.a_type}, not of {a.kind}")
    if isinstance(product, MeanProduct) and (means := _mean(product, a, image)) is not None:
        return means
    if (windows := _windows(product, a, image)) is not None:
        return windows
    # Addresses can be cut into A alone.
    laid = replace(product, turns=False)
    compiled = laid.compile(image.target, a.sources + _FAR, None, True)
    works, sources = [], []
    for work in compiled.works:
        assert work.a is not None
        # The compiler takes the offset from all codes, and so from addresses.
        far = work.a + a.offset - _FAR
        known = image.constant(work.a)
        own = np.where(far >= 0, far, known)
        row = own[(own >= 0).sum(axis=1).argmax()]
        order = np.argsort(np.where(row >= 0, row, _FAR), kind="stable")
        works.append(replace(work, b=work.b[order]))
        sources.append(own[:, order])
    join, shaped = compiled.cut.join, compiled.cut.shaped
    return Sources(
        works=works,
        a=[*sources],
        b=[None] * len(works),
        shaped=lambda places: shaped(join(places)),
        macs=compiled.macs,
        beside=not compiled.cut.batched,
    )


def _windows(product: QuantisedProduct, a: Tensor, image: Image) -> Sources | None:
    """Have the loader make windows of a map; None: it cannot."""
    made = window_works(product, a, image)
    if made is None:
        return None
    works, maps, outputs = made
    batch = a.sources.shape[0]

    def shaped(places: list[np.ndarray]) -> np.ndarray:
        samples = np.concatenate(places, axis=1).reshape(len(places[0]), batch, -1)
        return samples.transpose(1, 2, 0).reshape(batch, samples.shape[2], *outputs)

    return Sources(
        works=works,
        a=[*maps],
        b=[None] * len(works),
        shaped=shaped,
        macs=product.useful(a.sources.shape),
        beside=len(works) > batch,
    )


def computed(product: QuantisedProduct, a: Tensor, b: Tensor, image: Image) -> Sources:
    """Make products of matrices that are both in memory.

    A code of A is a byte and a number, and one of B as well: of the product of both sums, the bytes
    are one part of K, the bytes of one with the number of the other two more parts of it, and the
    numbers alone a bias.
    """
    offsets = a.offset - product.a_zero, b.offset - int(product.b_zero)
    rights = b.sources if b.sources.ndim > 1 else b.sources[:, None]
    lefts = a.sources.T if product.transposed else a.sources
    outer = np.broadcast_shapes(lefts.shape[:-2], rights.shape[:-2])
    (rows, depth), columns = lefts.shape[-2:], rights.shape[-1]
    lefts = np.broadcast_to(lefts, (*outer, rows, depth)).reshape(-1, rows, depth)
    rights = np.broadcast_to(rights, (*outer, depth, columns)).reshape(-1, depth, columns)
    (work,) = product.compile(
        image.target, np.zeros((1, depth), a.kind), np.zeros((depth, columns), b.kind), True
    ).works
    known = np.zeros(columns, np.int64) if product.bias is None else product.bias.astype(np.int64)
    bias = known + offsets[0] * offsets[1] * depth
    work = replace(work, bias=bias if bias.any() else None)
    number = image.target.mode.a
    ones, others = [lefts], [rights]
    for far in _parts(offsets[1], number.low, number.high):
        ones.append(lefts)
        others.append(np.full_like(rights, image.constant(np.array(far))))
    for far in _parts(offsets[0], number.low, number.high):
        ones.append(np.full_like(lefts, image.constant(np.array(far))))
        others.append(rights)
    whole, below = np.concatenate(ones, axis=2), np.concatenate(others, axis=1)
    check_depth(image.target, below.shape[1])
    shape = (*outer, rows, columns)
    return Sources(
        works=[work] * len(whole),
        a=list(whole),
        b=list(below),
        shaped=lambda places: np.stack(places).reshape(shape),
        macs=len(whole) * rows * depth * columns,
    )


def _parts(number: int, low: int, high: int) -> list[int]:
    """Return codes whose sum is a number."""
    cuts = []
    while number:
        cuts.append(min(max(number, low), high))
        number -= cuts[-1]
    return cuts


def _mean(product: MeanProduct, a: Tensor, image: Image) -> Sources | None:
    """Make a product of ones and a map of each sample; None: it is longer than K may be."""
    batch, channels, *space = a.sources.shape
    count = int(np.prod(space))
    if count > image.target.mode.k_max:
        return None
    maps: list[Any] = list(np.moveaxis(a.sources, 1, -1).reshape(batch, count, channels))
    (work,) = product.compile(image.target, np.zeros((1, 1, *space), a.kind), None, True).works
    assert work.a is not None
    assert work.bias is not None
    ones = replace(work, a=np.ones((1, count), np.int64), bias=np.repeat(work.bias, channels))
    shape = (batch, channels, *[1] * len(space))
    return Sources(
        works=[ones] * batch,
        a=[None] * batch,
        b=maps,
        macs=a.sources.size,
        shaped=lambda places: np.concatenate(places).reshape(shape),
    )
