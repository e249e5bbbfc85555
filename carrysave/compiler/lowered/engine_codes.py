"""Codes and weights of a model as codes of the engine."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from carrysave.compiler.graph.code_types import limits
from carrysave.compiler.target.target import Target
from carrysave.driver import Mode, Number
from carrysave.weights.zero_points import zero_points
from golden.lut.expander import CODEBOOKS

__all__ = [
    "EngineWeights",
    "check_depth",
    "check_weights",
    "code_offset",
    "engine_weights",
    "moved",
    "terms_of",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class EngineWeights:
    """Weights as an engine has them.

    Members
    -------
    codes : of B: terms of the weights, one below the other along K.
    sums : of each column of the weights.
    mode : formats.
    zeros : zero points that the engine takes from codes, blocks x N; None: there are none.
    """

    codes: np.ndarray
    sums: np.ndarray
    mode: Mode
    zeros: np.ndarray | None = None


def code_offset(name: str, kind: "np.dtype[Any]", number: Number) -> int:
    """Return what is taken from codes of a type to make numbers of the engine of them."""
    ends = limits(kind)
    if ends is None:
        raise ValueError(f"{name} has codes of {kind}, not integers")
    low, high = ends
    offset = 0 if number.low <= low and high <= number.high else low - number.low
    if high - offset > number.high:
        raise ValueError(
            f"{name} has codes {low}..{high}; the engine takes {number.low}..{number.high}"
        )
    return offset


def moved(codes: np.ndarray, offset: int, number: Number) -> np.ndarray:
    """Take an offset of :func:`code_offset` from codes: in the engine's type, modulo its bits.

    What is wider, as addresses in place of codes, stays so.
    """
    if codes.dtype.itemsize > number.dtype.itemsize:
        return codes.astype(np.int64) - offset
    moved_codes = codes.astype(number.dtype)
    return moved_codes - np.array(offset).astype(number.dtype) if offset else moved_codes


def terms_of(target: Target, right: np.ndarray) -> int:
    """Count the terms that weights come in: those wider than the engine's are sums of several.

    Bipolar ones are not split, nor those that zero points bring into range.
    """
    matrices = right.reshape(-1, *right.shape[-2:])
    if target.bipolar or all(_with_zeros(target, one) is not None for one in matrices):
        return 1
    return len(_split(target.mode.b.low, target.mode.b.high, right))


def engine_weights(target: Target, right: np.ndarray) -> EngineWeights:
    """Return weights as the engine has them.

    They are of the fewest bits in which zero points hold them, if the engine has these; else terms.
    """
    return _engine_weights(target, _Same(right))


def _with_zeros(target: Target, right: np.ndarray) -> tuple[Mode, np.ndarray] | None:
    """Return the narrowest mode in which zero points hold weights, and these; None: none does."""
    for mode in target.zero_modes:
        zeros = zero_points(right, mode.b, mode.block)
        if zeros is not None:
            return mode, zeros
    return None


def _split(low: int, high: int, right: np.ndarray) -> list[np.ndarray]:
    """Split integers into terms that are within limits."""
    ends = np.iinfo(right.dtype)
    if low <= ends.min and ends.max <= high:
        return [right]
    low, high = max(low, ends.min), min(high, ends.max)
    terms: list[np.ndarray] = []
    while right.any() or not terms:
        terms.append(np.clip(right, low, high))
        right = right - terms[-1]
    return terms


@dataclass(frozen=True, eq=False)
class _Same:
    """An array as a key: it is equal to itself alone."""

    array: np.ndarray

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.array is self.array


@lru_cache(maxsize=1)
def _engine_weights(target: Target, weights: _Same) -> EngineWeights:
    """Make them; the last ones are remembered: a recurrent layer has the same at every step."""
    right = weights.array
    sums = right.sum(axis=0)
    if (known := _with_zeros(target, right)) is not None:
        mode, zeros = known
        spread = np.repeat(zeros, mode.block, axis=0)[: len(right)]
        codes = (right + spread).astype(mode.b.dtype)
        return EngineWeights(codes=codes, sums=sums, mode=mode, zeros=zeros)
    terms = _split(target.mode.b.low, target.mode.b.high, right)
    codes = terms[0] if len(terms) == 1 else np.concatenate(terms)
    return EngineWeights(codes=codes, sums=sums, mode=target.mode)


def check_weights(target: Target, right: np.ndarray | None, *, late: bool) -> None:
    """Refuse weights that the engine does not take, or too many along K.

    Parameters
    ----------
    right : None: B is computed, which an engine with a table of codes does not take.
    late : their zero points are not known yet.
    """
    mode = target.mode
    of_table = mode.expander.name in CODEBOOKS
    if right is None:
        if of_table or mode.expander.group:
            what = "a table's codes" if of_table else "numbers with masks"
            raise ValueError(f"B is computed, but B of {mode.expander.name} is of {what}")
        return
    if mode.expander.group and not late:
        for matrix in right.reshape(-1, *right.shape[-2:]):
            mode.words(matrix)
    if of_table and not late:
        mode.tabled(right).words(right.reshape(-1, 1))
    check_depth(target, right.shape[-2] * (1 if late else terms_of(target, right)))


def check_depth(target: Target, depth: int) -> None:
    """Refuse sums of more products than the engine takes."""
    most = target.mode.k_max
    if depth > most:
        raise ValueError(f"K must be 1..{most}, the engine's k_max, not {depth}")
