"""Products of computed integers, each of which may go on with the sums of the one before."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.compiler.lowered.engine_codes import check_depth, check_weights
from carrysave.compiler.lowered.operands import Compiled, Cut, Operands
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from golden.soc.row_factors import scaled

__all__ = ["StateProduct"]

_LEAST_BITS = 4
"""Of a digit: a state has as many as 32 bits."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StateProduct(Operands):
    """y = A x B for each of chains x steps; or C = C * factor + A x B, step by step of a chain.

    Where the co-processor has factors of rows, each step is a job that goes on with the sums of the
    one before; where it has none, the host goes on with the sums of its own job, by the same
    integers.

    Parameters
    ----------
    factors : chains x steps x M, of 2^-15 each; None: steps are independent.
    first : chains x M x N, C before the first step; None: there is none, and the first factors have
        nothing to multiply.
    more : those of :class:`.operands.Operands`; A and B are integers of the engine, chains x steps
        x M x K and chains x steps x K x N.
    """

    factors: np.ndarray | None = None
    first: np.ndarray | None = None

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Type of sums."""
        return np.dtype(np.int64)

    def _check(self, target: Target) -> None:
        target.check_integers()
        for name, number in (("A", target.mode.a), ("B", target.mode.b)):
            if number.low != -number.high - 1 or number.bits < _LEAST_BITS:
                text = (
                    f"the engine must have {name} in two's complement of {_LEAST_BITS} bits or more"
                )
                raise ValueError(f"{text}, not {number.low}..{number.high}")
        check_weights(target, None, late=False)

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        assert b is not None
        check_depth(target, a.shape[-1])
        going_on = self.factors is not None and target.spec.row_factors
        works = [
            self._work(target, (a[chain, step], b[chain, step]), chain, step, going_on)
            for chain, step in np.ndindex(*a.shape[:2])
        ]
        shape = (*a.shape[:-1], b.shape[-1])

        def finish(results: list[np.ndarray]) -> np.ndarray:
            sums = np.stack(results).astype(np.int64).reshape(shape)
            return sums if self.factors is None or going_on else self._gone_on(sums)

        cut = Cut(lefts=[one.a for one in works if one.a is not None], shape=shape[:-1])
        macs = int(np.prod(a.shape)) * b.shape[-1]
        return Compiled(works=works, cut=cut, finish=finish, macs=macs)

    def _work(
        self,
        target: Target,
        operands: tuple[np.ndarray, np.ndarray],
        chain: int,
        step: int,
        going_on: bool,
    ) -> Work:
        """Make the work of a step."""
        existing = self.first[chain] if self.first is not None and not step else None
        factors = None
        if going_on and (step or existing is not None):
            assert self.factors is not None
            factors = self.factors[chain, step]
        return Work(
            a=operands[0],
            b=operands[1],
            mode=target.mode,
            row_factors=factors,
            existing=None if factors is None else existing,
        )

    def _gone_on(self, sums: np.ndarray) -> np.ndarray:
        """Add to the sums of each step those of the steps before."""
        assert self.factors is not None
        made, before = [], self.first
        for step in range(sums.shape[1]):
            now = sums[:, step]
            if before is not None:
                rows = self.factors[:, step].reshape(-1)
                now = now + scaled(before.reshape(len(rows), -1), rows).reshape(now.shape)
            made.append(now)
            before = now
        return np.stack(made, axis=1)
