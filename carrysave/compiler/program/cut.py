"""Matrices of addresses: products are cut by their own compiler, with addresses for codes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.lowered.engine_codes import check_depth
from carrysave.compiler.lowered.mean import MeanProduct
from carrysave.compiler.lowered.operands import Compiled
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.program.bundles import bundled
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.windows import Map, window_works
from carrysave.driver.batch import Work
from carrysave.driver.system import Tensor

__all__ = ["Part", "Sources", "addressed", "computed", "cut"]

_FAR = 1 << 40
"""Added to addresses, so that they are no codes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A work, and where its codes are.

    Members
    -------
    work : of the product.
    a, b : sources of its operands, addresses or codes; None: those of the work. A may be windows of
        a map.
    """

    work: Work
    a: np.ndarray | Map | None = None
    b: np.ndarray | None = None

    @property
    def rows(self) -> int:
        """Rows of the result."""
        if isinstance(self.a, Map):
            return self.a.rows
        return len(np.asarray(self.work.a if self.a is None else self.a))

    @property
    def columns(self) -> int:
        """Columns of the result."""
        return int(np.asarray(self.work.b if self.b is None else self.b).shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Sources:
    """A product, and where its codes are.

    Members
    -------
    parts : its works, in order.
    shaped : makes addresses of y of those of the results.
    macs : products of codes that the model needs.
    beside : matrices A have rows in common: those of results lie side by side.
    """

    parts: list[Part]
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
    compiled, lefts = addressed(replace(product, turns=False), a, image)
    parts = []
    for work, far in zip(compiled.works, lefts, strict=True):
        sources_of = np.where(far >= 0, far, image.constant(np.asarray(work.a)))
        row = sources_of[(sources_of >= 0).sum(axis=1).argmax()]
        order = np.argsort(np.where(row >= 0, row, _FAR), kind="stable")
        parts.append(Part(work=replace(work, b=work.b[order]), a=sources_of[:, order]))
    join, shaped = compiled.cut.join, compiled.cut.shaped
    return Sources(
        parts=parts,
        shaped=lambda places: shaped(join(places)),
        macs=compiled.macs,
        beside=not compiled.cut.batched,
    )


def addressed(
    product: QuantisedProduct, a: Tensor, image: Image
) -> tuple[Compiled, list[np.ndarray]]:
    """Compile a product, with the addresses of each A; below 0 where it has known codes."""
    compiled = product.compile(image.target, a.sources + _FAR, None, True)
    # The compiler takes the offset from all codes, and so from addresses.
    return compiled, [np.asarray(work.a) + a.offset - _FAR for work in compiled.works]


def _windows(product: QuantisedProduct, a: Tensor, image: Image) -> Sources | None:
    """Have the loader make windows of a map; None: it cannot."""
    made = window_works(product, a, image)
    if made is None:
        return None
    works, maps, outputs = made
    batch, columns = a.sources.shape[0], works[0].b.shape[1]
    if len(works) == batch:
        # Of each sample one: the same work, elsewhere.
        work, first, count = bundled(works[0], maps[0], image.target)
        if count > 1:
            works = [work] * batch
            maps = [replace(one, window=first.window, rows=first.rows) for one in maps]

    def shaped(places: list[np.ndarray]) -> np.ndarray:
        if len(works) == batch:
            places = [one.reshape(-1, columns) for one in places]
        samples = np.concatenate(places, axis=1).reshape(len(places[0]), batch, -1)
        return samples.transpose(1, 2, 0).reshape(batch, samples.shape[2], *outputs)

    return Sources(
        parts=[Part(work=work, a=one) for work, one in zip(works, maps, strict=True)],
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
        parts=[Part(work=work, a=one, b=other) for one, other in zip(whole, below, strict=True)],
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
    maps = np.moveaxis(a.sources, 1, -1).reshape(batch, count, channels)
    (work,) = product.compile(image.target, np.zeros((1, 1, *space), a.kind), None, True).works
    assert work.a is not None
    assert work.bias is not None
    ones = replace(work, a=np.ones((1, count), np.int64), bias=np.repeat(work.bias, channels))
    shape = (batch, channels, *[1] * len(space))
    return Sources(
        parts=[Part(work=ones, b=one) for one in maps],
        macs=a.sources.size,
        shaped=lambda places: np.concatenate(places).reshape(shape),
    )
