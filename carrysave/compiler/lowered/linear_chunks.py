"""Chunks of linear attention: four products of each, whose integers are digits of the engine."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from carrysave.compiler.lowered.digits import digit_count, digits_of, sum_of_digits
from carrysave.compiler.lowered.layer import Product
from carrysave.compiler.lowered.state_product import StateProduct
from carrysave.driver.number import Number
from golden.elementary import exp
from golden.soc.row_factors import ONE

__all__ = ["Chunks", "Tokens"]

_STATE = 1 << 30
"""States are read as if they were as large as this, so that few tokens take as long as many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tokens:
    """Integers of heads of keys, each a chain of its own, and the decay of their states.

    Members
    -------
    queries : chains x heads that share keys x tokens x width.
    keys, values : chains x tokens x width.
    decay : logarithms, 0 at most, chains x tokens x 1 or width of keys; None: there is none.
    """

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    decay: np.ndarray | None

    def part(self, start: int, end: int, chunk: int) -> Self:
        """Return some tokens by chunks, an axis behind the first; decay is summed in each."""

        def cut(array: np.ndarray) -> np.ndarray:
            part = array[..., start:end, :]
            return part.reshape(*part.shape[:-2], -1, chunk, part.shape[-1])

        return replace(
            self,
            queries=np.moveaxis(cut(self.queries), 2, 1),
            keys=cut(self.keys),
            values=cut(self.values),
            decay=None if self.decay is None else cut(self.decay).cumsum(axis=2),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunks:
    """How chunks are multiplied.

    Members
    -------
    ends : least and greatest integer of queries, of keys, and of values less their offset.
    offset : what is taken from values, that they be of fewer digits; the host adds it again.
    a, b : numbers of the engine.
    guard, digits : bits of weighted keys behind the binary point, and of the state; their digits.
    state, read, scores, context : the products.
    """

    ends: tuple[tuple[int, int], ...]
    offset: int
    a: Number
    b: Number
    guard: int
    digits: int
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
        state : before them, chains x width of keys x width of values, of 2^-guard; None: zeros.
        most : the greatest magnitude that the state may have, without its guard.

        Returns
        -------
        Chains x heads x tokens x width, in units of all steps; the state.
        """
        part = replace(part, values=part.values - self.offset)
        after = self._states(multiply, part, state)
        if part.keys.shape[2] == 1:
            results = self._read(multiply, part.queries, after, most)
        else:
            first = np.zeros_like(after[:, 0]) if state is None else state
            before = np.concatenate([first[:, None], after[:, :-1]], axis=1)
            results = self._read(multiply, part.queries, before, most)
            if part.decay is not None:
                results = results * exp(part.decay)[:, :, None]
            results = results + self._seen(multiply, part)
        results = np.moveaxis(results, 1, 2)
        return results.reshape(*results.shape[:2], -1, results.shape[-1]), after[:, -1]

    def _states(self, multiply: Product, part: Tokens, state: np.ndarray | None) -> np.ndarray:
        """Return the state behind each chunk: gamma * S + K^T V."""
        keys, size = part.keys, part.keys.shape[-1]
        factors = np.full((*keys.shape[:2], size), ONE)
        if part.decay is not None:
            last = part.decay[:, :, -1:]
            weights = exp(last - part.decay) * (1 << self.guard)
            keys = np.rint(keys * weights).astype(np.int64)
            factors = np.broadcast_to(np.rint(exp(last[:, :, 0]) * ONE), factors.shape)
        count = self._count(2, self.b)
        left = digits_of(keys.swapaxes(2, 3), self.digits, self.a, 2)
        right = digits_of(part.values, count, self.b, 3)
        first = None
        if state is not None:
            first = np.zeros((len(left), left.shape[2], right.shape[3]), np.int64)
            first[:, : state.shape[1], : state.shape[2]] = state
        factors = np.tile(factors.astype(np.int64), self.digits)
        product = replace(self.state, factors=factors, first=first)
        made = self._multiplied(multiply, product, (left, self.digits), (right, count))
        if not self.offset:
            return made
        more, sums = np.zeros((len(keys), size)), []
        for step in range(keys.shape[1]):
            more = more * (factors[:, step, :size] / ONE) + keys[:, step].sum(axis=1)
            sums.append(more)
        both: np.ndarray = made + np.rint(self.offset * np.stack(sums, axis=1)[..., None])
        return both.astype(np.int64)

    def _read(
        self, multiply: Product, queries: np.ndarray, states: np.ndarray, most: int
    ) -> np.ndarray:
        """Return Q S, chains x chunks x heads x tokens x width."""
        whole = states + ((1 << self.guard) >> 1) >> self.guard
        most = max(most, _STATE)
        count = digit_count(-most, most, self.b)
        right = digits_of(whole, count, self.b, 3), count
        made = self._multiplied(multiply, self.read, self._rows(queries), right)
        return made.reshape(*queries.shape[:-1], -1)

    def _seen(self, multiply: Product, part: Tokens) -> np.ndarray:
        """Return Q K^T times V, without what is behind each query."""
        keys, queries = part.keys.swapaxes(2, 3), part.queries
        count = self._count(1, self.b)
        right = digits_of(keys, count, self.b, 3), count
        scores = self._multiplied(multiply, self.scores, self._rows(queries), right)
        tokens, size = queries.shape[3:]
        seen = np.tri(tokens, dtype=bool)
        scores = np.where(seen, scores.reshape(*queries.shape[:-1], tokens), 0)
        if part.decay is not None:
            far = part.decay - part.decay.swapaxes(2, 3)
            scores = np.rint(scores * exp(np.where(seen, far, 0))[:, :, None])
        most = size * max(map(abs, self.ends[0])) * max(map(abs, self.ends[1]))
        count = digit_count(-most, most, self.a)
        # Of whole numbers, so that digits and sums are exact.
        rows = scores.astype(np.int64).reshape(*queries.shape[:2], -1, tokens)
        left = digits_of(rows, count, self.a, 2), count
        count = self._count(2, self.b)
        right = digits_of(part.values, count, self.b, 3), count
        made = self._multiplied(multiply, self.context, left, right)
        made = made + self.offset * rows.sum(axis=3, keepdims=True)
        return made.reshape(*queries.shape[:-1], -1)

    def _rows(self, queries: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the digits of queries, those of all heads below each other."""
        rows = queries.reshape(*queries.shape[:2], -1, queries.shape[-1])
        count = self._count(0, self.a)
        return digits_of(rows, count, self.a, 2), count

    def _count(self, which: int, number: Number) -> int:
        """Count the digits of queries, keys or values."""
        return digit_count(*self.ends[which], number)

    def _multiplied(
        self,
        multiply: Product,
        product: StateProduct,
        left: tuple[np.ndarray, int],
        right: tuple[np.ndarray, int],
    ) -> np.ndarray:
        """Multiply digits, and put the sums together."""
        sums = multiply(product, left[0], right[0])
        return sum_of_digits(sum_of_digits(sums, right[1], self.b, 3), left[1], self.a, 2)
