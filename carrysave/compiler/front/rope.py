"""Rotary positions as files describe them: bases, scalings, and what of a head is turned."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.front.decoder import Rope
from golden.elementary import log, power

__all__ = ["SCALINGS", "Scaling", "rope_of"]

SCALINGS = ("none", "linear", "llama3", "yarn", "longrope")
"""Kinds: no change; angles divided; the long ones of them; in between, by dimension; by a list."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """How angles of rotary positions are changed for longer texts.

    Members
    -------
    kind : of :data:`SCALINGS`.
    factor : by which angles are divided.
    original : tokens for which they were made; of "llama3", "yarn" and "longrope".
    low, high : of "llama3": turns of a frequency in these tokens, from which on it changes less,
        and not at all.
    slow, fast : of "yarn": the same.
    attention : by which what is turned is multiplied; None: as "yarn" and "longrope" have it.
    divisors : of each frequency, besides.
    """

    kind: str = "none"
    factor: float = 1.0
    original: int = 0
    low: float = 1.0
    high: float = 4.0
    slow: float = 1.0
    fast: float = 32.0
    attention: float | None = None
    divisors: Sequence[float] | np.ndarray | None = None


def rope_of(base: float, rotary: int, head: int, scaling: Scaling) -> Rope:
    """Return the angles of pairs of a head.

    "llama3" is that of Llama 3.1, "yarn" that of Peng et al. (2023), "longrope" that of Ding et al.
    (2024), with the factors of short texts.

    Parameters
    ----------
    base : of frequencies.
    rotary : the values of a head that are turned; the rest stays.
    head : values of a head.
    scaling : how they are changed.
    """
    frequencies = power(base, -np.arange(0, rotary, 2) / rotary)
    attention = 1.0
    if scaling.kind == "linear":
        frequencies = frequencies / scaling.factor
    elif scaling.kind == "llama3":
        frequencies = _long_ones(frequencies, scaling)
    elif scaling.kind == "yarn":
        frequencies = _in_between(frequencies, base, rotary, scaling)
        attention = 0.1 * float(log(scaling.factor)) + 1 if scaling.factor > 1 else 1.0
    elif scaling.kind == "longrope" and scaling.factor > 1:
        attention = math.sqrt(1 + float(log(scaling.factor)) / float(log(scaling.original)))
    if scaling.divisors is not None:
        frequencies = frequencies / np.asarray(scaling.divisors, np.float64)
    whole = np.zeros(head // 2)
    whole[: rotary // 2] = frequencies
    return Rope(
        frequencies=whole, factor=attention if scaling.attention is None else scaling.attention
    )


def _long_ones(frequencies: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Divide frequencies of few turns, and some more of them less."""
    turns = scaling.original * frequencies / (2 * math.pi)
    share = np.clip((turns - scaling.low) / (scaling.high - scaling.low), 0, 1)
    return (1 - share) * frequencies / scaling.factor + share * frequencies


def _in_between(frequencies: np.ndarray, base: float, rotary: int, scaling: Scaling) -> np.ndarray:
    """Divide slow frequencies, leave fast ones, and go from the one to the other in between."""

    def place(turns: float) -> float:
        many = scaling.original / (turns * 2 * math.pi)
        return rotary * float(log(many)) / (2 * float(log(base)))

    low = max(math.floor(place(scaling.fast)), 0)
    high = min(math.ceil(place(scaling.slow)), rotary - 1)
    ramp = (np.arange(len(frequencies)) - low) / max(high - low, 0.001)
    share = np.clip(ramp, 0, 1)
    return share * frequencies / scaling.factor + (1 - share) * frequencies
