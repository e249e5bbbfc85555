"""Chunks of linear attention: four products of each, whose integers are digits of the engine."""

from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.lowered.digits import digit_count, digits_of, sum_of_digits
from carrysave.compiler.lowered.layer import Product
from carrysave.compiler.lowered.linear_tokens import Digits, Tokens
from carrysave.compiler.lowered.state_product import StateProduct
from carrysave.driver.number import Number
from golden.elementary import exp
from golden.soc.row_factors import ONE

__all__ = ["Chunks"]

_STATE = 1 << 30
"""States are read as if they were as large as this, so that few tokens take as long as many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunks:
    """How chunks are multiplied.

    Members
    -------
    ends : least and greatest integer of queries, of keys, and of values less their offset.
    offset : what is taken from values, that they be of fewer digits; the host adds it again.
    a, b : numbers of the engine.
    weighted : of keys as they are added to the state, which has as many bits behind the point.
    spread : of queries as A and of keys as B, where each number has a decay of its own.
    state, read, scores, context : the products.
    """

    ends: tuple[tuple[int, int], ...]
    offset: int
    a: Number
    b: Number
    weighted: Digits
    spread: tuple[Digits, Digits]
    state: StateProduct
    read: StateProduct
    scores: StateProduct
    context: StateProduct

    def run(
        self, multiply: Product, part: Tokens, state: np.ndarray | None, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return results and the state behind.

        Parameters
        ----------
        part : tokens by chunks.
        state : before them, chains x width of keys x width of values, with the bits of `weighted`
            behind the point; None: zeros.
        most : the greatest magnitude that the state may have, without these bits.

        Returns
        -------
        Chains x heads x tokens x width, in units of all steps; the state.
        """
        part = replace(part, values=part.values - self.offset)
        after = self._states(multiply, part, state)
        if part.keys.shape[2] == 1:
            results = self._read(multiply, replace(part, decay=None), after, most)
        else:
            first = np.zeros_like(after[:, 0]) if state is None else state
            before = np.concatenate([first[:, None], after[:, :-1]], axis=1)
            results = self._read(multiply, part, before, most) + self._seen(multiply, part)
        results = np.moveaxis(results, 1, 2)
        return results.reshape(*results.shape[:2], -1, results.shape[-1]), after[:, -1]

    def _states(self, multiply: Product, part: Tokens, state: np.ndarray | None) -> np.ndarray:
        """Return the state behind each chunk: gamma * S + K^T V."""
        keys, size, digits = part.keys, part.keys.shape[-1], self.weighted
        factors = np.full((*keys.shape[:2], size), ONE)
        if part.decay is not None:
            last = part.decay[:, :, -1:]
            keys = _weighted(keys, last - part.decay, digits)
            factors = np.broadcast_to(np.rint(exp(last[:, :, 0]) * ONE), factors.shape)
        left = digits_of(keys.swapaxes(2, 3), digits.count, self.a, 2)
        right = self._values(part)
        first = None
        if state is not None:
            first = np.zeros((len(left), left.shape[2], right[0].shape[3]), np.int64)
            first[:, : state.shape[1], : state.shape[2]] = state
        factors = np.tile(factors.astype(np.int64), digits.count)
        product = replace(self.state, factors=factors, first=first)
        made = self._multiplied(multiply, product, (left, digits), right)
        if not self.offset:
            return made
        more, sums = np.zeros((len(keys), size)), []
        for step in range(keys.shape[1]):
            more = more * (factors[:, step, :size] / ONE) + keys[:, step].sum(axis=1)
            sums.append(more)
        both: np.ndarray = made + np.rint(self.offset * np.stack(sums, axis=1)[..., None])
        return both.astype(np.int64)

    def _read(self, multiply: Product, part: Tokens, states: np.ndarray, most: int) -> np.ndarray:
        """Return Q S, chains x chunks x heads x tokens x width."""
        bits, most = self.weighted.bits, max(most, _STATE)
        whole = states + ((1 << bits) >> 1) >> bits
        digits = Digits(digit_count(-most, most, self.b))
        right = digits_of(whole, digits.count, self.b, 3), digits
        left = self._queries(part.queries, part.decay)
        made = self._multiplied(multiply, self.read, left, right)
        made = made.reshape(*part.queries.shape[:-1], -1)
        if part.decay is None or part.by_number:
            return np.ldexp(made, -left[1].bits)
        weighted: np.ndarray = made * exp(part.decay)[:, :, None]
        return weighted

    def _seen(self, multiply: Product, part: Tokens) -> np.ndarray:
        """Return Q K^T times V, without what is behind each query."""
        tokens, size = part.queries.shape[3:]
        seen, keys, digits = np.tri(tokens, dtype=bool), part.keys, Digits(self._count(1, self.b))
        decay, far = None, np.zeros((1, 1, 1, 1))
        if part.decay is not None and part.by_number:
            decay = part.decay - part.decay[:, :, tokens // 2, None]
            digits = self.spread[1]
            keys = _weighted(keys, -decay, digits)
        elif part.decay is not None:
            far = np.where(seen, part.decay - part.decay.swapaxes(2, 3), 0)
        left = self._queries(part.queries, decay)
        right = digits_of(keys.swapaxes(2, 3), digits.count, self.b, 3), digits
        scores = self._multiplied(multiply, self.scores, left, right)
        scores = np.where(seen, scores.reshape(*part.queries.shape[:-1], tokens), 0)
        most = size * max(map(abs, self.ends[0])) * max(map(abs, self.ends[1]))
        digits = Digits(digit_count(-most, most, self.a))
        if part.decay is not None:
            # As many bits as the digits of scores leave.
            digits = Digits.weighted((-most, most), self.a, fewest=0)
            less = digits.bits - left[1].bits - right[1].bits
            scores = np.rint(np.ldexp(scores * exp(far)[..., None, :, :], less))
        rows = scores.astype(np.int64).reshape(*scores.shape[:2], -1, tokens)
        weighted = digits_of(rows, digits.count, self.a, 2), digits
        made = self._multiplied(multiply, self.context, weighted, self._values(part))
        made = made + self.offset * rows.sum(axis=3, keepdims=True)
        return np.ldexp(made, -digits.bits).reshape(*scores.shape[:-1], -1)

    def _queries(self, queries: np.ndarray, decay: np.ndarray | None) -> tuple[np.ndarray, Digits]:
        """Return the digits of queries, those of all heads below each other.

        Parameters
        ----------
        decay : which weights them, of each number; else they are as they are.
        """
        digits = Digits(self._count(0, self.a))
        if decay is not None and decay.shape[-1] > 1:
            digits = self.spread[0]
            queries = _weighted(queries, decay[:, :, None], digits)
        rows = queries.reshape(*queries.shape[:2], -1, queries.shape[-1])
        return digits_of(rows, digits.count, self.a, 2), digits

    def _values(self, part: Tokens) -> tuple[np.ndarray, Digits]:
        """Return the digits of values."""
        count = self._count(2, self.b)
        return digits_of(part.values, count, self.b, 3), Digits(count)

    def _count(self, which: int, number: Number) -> int:
        """Count the digits of queries, keys or values."""
        return digit_count(*self.ends[which], number)

    def _multiplied(
        self,
        multiply: Product,
        product: StateProduct,
        left: tuple[np.ndarray, Digits],
        right: tuple[np.ndarray, Digits],
    ) -> np.ndarray:
        """Multiply digits, and put the sums together."""
        sums = multiply(product, left[0], right[0])
        columns = sum_of_digits(sums, right[1].count, self.b, 3)
        return sum_of_digits(columns, left[1].count, self.a, 2)


def _weighted(integers: np.ndarray, decay: np.ndarray, digits: Digits) -> np.ndarray:
    """Multiply by exponentials, and round to the bits of digits."""
    made: np.ndarray = np.rint(np.ldexp(integers * exp(decay), digits.bits))
    return made.astype(np.int64)
