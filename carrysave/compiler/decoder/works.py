"""Products of integers as works of a co-processor whose codes may be narrower."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.driver import Mode, Number
from carrysave.driver.batch import Work
from golden.tpe.ternary_core import TernaryCoreSpec

__all__ = ["Laid", "check", "laid"]

_MOST = 127
"""Greatest magnitude of an activation."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Laid:
    """A work, and what makes the product of its sums."""

    work: Work
    finish: Callable[[np.ndarray], np.ndarray]


def check(target: Target, k: int, own: tuple[int, str] | None = None) -> None:
    """Refuse a core that cannot multiply int8 by weights.

    Parameters
    ----------
    target : the co-processor.
    k : the largest K.
    own : width and kind of all weights, which the core must have; None: of any width, as digits.

    Raises
    ------
    ValueError
        Says what the core must have.
    """
    for mode in _modes(target):
        if mode.a.low > -_MOST or mode.a.high < _MOST:
            bits = _bits(mode.a)
            raise ValueError(f"core must take activations of 8 bits, not of {bits}")
        if mode.k_max < k:
            raise ValueError(f"K must be 1..{mode.k_max}, the core's k_max, not {k}")
    has = [
        "ternary" if _ternary(target) else f"{_bits(mode.b)} bits" for mode in _modes(target)
    ]  # a ternary model's codes are some of 2 bits
    wanted = [] if own is None else [f"{own[0]} bits", own[1]]
    if (own is None and has == ["ternary"]) or (own is not None and not {*has} & {*wanted}):
        what = "of 2 bits or more" if own is None else f"{own[1]} ones of {own[0]} bits"
        raise ValueError(f"core must take the model's weights, {what}, not {' and '.join(has)}")


def laid(target: Target, a: np.ndarray, b: np.ndarray) -> Laid:
    """Lay out the product of A, M x K, and B, K x N.

    Numbers that are wider than the core's codes come as digits: those of A as further rows, those
    of B as further columns. Digits of B that are all positive are less an offset where the core's
    codes have a sign; the offset times the sum of a row of A is added afterwards. The core must
    have been accepted by :func:`check`.
    """
    a, b = np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)
    mode = _mode(target, b)
    rows, columns = _rows(a, mode.a), _columns(b, mode.b)
    work = Work(
        a=np.concatenate([digit for _, digit in rows]).astype(np.int16),
        b=np.concatenate([digit for _, _, digit in columns], axis=1).astype(np.int8),
        mode=mode,
    )
    sums = [digit.sum(axis=1, keepdims=True) for _, digit in rows]

    def finish(c: np.ndarray) -> np.ndarray:
        total = np.zeros((len(a), b.shape[1]), np.int64)
        for (up, _), own, part in zip(rows, sums, np.split(c, len(rows)), strict=True):
            across = np.split(part, len(columns), axis=1)
            for (left, offset, _), one in zip(columns, across, strict=True):
                total += one.astype(np.int64) + offset * own << up + left
        return total

    return Laid(work=work, finish=finish)


def _modes(target: Target) -> list[Mode]:
    """List the modes for activations, those of the narrowest weights first."""
    if not target.modes:
        mode = target.mode
        # Of two bits, but that -2 is no weight.
        return [replace(mode, b=replace(mode.b, low=-1)) if _ternary(target) else mode]
    target.check_integers()
    found = [
        mode
        for (a, b), mode in target.modes.items()
        if a == target.integers.split()[0] and b in ("int4", "int8")
    ]
    return sorted(found, key=lambda mode: _bits(mode.b))


def _ternary(target: Target) -> bool:
    return isinstance(target.spec.engine, TernaryCoreSpec)


def _mode(target: Target, b: np.ndarray) -> Mode:
    """Return the mode of the narrowest codes that B has, or else of the widest."""
    modes = _modes(target)
    spread = int(b.max(initial=0)) - int(b.min(initial=0))
    return next((mode for mode in modes if spread <= mode.b.high - mode.b.low), modes[-1])


def _bits(number: Number) -> int:
    return (number.high - number.low + 1).bit_length() - 1


def _rows(a: np.ndarray, number: Number) -> list[tuple[int, np.ndarray]]:
    """Return digits of A, and their places."""
    width = _bits(number) - 1
    found: list[tuple[int, np.ndarray]] = []
    while not number.low <= a.min(initial=0) <= a.max(initial=0) <= number.high:
        found.append((len(found) * width, a & (1 << width) - 1))
        a = a >> width
    return [*found, (len(found) * width, a)]


def _columns(b: np.ndarray, number: Number) -> list[tuple[int, int, np.ndarray]]:
    """Return digits of B, their places, and what they are less than the number's digits."""
    width = _bits(number)
    found: list[tuple[int, int, np.ndarray]] = []
    while True:
        low, high, place = int(b.min(initial=0)), int(b.max(initial=0)), len(found) * width
        if high - low <= number.high - number.low:
            offset = max(min(0, low - number.low), high - number.high)
            return [*found, (place, offset, b - offset)]
        found.append((place, -number.low, (b & (1 << width) - 1) + number.low))
        b = b >> width
