"""A product of a quantised network, and the matrices of codes that a co-processor gets of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.driver import Number, Requantisation
from golden.npe.requantiser import dyadic

from .target import Target
from .windows import Windows
from .work import Work

__all__ = ["Compiled", "Product", "requantise"]


_SUMS: "np.dtype[Any]" = np.dtype(np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Product:
    """y = codes of scale * ((a - a_zero) x weights + bias), or those sums themselves.

    Parameters
    ----------
    name, operator : of the node, as the model has them.
    a, b, y : tensors; `b` is "" where it is known.
    a_zero, a_type : zero point and type of A's codes.
    weights : B less its zero points: K x N, or groups x K x N; None if `b` is computed.
    b_zero, b_type : of a B that is computed.
    bias : N sums, or None.
    scale : float32, 1 or N; None: y is of sums.
    y_zero, y_type, low, high : zero point, type and limits of y's codes.
    windows : what a convolution sees; None for a product of matrices.
    transposed : A is K x M.
    """

    name: str
    operator: str
    a: str
    b: str
    y: str
    a_zero: int
    a_type: "np.dtype[Any]"
    weights: np.ndarray | None
    b_zero: int = 0
    b_type: "np.dtype[Any] | None" = None
    bias: np.ndarray | None = None
    scale: np.ndarray | None = None
    y_zero: int = 0
    y_type: "np.dtype[Any]" = _SUMS
    low: int = 0
    high: int = 0
    windows: Windows | None = None
    transposed: bool = False

    def check(self, target: Target) -> None:
        """Refuse what the co-processor cannot take, as far as it is known before.

        Raises
        ------
        ValueError
            Codes or sizes that it does not take; names the node.
        """
        try:
            _offset("A", self.a_type, target.info.a, target)
            if self.scale is not None and target.requantises(self.scale.size):
                _offset("C", self.y_type, target.info.codes, target)
            if self.weights is not None:
                _check_depth(target, self.weights.shape[-2] * len(_terms(target, self.weights)))
        except ValueError as error:
            raise ValueError(f"{self.operator} {self.name!r}: {error}") from None

    def compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> "Compiled":
        """Make matrices of codes.

        Parameters
        ----------
        target : the co-processor.
        a, b : codes, as the model has them; `b` is None where it is known.
        in_hardware : the co-processor requantises, if it can; else whoever has its sums.

        Raises
        ------
        ValueError
            Codes or sizes that it does not take; names the node.
        """
        try:
            return _compile(self, target, a, b, in_hardware)
        except ValueError as error:
            raise ValueError(f"{self.operator} {self.name!r}: {error}") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """What is to be run of a product, and how its output is put together.

    Members
    -------
    works : independent of each other.
    finish : makes y, as the model has it, of what the works make.
    macs : products that count.
    """

    works: list[Work]
    finish: Callable[[list[np.ndarray]], np.ndarray]
    macs: int


def requantise(product: Product, sums: np.ndarray) -> np.ndarray:
    """Make codes of sums as onnxruntime does: one float32 product, halves to the even integer."""
    assert product.scale is not None
    least, most = (np.float32(limit - product.y_zero) for limit in (product.low, product.high))
    scaled = np.clip(sums.astype(np.float32) * product.scale, least, most)
    return np.rint(scaled).astype(np.int64) + product.y_zero


def _compile(
    product: Product, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
) -> Compiled:
    lefts, shape, order = _lefts(product, target, a)
    a_offset = _offset("A", product.a_type, target.info.a, target)
    rights, biases = _rights(product, target, lefts, b)
    works = []
    for left, right, bias in zip(lefts, rights, biases, strict=True):
        zero = product.a_zero - a_offset
        bias = bias - zero * right.sum(axis=0)
        left, right = _split(target, left.astype(np.int64) - a_offset, right)
        _check_depth(target, left.shape[1])
        works.append(Work(a=left, b=right, bias=bias))
    batched = product.weights is None and a.ndim > 2
    columns = works[0].b.shape[1] if batched else sum(work.b.shape[1] for work in works)
    done = in_hardware and product.scale is not None and target.requantises(product.scale.size)
    y_offset = 0
    if done:
        y_offset = _offset("C", product.y_type, target.info.codes, target)
        works = [
            Work(a=work.a, b=work.b, bias=work.bias, requantisation=how)
            for work, how in zip(works, _scales(product, works, y_offset), strict=True)
        ]

    def finish(results: list[np.ndarray]) -> np.ndarray:
        y = np.concatenate(results, axis=0 if batched else 1)
        if product.scale is not None:
            y = y + y_offset if done else requantise(product, y)
        y = y.reshape(*shape, columns).astype(product.y_type)
        return np.moveaxis(y, -1, 1) if order else y

    depth = lefts[0].shape[1] if product.weights is None else product.weights.shape[-2]
    return Compiled(works=works, finish=finish, macs=int(np.prod(shape)) * columns * depth)


def _offset(name: str, kind: "np.dtype[Any]", number: Number, target: Target) -> int:
    info = np.iinfo(kind)
    return target.offset(name, int(info.min), int(info.max), number)


def _lefts(
    product: Product, target: Target, a: np.ndarray
) -> tuple[list[np.ndarray], tuple[int, ...], bool]:
    """Make matrices A, and the shape of y without its columns; whether those go to axis 1."""
    if product.windows is None:
        if product.weights is None and a.ndim > 2:
            return list(a.reshape(-1, *a.shape[-2:])), a.shape[:-1], False
        a = a.T if product.transposed else a
        return [a.reshape(-1, a.shape[-1])], a.shape[:-1], False
    assert product.weights is not None
    groups, depth, _ = product.weights.shape
    seen = product.windows.cut(a, product.a_zero)
    shape = seen.shape[: 1 + len(product.windows.kernel)]
    bundle = _bundle(product.weights, target)
    rows = seen.reshape(int(np.prod(shape)), groups * depth)
    parts = [rows[:, at : at + bundle * depth] for at in range(0, groups * depth, bundle * depth)]
    return parts, shape, True


def _bundle(weights: np.ndarray, target: Target) -> int:
    """Count the groups whose columns fill a row of the engine's tile, as far as K goes."""
    groups, depth, columns = weights.shape
    deep = target.info.k_max // (depth * len(_terms(target, weights)))
    return min(groups, max(1, min(target.info.stores.tile_n // columns, deep)))


def _rights(
    product: Product, target: Target, lefts: list[np.ndarray], b: np.ndarray | None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Make matrices B, less their zero points, and biases, for each A.

    Groups of a convolution stand in blocks along the diagonal.
    """
    weights = product.weights
    if weights is None:
        assert b is not None
        matrices = list((b.astype(np.int64) - product.b_zero).reshape(-1, *b.shape[-2:]))
        if len(matrices) == 1:
            matrices *= len(lefts)
        if len(matrices) != len(lefts):
            raise ValueError(
                f"A and B must have as many matrices, not {len(lefts)}, {len(matrices)}"
            )
        return matrices, [_bias(product, matrices[0].shape[1])] * len(matrices)
    if weights.ndim == 2:
        return [weights], [_bias(product, weights.shape[1])]
    groups, depth, columns = weights.shape
    bundle = _bundle(weights, target)
    bias = _bias(product, groups * columns)
    rights, biases = [], []
    for start in range(0, groups, bundle):
        own = weights[start : start + bundle]
        right = np.zeros((len(own), depth, len(own), columns), np.int64)
        places = np.arange(len(own))
        right[places, :, places] = own
        rights.append(right.reshape(len(own) * depth, len(own) * columns))
        biases.append(bias[start * columns : (start + len(own)) * columns])
    return rights, biases


def _bias(product: Product, columns: int) -> np.ndarray:
    return np.zeros(columns, np.int64) if product.bias is None else product.bias.astype(np.int64)


def _terms(target: Target, right: np.ndarray) -> list[np.ndarray]:
    """Split weights that are wider than the engine's into terms that are not."""
    number = target.info.b
    terms: list[np.ndarray] = []
    while right.any() or not terms:
        terms.append(np.clip(right, number.low, number.high))
        right = right - terms[-1]
    return terms


def _split(target: Target, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Let terms of B stand below each other, and A as often beside each other."""
    terms = _terms(target, right)
    return np.tile(left, len(terms)), np.concatenate(terms)


def _check_depth(target: Target, depth: int) -> None:
    if depth > target.info.k_max:
        raise ValueError(f"K must be 1..{target.info.k_max}, the engine's depth, not {depth}")


def _scales(product: Product, works: list[Work], offset: int) -> list[Requantisation]:
    """Make requantisations, for the columns of each work: float32 scales, without any rounding."""
    assert product.scale is not None
    multiplier, shift = dyadic(product.scale)
    found, at = [], 0
    for work in works:
        part = slice(at, at + work.b.shape[1]) if len(shift) > 1 else slice(None)
        if product.weights is not None:
            at += work.b.shape[1]
        one = len(shift) == 1
        found.append(
            Requantisation(
                multiplier=int(multiplier[0]) if one else multiplier[part],
                shift=int(shift[0]) if one else shift[part],
                zero_point=product.y_zero - offset,
                low=product.low - offset,
                high=product.high - offset,
            )
        )
    return found
