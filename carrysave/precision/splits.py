"""Two formats along K of a layer: which columns of A have the wider one, and their scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from carrysave.compiler.graph.kernels import attributes
from carrysave.compiler.lowered.encoded import Choice, Split, encode, steps_of
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError
from carrysave.precision.layers import Layer, step_of
from carrysave.precision.options import Pair
from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.soc.row_factors import FACTOR_BYTES, ONE

__all__ = ["SplitFormats", "splits_of"]

_RATIOS = 2.0 ** (-np.arange(49) / 4)
"""Scales of rows of B in the wider format, of those in the other one, that are tried."""
_MOST = (1 << 8 * FACTOR_BYTES) - 1


@dataclass(frozen=True, kw_only=True)
class SplitFormats:
    """Two formats of integers along K.

    Parameters
    ----------
    wide, narrow : names of formats of A, and of B where `wide_b` is no other.
    share : of K that has the wide one.
    wide_b : of its rows of B: the wide one; or the narrow one where lanes multiply that faster.
    grain : codes of the narrow one in a word: the rest of K is a multiple.
    """

    wide: str
    narrow: str
    share: Fraction
    wide_b: str
    grain: int = 1

    @property
    def pair(self) -> Pair:
        """What stands for it where a layer has a pair of formats."""
        wide = self.wide if self.wide == self.wide_b else f"{self.wide} x {self.wide_b}"
        name = f"{self.narrow} + {self.share} {wide}"
        return name, name

    def choice(self, layer: Layer, formats: Mapping[str, ElementFormat]) -> Choice | None:
        """Choose columns and scales by the calibration's operands; None: it cannot be split.

        The columns are those with the greatest magnitudes. The scale of the rest of B is that of
        the engine's narrow format alone; that of the columns' rows is a multiple of it, the same
        for all columns of C, such that the factor of their sums is exact.
        """
        columns = self._columns(layer)
        if not columns:
            return None
        parts = [part.reshape(-1, part.shape[-1]) for part in layer.a]
        outliers = [part[:, columns] for part in parts]
        rest = [np.delete(part, columns, axis=1) for part in parts]
        wide, narrow = step_of(formats[self.wide], outliers), step_of(formats[self.narrow], rest)
        assert layer.weights is not None
        steps_of_rest = steps_of(formats[self.narrow], np.delete(layer.weights, columns, axis=0))
        rows, fmt = layer.weights[columns], formats[self.wide_b]
        best: tuple[float, Split] | None = None
        for factor in np.unique(np.rint(_RATIOS * (ONE * wide / narrow)).clip(1, _MOST)):
            split = Split(
                columns=tuple(columns), a=self.wide, b=self.wide_b, a_step=wide, factor=int(factor)
            )
            steps = steps_of_rest * split.b_ratio(narrow)
            error = float(np.square(fmt.to_float(encode(fmt, rows, steps)) * steps - rows).sum())
            if best is None or error < best[0]:
                best = error, split
        assert best is not None
        return Choice(a=self.narrow, b=self.narrow, a_step=narrow, split=best[1])

    def _columns(self, layer: Layer) -> list[int]:
        """Return the columns of A with the greatest magnitudes; none: the layer is not split."""
        weights = layer.weights
        turned = attributes(layer.node).get("transA") or layer.node.op_type == "Conv"
        if weights is None or weights.ndim != 2 or turned:
            return []
        depth = len(weights)
        rest = int(depth * (1 - self.share)) // self.grain * self.grain
        if not 0 < rest < depth:
            return []
        greatest = np.max([np.abs(part).reshape(-1, depth).max(axis=0) for part in layer.a], axis=0)
        return sorted(np.argsort(-greatest, kind="stable")[: depth - rest].tolist())


def splits_of(
    shares: Sequence[str], target: Target, names: Sequence[str]
) -> dict[Pair, SplitFormats]:
    """Return what stands in the places of pairs of formats, for each share of K, the fastest first.

    Parameters
    ----------
    shares : such as ``1/8``.
    target : has row factors.
    names : of formats to choose from; of the integers among them, the widest and the narrowest.

    Raises
    ------
    ArgumentError
        A share that is none between 0 and 1; or there are no two formats of integers.
    """
    formats = target.formats
    bits = {name: formats[name].width for name in names if isinstance(formats[name], IntFormat)}
    if shares and len(set(bits.values())) < 2:
        raise ArgumentError("{formats} must have two of integers with {split_k}, such as int8,int4")
    if shares and not target.spec.row_factors:
        raise ArgumentError("row_factors must be true with {split_k}")
    made = {}
    for text in shares:
        wide, narrow = max(bits, key=bits.__getitem__), min(bits, key=bits.__getitem__)
        grain = target.modes[narrow, narrow].codes
        faster = target.modes[wide, narrow].codes > target.modes[wide, wide].codes
        for wide_b in [narrow] * faster + [wide]:
            one = SplitFormats(
                wide=wide, narrow=narrow, share=_share(text), wide_b=wide_b, grain=grain
            )
            made[one.pair] = one
    return made


def _share(text: str) -> Fraction:
    """Return a share of K; ArgumentError: it is none between 0 and 1."""
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise ArgumentError(
            "{split_k} must be shares of K between 0 and 1, such as 1/8, not {text!r}", text=text
        )
    return share
