"""A product of a float network with two formats along K: LLM.int8()'s outliers, ResQ's 1/8."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from carrysave.compiler.lowered.encoded import Choice, Encoded, Split, encode, steps_of
from carrysave.compiler.lowered.operands import Compiled, Operands
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat

__all__ = ["SplitProduct", "shares_of", "split_codes"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitProduct(Encoded):
    """y = A x B + bias, with operands rounded once, to wider formats in some columns of A.

    Two jobs, without an operation of the host in between: the first multiplies these columns by
    their rows of B, the second multiplies its sums by a factor, and adds the rest. A sum is rounded
    once between both, to units of the second one's. Columns are ordered when they are encoded, rows
    of B at compile time.

    Parameters
    ----------
    weights : codes of B, K x N; those of a part's rows in its format.
    b_steps : of the rows that are not in the part.
    more : those of :class:`.encoded.Encoded`.

    Notes
    -----
    LLM.int8() (Dettmers et al., NeurIPS 2022) has the columns of outliers in 16 bits, ResQ (Saxena
    et al., 2024) 1/8 of all in 8 bits and the rest in 4.
    """

    @property
    def part(self) -> Split:
        """The part of K in wider formats."""
        assert self.choice.split is not None
        return self.choice.split

    def _check(self, target: Target) -> None:
        super()._check(target)
        if self.weights is None or self.weights.ndim != 2 or self.windows is not None:
            raise ValueError("two formats along K are for matrix products with constant weights")
        for name in chain(*self.choice.pairs):
            if not isinstance(target.formats[name], IntFormat):
                raise ValueError(f"two formats along K must be integers, not {name}")
        if not target.spec.row_factors:
            raise ValueError("row_factors must be true for two formats along K")

    def _check_depth(self, target: Target, depth: int) -> None:
        wide = len(self.part.columns)
        for pair, size in zip(self.choice.pairs, (depth - wide, wide), strict=True):
            most = target.modes[pair].k_max
            if size > most:
                raise ValueError(f"K in {' x '.join(pair)} must be 1..{most}, not {size}")

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        assert self.weights is not None
        axis = 0 if self.transposed else -1
        if not a.ndim or a.shape[axis] != len(self.weights):
            raise ValueError(f"A must have K of {len(self.weights)}, not {a.shape}")
        rest = np.delete(np.arange(len(self.weights)), self.part.columns)
        works: list[Work] = []
        for one, rows in ((self.part, np.array(self.part.columns)), (self.choice, rest)):
            codes = encode(target.formats[one.a], np.take(a, rows, axis), one.a_step)
            cut = self.cut(codes, 0, 1)
            (left,) = cut.lefts
            factors = np.full(len(left), self.part.factor) if works else None
            mode = target.modes[one.a, one.b]
            works.append(Work(a=left, b=self.weights[rows], mode=mode, row_factors=factors))

        def finish(results: list[np.ndarray]) -> np.ndarray:
            return self._finished(cut, results[1:], mode)

        macs = len(left) * self.weights.size
        return Compiled(works=works, cut=cut, finish=finish, macs=macs)


def shares_of(product: Operands) -> dict[str, float]:
    """Return the formats of a product's works, and the share of its K that each has."""
    if not isinstance(product, SplitProduct):
        return {product.formats: 1.0}
    assert product.weights is not None
    wide = len(product.part.columns) / len(product.weights)
    names = (" x ".join(pair) for pair in product.choice.pairs)
    return dict(zip(names, (1 - wide, wide), strict=True))


def split_codes(
    formats: Mapping[str, ElementFormat], choice: Choice, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Round weights, K x N, of a choice with a split.

    Returns
    -------
    Codes, and the scale of each column of the rows that are not in the split.

    Raises
    ------
    ValueError
        The split has rows that are not there, or all of them.
    """
    split = choice.split
    assert split is not None
    wide = np.array(split.columns)
    if len(wide) >= len(weights) or wide[-1] >= len(weights):
        raise ValueError(
            f"columns in wider formats must be some of 0..{len(weights) - 1}, not all of them"
        )
    rest = np.delete(np.arange(len(weights)), wide)
    steps = steps_of(formats[choice.b], weights[rest])
    codes = np.empty(weights.shape, np.int64)
    codes[rest] = encode(formats[choice.b], weights[rest], steps)
    codes[wide] = encode(formats[split.b], weights[wide], steps * split.b_ratio(choice.a_step))
    return codes, steps
