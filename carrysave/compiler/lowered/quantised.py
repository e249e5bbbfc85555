"""A product of a quantised network: codes with scales and zero points."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.graph.patches import Patched, toeplitz
from carrysave.compiler.lowered.bipolar import bipolar_work, check_bipolar
from carrysave.compiler.lowered.engine_codes import (
    check_depth,
    check_weights,
    code_offset,
    engine_weights,
    moved,
    terms_of,
)
from carrysave.compiler.lowered.operands import Compiled, Cut, Operands
from carrysave.compiler.lowered.requantised import requantised
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.mapping import Mapping, choose
from carrysave.driver.batch import Work
from golden.npe.requantiser import dyadic

__all__ = ["QuantisedProduct", "requantise"]


_SUMS: "np.dtype[Any]" = np.dtype(np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantisedProduct(Operands):
    """y = codes of scale * ((a - a_zero) x weights + bias), or those sums themselves.

    Parameters
    ----------
    a_zero, a_type : zero point and type of A's codes.
    b_zero, b_type : of a computed B, one or N; weights have their zero points subtracted.
    a_late, b_late : names of zero points that are known when it runs, or "".
    bias : N sums, or None.
    scale : float32, 1 or N; None: y holds sums.
    y_zero, y_codes, low, high : zero point, type and limits of y's codes.
    turns, patches : activations may take the place of B; a row may have several outputs.
    more : those of :class:`Operands`.
    """

    a_zero: int
    a_type: "np.dtype[Any]"
    b_zero: int | np.ndarray = 0
    b_type: "np.dtype[Any] | None" = None
    a_late: str = ""
    b_late: str = ""
    bias: np.ndarray | None = None
    scale: np.ndarray | None = None
    y_zero: int = 0
    y_codes: "np.dtype[Any]" = _SUMS
    low: int = 0
    high: int = 0
    turns: bool = True
    patches: bool = True

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Type of y's codes, or sums."""
        return self.y_codes

    @property
    def why(self) -> str:
        """Why codes may differ."""
        if self.operator == "ConvTranspose":
            return "rounds exact sums once; onnxruntime has no kernel of codes, and rounds floats"
        return super().why

    @property
    def late(self) -> tuple[str, ...]:
        """Names of the zero points that are known when it runs."""
        return (self.a_late, self.b_late) if self.a_late or self.b_late else ()

    def bound(self, *values: np.ndarray | None) -> "QuantisedProduct":
        """Return this product with these zero points."""
        a_zero, b_zero = (*values, None, None)[:2]
        product = self
        if a_zero is not None:
            if a_zero.size != 1:
                raise self._named(ValueError(f"A must have one zero point, not {a_zero.size}"))
            product = replace(product, a_zero=int(a_zero.reshape(())), a_late="")
        if b_zero is None:
            return product
        zero = b_zero.astype(np.int64)
        if self.weights is None:
            return replace(
                product, b_zero=zero if zero.size > 1 else int(zero.reshape(())), b_late=""
            )
        columns = self.weights.size // self.weights.shape[-2]
        if zero.size not in (1, columns):
            text = f"zero points of B must be 1 or {columns}, not {zero.size}"
            raise self._named(ValueError(text))
        # One for each column of each group.
        spread = (*self.weights.shape[:-2], 1, -1) if zero.size > 1 else ()
        return replace(product, weights=self.weights - zero.reshape(spread), b_late="")

    def _check(self, target: Target) -> None:
        target.check_integers()
        if not target.bipolar:
            code_offset("A", self.a_type, target.mode.a)
        elif not self.b_late:
            check_bipolar(target, self.weights)
        if self.scale is not None and target.requantises(self.scale.size):
            code_offset("C", self.y_type, target.info.codes)
            dyadic(self.scale)
        check_weights(target, self.weights, late=bool(self.b_late))

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        done = in_hardware and self.scale is not None and target.requantises(self.scale.size)
        # Patches have weights of 0, and so have bundles of groups; no bipolar code is that.
        mapping = self._mapping(target, a, done) if self.patches and not target.bipolar else None
        if mapping is not None and mapping[1]:
            return self._turned(target, a, mapping[0], in_hardware)
        if mapping is not None:
            assert self.weights is not None
            made = toeplitz(self.weights, mapping[0])
            return replace(self, weights=made, windows=mapping[0])._laid(target, a, b, done)
        return self._laid(target, a, b, done)

    def _mapping(self, target: Target, a: np.ndarray, done: bool) -> Mapping | None:
        """Choose how a convolution goes onto the engine."""
        if self.windows is None or self.weights is None or a.ndim != 2 + len(self.windows.kernel):
            return None
        fits = target.mode.a.low <= self.weights.min() and self.weights.max() <= target.mode.a.high
        # Activations are of no table.
        codes = None if target.mode.expander.bits else limits(self.a_type)
        number = target.mode.b
        fits = fits and codes is not None and codes[1] - codes[0] <= number.high - number.low
        return choose(
            target,
            self.windows,
            self.weights.shape,
            a.shape,
            scales=self.scale.size if done and self.scale is not None else 0,
            terms=terms_of(target, self.weights),
            turns=fits and self.turns and self.weights.shape[-1] == 1,
        )

    def _turned(
        self, target: Target, a: np.ndarray, windows: Patched, in_hardware: bool
    ) -> Compiled:
        """Make works, one for each channel, with weights as A, and activations as B."""
        assert self.weights is not None
        done = in_hardware and self.scale is not None and target.requantises(1)
        y_offset = code_offset("C", self.y_type, target.info.codes) if done else 0
        offset = code_offset("A", self.a_type, target.mode.b)
        columns = toeplitz(self.weights, windows)
        product = replace(self, weights=columns, windows=windows)
        cut = product.cut(a, self.a_zero, 1)
        bias = np.zeros(len(self.weights), np.int64) if self.bias is None else self.bias
        # All rows of a work have the weights of one channel, and so one bias and scale.
        bias = bias.astype(np.int64) - (self.a_zero - offset) * self.weights.sum(axis=(1, 2))
        works = [
            Work(
                a=made.T,
                b=moved(left.T, offset, target.mode.b),
                bias=np.full(len(left), one),
                mode=target.mode,
            )
            for made, left, one in zip(columns, cut.lefts, bias, strict=True)
        ]
        if done:
            works = self._scaled(works, list(self.weights), y_offset)

        def finish(results: list[np.ndarray]) -> np.ndarray:
            return product._finished(cut, [one.T for one in results], done, y_offset)

        return Compiled(works=works, cut=cut, finish=finish, macs=cut.useful)

    def _laid(self, target: Target, a: np.ndarray, b: np.ndarray | None, done: bool) -> Compiled:
        """Make works with activations as A."""
        terms = 1 if self.weights is None else terms_of(target, self.weights)
        bundle = 1 if target.bipolar else self.bundle(target, target.mode.k_max // terms)
        cut = self.cut(a, self.a_zero, bundle)
        rest = self._rest(target, b)
        computed = None if b is None else b.astype(np.int64) - (self.b_zero - rest)
        if b is not None and computed is not None and computed.shape != b.shape:
            shape = " x ".join(map(str, np.shape(self.b_zero)))
            raise ValueError(f"zero points of B must be one for each column, not {shape}")
        rights = self.rights(cut, computed, bundle)
        works = self._works(target, cut, rights)
        y_offset = code_offset("C", self.y_type, target.info.codes) if done else 0
        if done:
            works = self._scaled(works, rights, y_offset)

        def finish(results: list[np.ndarray]) -> np.ndarray:
            if np.any(rest):
                rows = [left.astype(np.int64).sum(axis=1, keepdims=True) for left in cut.lefts]
                results = [
                    result - (row - left.shape[1] * self.a_zero) * rest
                    for result, row, left in zip(results, rows, cut.lefts, strict=True)
                ]
            return self._finished(cut, results, done, y_offset)

        return Compiled(works=works, cut=cut, finish=finish, macs=self.macs(cut, rights))

    def _scaled(self, works: list[Work], rights: list[np.ndarray], offset: int) -> list[Work]:
        """Let works make codes; those with as many B have a part of the scales each."""
        assert self.scale is not None
        ends = self.y_zero - offset, self.low - offset, self.high - offset
        requantisations = requantised(self, self.scale, rights, ends)
        return [
            replace(work, requantisation=one)
            for work, one in zip(works, requantisations, strict=True)
        ]

    def _finished(self, cut: Cut, results: list[np.ndarray], done: bool, offset: int) -> np.ndarray:
        """Make y of results."""
        y = cut.join(results)
        if self.scale is not None:
            y = y + offset if done else requantise(self, y, self.per_column(self.scale))
        return cut.shaped(y).astype(self.y_type)

    def _rest(self, target: Target, b: np.ndarray | None) -> int | np.ndarray:
        """Return the part of a computed B's zero points that the host takes out, from sums.

        With it, codes less the zero points are wider than the engine's, and would come as two
        terms. Codes that are requantised in hardware have them, since it takes no bias by rows.
        """
        if b is None or self.scale is not None or np.ndim(self.b_zero) > 1 or target.bipolar:
            return 0
        number, ends = target.mode.b, limits(b.dtype)
        if ends is None or ends[1] - ends[0] > number.high - number.low:
            return 0
        return self.b_zero - code_offset("B", b.dtype, number)

    def _works(self, target: Target, cut: Cut, rights: list[np.ndarray]) -> list[Work]:
        """Make works with sums as results, with codes and zero points in the engine's range."""
        columns = rights[:1] if self.weights is None or self.outer else rights
        width = sum(right.shape[1] for right in columns)
        bias = np.zeros(width, np.int64)
        if self.bias is not None:
            bias = self.per_column(self.bias.astype(np.int64))
        parts = zip(cut.lefts, rights, self.split(bias, rights), strict=True)
        if target.bipolar:
            return [
                bipolar_work(target, left.astype(np.int64) - self.a_zero, right, biases)
                for left, right, biases in parts
            ]
        offset = code_offset("A", self.a_type, target.mode.a)
        works = []
        for left, right, biases in parts:
            made = engine_weights(target, right)
            check_depth(target, len(made.codes))
            a, terms = moved(left, offset, target.mode.a), len(made.codes) // len(right)
            works.append(
                Work(
                    a=a if terms == 1 else np.tile(a, terms),
                    b=made.codes,
                    bias=biases - (self.a_zero - offset) * made.sums,
                    mode=made.mode,
                    b_zeros=made.zeros,
                )
            )
        return works


def requantise(product: QuantisedProduct, sums: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Make codes of sums as onnxruntime does: one float32 product, halves to the even integer."""
    least, most = (np.float32(limit - product.y_zero) for limit in (product.low, product.high))
    scaled = np.clip(sums.astype(np.float32) * scale, least, most)
    return np.rint(scaled).astype(np.int64) + product.y_zero
