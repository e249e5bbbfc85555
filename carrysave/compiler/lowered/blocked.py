"""A product whose weights have a scale for each block of K, summed block by block."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.lowered.operands import Compiled, Operands
from carrysave.compiler.lowered.quantised import QuantisedProduct
from carrysave.compiler.target.target import Target

__all__ = ["BlockedProduct"]

_FLOAT: "np.dtype[Any]" = np.dtype(np.float32)
_CODES: "np.dtype[Any]" = np.dtype(np.int8)
_MOST = np.float32(127)


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockedProduct(Operands):
    """y = the sum over blocks of a_scale * b_steps * (a x weights) + bias, in float32.

    The sums of a block are exact, and made by the engine; the host scales and adds them.

    Parameters
    ----------
    block : rows of the weights that share a scale; the last one may have fewer.
    b_steps : float32, blocks x N.
    a_scale, a_zero, a_type : of A's codes. None: A is of floats, and each block of a row is
        rounded to int8 by its largest magnitude, as onnxruntime does at accuracy level 4.
    bias : float32, N, or None.
    rounds : what is rounded that onnxruntime takes as it is; empty if nothing is.
    more : those of :class:`Operands`; weights have their zero points subtracted.
    """

    block: int
    b_steps: np.ndarray
    a_scale: np.float32 | None = None
    a_zero: int = 0
    a_type: "np.dtype[Any]" = _CODES
    bias: np.ndarray | None = None
    rounds: str = ""

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Of floats."""
        return _FLOAT

    @property
    def why(self) -> str:
        """Why values may differ."""
        if self.rounds:
            return (
                f"rounds {self.rounds}, which onnxruntime takes as they are. Counted in units in"
                " the last place of the largest"
            )
        return (
            "adds the floats of blocks in their order, onnxruntime in another; it multiplies floats"
            " where it has no int8 kernel. Counted in units in the last place of the largest"
        )

    @property
    def _parts(self) -> list[QuantisedProduct]:
        """One product for each block, with sums as results."""
        assert self.weights is not None
        return [
            QuantisedProduct(
                name=self.name, operator=self.operator, a=self.a, b="", y=self.y,
                weights=self.weights[at : at + self.block], a_zero=self.a_zero, a_type=self.a_type,
            )
            for at in range(0, len(self.weights), self.block)
        ]  # fmt: skip

    def _check(self, target: Target) -> None:
        for part in self._parts:
            part._check(target)

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        assert self.weights is not None
        if not a.ndim or a.shape[-1] != len(self.weights):
            raise ValueError(
                f"A must have K of {len(self.weights)}, not {' x '.join(map(str, a.shape))}"
            )
        places = range(0, len(self.weights), self.block)
        lefts = [a[..., at : at + self.block] for at in places]
        steps: list[Any] = [np.float32(self.a_scale or 1)] * len(lefts)
        if self.a_scale is None:
            pairs = [_rounded(left) for left in lefts]
            lefts, steps = [codes for codes, _ in pairs], [step for _, step in pairs]
        made = [
            part._compile(target, left, None, False)
            for part, left in zip(self._parts, lefts, strict=True)
        ]

        def finish(results: list[np.ndarray]) -> np.ndarray:
            y = np.zeros((*a.shape[:-1], self.b_steps.shape[1]), _FLOAT)
            rest = iter(results)
            for one, step, b_step in zip(made, steps, self.b_steps, strict=True):
                sums = one.finish([next(rest) for _ in one.works])
                y += sums.astype(_FLOAT) * (step * b_step)
            return y if self.bias is None else y + self.bias

        works = [work for one in made for work in one.works]
        return Compiled(
            works=works, cut=made[0].cut, finish=finish, macs=sum(one.macs for one in made)
        )


def _rounded(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round rows to int8; return codes, and a scale for each row."""
    if not np.isfinite(a).all():
        raise ValueError("A must be finite")
    a = a.astype(_FLOAT)
    most = np.abs(a).max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        factor = _MOST / most
    # Of zeros, and of numbers too small for a factor, codes are zeros.
    factor = np.where(np.isfinite(factor), factor, np.float32(0))
    return np.rint(a * factor).astype(_CODES), most / _MOST
