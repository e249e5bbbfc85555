"""A product of a quantised network: codes with scales and zero points."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.driver import Number, Requantisation
from carrysave.driver.batch import Work
from golden.npe.requantiser import dyadic

from .product_base import Compiled, Cut, Operands
from .target import Target

__all__ = ["QuantisedProduct", "code_offset", "requantise"]


_SUMS: "np.dtype[Any]" = np.dtype(np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantisedProduct(Operands):
    """y = codes of scale * ((a - a_zero) x weights + bias), or those sums themselves.

    Parameters
    ----------
    a_zero, a_type : zero point and type of A's codes.
    b_zero, b_type : of a computed B; weights have their zero points subtracted.
    bias : N sums, or None.
    scale : float32, 1 or N; None: y holds sums.
    y_zero, y_codes, low, high : zero point, type and limits of y's codes.
    more : those of :class:`Operands`.
    """

    a_zero: int
    a_type: "np.dtype[Any]"
    b_zero: int = 0
    b_type: "np.dtype[Any] | None" = None
    bias: np.ndarray | None = None
    scale: np.ndarray | None = None
    y_zero: int = 0
    y_codes: "np.dtype[Any]" = _SUMS
    low: int = 0
    high: int = 0

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Type of y's codes, or sums."""
        return self.y_codes

    def _check(self, target: Target) -> None:
        target.check_integers()
        code_offset("A", self.a_type, target.mode.a)
        if self.scale is not None and target.requantises(self.scale.size):
            code_offset("C", self.y_type, target.info.codes)
            dyadic(self.scale)
        if self.weights is not None:
            _check_depth(target, self.weights.shape[-2] * len(_terms(target, self.weights)))

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        terms = 1 if self.weights is None else len(_terms(target, self.weights))
        bundle = self.bundle(target, target.mode.k_max // terms)
        cut = self.cut(a, self.a_zero, bundle)
        computed = None if b is None else b.astype(np.int64) - self.b_zero
        rights = self.rights(cut, computed, bundle)
        works = self._works(target, cut, rights)
        done = in_hardware and self.scale is not None and target.requantises(self.scale.size)
        y_offset = code_offset("C", self.y_type, target.info.codes) if done else 0
        if done:
            hows = _scales(self, rights, y_offset)
            works = [
                replace(work, requantisation=how) for work, how in zip(works, hows, strict=True)
            ]

        def finish(results: list[np.ndarray]) -> np.ndarray:
            y = cut.join(results)
            if self.scale is not None:
                y = y + y_offset if done else requantise(self, y)
            return cut.shaped(y).astype(self.y_type)

        return Compiled(works=works, cut=cut, finish=finish, macs=self.macs(cut, rights))

    def _works(self, target: Target, cut: Cut, rights: list[np.ndarray]) -> list[Work]:
        """Make works with sums as results, with codes and zero points in the engine's range."""
        offset = code_offset("A", self.a_type, target.mode.a)
        columns = rights if self.weights is not None else rights[:1]
        width = sum(right.shape[1] for right in columns)
        bias = np.zeros(width, np.int64) if self.bias is None else self.bias.astype(np.int64)
        works = []
        for left, right, own in zip(cut.lefts, rights, self.split(bias, rights), strict=True):
            parts = _terms(target, right)
            _check_depth(target, len(parts) * len(right))
            works.append(
                Work(
                    # Terms of B are stacked along K, and A is repeated along K.
                    a=np.tile(left.astype(np.int64) - offset, len(parts)),
                    b=np.concatenate(parts),
                    bias=own - (self.a_zero - offset) * right.sum(axis=0),
                    mode=target.mode,
                )
            )
        return works


def requantise(product: QuantisedProduct, sums: np.ndarray) -> np.ndarray:
    """Make codes of sums as onnxruntime does: one float32 product, halves to the even integer."""
    assert product.scale is not None
    least, most = (np.float32(limit - product.y_zero) for limit in (product.low, product.high))
    scaled = np.clip(sums.astype(np.float32) * product.scale, least, most)
    return np.rint(scaled).astype(np.int64) + product.y_zero


def code_offset(name: str, kind: "np.dtype[Any]", number: Number) -> int:
    """Return what is taken from codes of a type to make numbers of the engine of them."""
    info = np.iinfo(kind)
    low, high = int(info.min), int(info.max)
    offset = 0 if number.low <= low and high <= number.high else low - number.low
    if high - offset > number.high:
        raise ValueError(
            f"{name} has codes {low}..{high}; the engine takes {number.low}..{number.high}"
        )
    return offset


def _terms(target: Target, right: np.ndarray) -> list[np.ndarray]:
    """Split weights that are wider than the engine's into terms that are not."""
    number = target.mode.b
    terms: list[np.ndarray] = []
    while right.any() or not terms:
        terms.append(np.clip(right, number.low, number.high))
        right = right - terms[-1]
    return terms


def _check_depth(target: Target, depth: int) -> None:
    most = target.mode.k_max
    if depth > most:
        raise ValueError(f"K must be 1..{most}, the engine's k_max, not {depth}")


def _scales(
    product: QuantisedProduct, rights: list[np.ndarray], offset: int
) -> list[Requantisation]:
    """Make requantisations for the columns of each work: float32 scales, exactly."""
    assert product.scale is not None
    multiplier, shift = dyadic(product.scale)
    one = len(shift) == 1
    multipliers, shifts = (
        [values] * len(rights) if one else product.split(values, rights)
        for values in (multiplier, shift)
    )
    return [
        Requantisation(
            multiplier=int(factor[0]) if one else factor,
            shift=int(places[0]) if one else places,
            zero_point=product.y_zero - offset,
            low=product.low - offset,
            high=product.high - offset,
        )
        for factor, places in zip(multipliers, shifts, strict=True)
    ]
