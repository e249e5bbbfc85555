"""Which token comes next: the likeliest, or one drawn by rules that llama.cpp names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.errors import ArgumentError
from golden.elementary import exp, log

__all__ = ["Sampling", "chosen"]

_WORD, _BITS = 64, 53
"""Of a word of the generator, and of a draw: a double has them all."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Sampling:
    """How a token is chosen, in llama.cpp's order: penalties, then cuts, then the temperature.

    Parameters
    ----------
    temp : by which logits are divided before one is drawn; 0: the likeliest token is taken.
    top_k : tokens that are left, the likeliest; 0: all.
    top_p : share that those left have together at least, the likeliest; 1: all.
    min_p : share of one that is left, relative to the likeliest's; 0: all.
    repeat_penalty : by which a logit above 0 of a token that was there is divided, and one below
        multiplied.
    repeat_last_n : last tokens, of prompt and answer, that were there; 0: none; -1: all.
    presence_penalty : subtracted from logits of tokens that were there.
    frequency_penalty : subtracted as often as they were.
    seed : of draws: the same one draws the same tokens.
    """

    temp: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0

    def check_sampling(self) -> None:
        """Check the numbers."""
        legal: dict[str, tuple[float, float]] = {
            "temp": (0, 100),
            "top_k": (0, math.inf),
            "top_p": (0, 1),
            "min_p": (0, 1),
            "repeat_penalty": (0.01, 100),
            "repeat_last_n": (-1, math.inf),
            "presence_penalty": (-100, 100),
            "frequency_penalty": (-100, 100),
            "seed": (0, math.inf),
        }
        for name, (low, high) in legal.items():
            value = getattr(self, name)
            if not low <= value <= high:
                until = f"{low}..{high}" if high < math.inf else f"{low} or more"
                raise ArgumentError(f"{{{name}}} must be {until}, not {{_given}}", _given=value)


def chosen(sampling: Sampling, logits: np.ndarray, before: Sequence[int]) -> int:
    """Return the next token.

    Of equal logits the first token's comes first. Shares are exact to a double's rounding, the same
    on every processor; a draw is made of the seed and of how many tokens there are, so that it does
    not depend on what was drawn before.

    Parameters
    ----------
    logits : of all words.
    before : tokens of prompt and answer so far.
    """
    scores = _penalised(sampling, logits.astype(np.float64), before)
    if not sampling.temp:
        return int(np.argmax(scores))
    words = np.argsort(-scores, kind="stable")[: sampling.top_k or None]
    scores = scores[words] - scores[words[0]]
    if sampling.top_p < 1:
        sums = np.cumsum(exp(scores))
        count = int(np.searchsorted(sums, sampling.top_p * sums[-1], side="left")) + 1
        words, scores = words[:count], scores[:count]
    if sampling.min_p > 0:
        scores = scores[scores >= float(log(np.array(sampling.min_p)))]
    sums = np.cumsum(exp(scores / sampling.temp))
    generator = np.random.Philox(key=sampling.seed % (1 << 2 * _WORD), counter=len(before))
    draw = math.ldexp(int(generator.random_raw()) >> _WORD - _BITS, -_BITS)
    place = int(np.searchsorted(sums, draw * sums[-1], side="right"))
    return int(words[min(place, len(scores) - 1)])


def _penalised(sampling: Sampling, scores: np.ndarray, before: Sequence[int]) -> np.ndarray:
    """Return logits less the penalties of tokens that were there."""
    last = sampling.repeat_last_n
    seen = list(before) if last < 0 else list(before[max(len(before) - last, 0) :])
    if not seen:
        return scores
    words, counts = np.unique(seen, return_counts=True)
    some = scores[words]
    penalty = sampling.repeat_penalty
    some = np.where(some > 0, some / penalty, some * penalty)
    less = sampling.presence_penalty + sampling.frequency_penalty * counts
    scores[words] = some - less
    return scores
