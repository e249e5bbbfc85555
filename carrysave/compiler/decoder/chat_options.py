"""How a language model answers: what a user chooses, checked before anything is computed."""

from dataclasses import dataclass
from pathlib import Path

from carrysave.compiler.decoder.cores import CORES
from carrysave.compiler.decoder.sampling import Sampling
from carrysave.compiler.front.decoder import CACHE_BITS, KEYS, MOST_TOKENS
from carrysave.compiler.front.gguf import ROUNDED_BITS
from carrysave.compiler.lowered.heads import HOST, ONE_PASS
from carrysave.errors import ArgumentError, check_choice
from carrysave.keywords import Options
from carrysave.weights.tables import BOOKS

__all__ = ["ATTENTION", "SIMULATIONS", "ChatOptions"]

ATTENTION = (HOST, ONE_PASS)

SIMULATIONS = ("none", "sample", "all")


@dataclass(frozen=True, kw_only=True, repr=False)
class ChatOptions(Sampling, Options):
    """How a model answers; how it chooses tokens, see :class:`Sampling`.

    Parameters
    ----------
    tokens : the most that are written, 1 at least.
    cache : tokens that are taken, prompt and answer; those that a cache holds.
    kv : bits of the cache's keys and values, 8 or 4; None: for which the model was made, 8 of
        .gguf.
    keys : of 4 bits, by tokens or by channels of 32 tokens; programs have the first.
    attention : `host`, a softmax of whole rows; or `one-pass`, shares by blocks of 32 keys.
    simulate : jobs that also run on the simulated block: none, a sample, all.
    core : the block's engine.
    seed : of the sample of jobs, too.
    weights : bits to which matrices of floats are rounded, 2 to 8; or a table, `nf4`, `kmeans:4`,
        `kmeans:8`, `kmeans:16`.
    skip : share of the inputs of a feed-forward's matrices that count as zero, the smallest ones of
        each layer, 0 to below 1.
    calibration : text, UTF-8, by which it is known which these are; None: Python's own help.
    port, baud : serial line of a board that runs a program's jobs; None: golden does; and None: the
        rate of the board's build.
    """

    tokens: int = 64
    cache: int = 1024
    kv: int | None = None
    keys: str = KEYS[0]
    attention: str = HOST
    simulate: str = "none"
    core: str = "lut_core"
    weights: int | str = ROUNDED_BITS
    skip: float = 0.0
    calibration: Path | None = None
    port: str | None = None
    baud: int | None = None

    def check(self) -> None:
        """Check the numbers and choices."""
        if self.tokens < 1:
            raise ArgumentError("{tokens} must be 1 or more, not {_given}", _given=self.tokens)
        if self.kv not in (None, *CACHE_BITS):
            raise ArgumentError("{kv} must be 8 or 4 bits, not {_given}", _given=self.kv)
        if not 1 <= self.cache <= MOST_TOKENS:
            text = f"{{cache}} must be 1..{MOST_TOKENS} tokens, not {{_given}}"
            raise ArgumentError(text, _given=self.cache)
        check_choice("keys", self.keys, KEYS)
        if self.keys != KEYS[0] and self.kv != 4:
            raise ArgumentError("{keys} of channels needs {kv} of 4 bits")
        if self.keys != KEYS[0] and self.simulate != "none":
            raise ArgumentError("{keys} must be tokens with {simulate}: programs have no others")
        check_choice("attention", self.attention, ATTENTION)
        if self.attention == ONE_PASS and self.kv == 4:
            raise ArgumentError("{attention} of one pass needs {kv} of 8 bits")
        check_choice("simulate", self.simulate, SIMULATIONS)
        check_choice("core", self.core, tuple(CORES))
        if self.weights not in (*range(2, 9), *BOOKS):
            raise ArgumentError(
                "{weights} must be 2..8 bits, or one of {_books}, not {_given}",
                _books=", ".join(BOOKS),
                _given=self.weights,
            )
        self.check_sampling()
        if not 0 <= self.skip < 1:
            raise ArgumentError(
                "{skip} must be 0 or more, and below 1, not {_given}", _given=self.skip
            )
        if self.calibration is not None and not self.skip:
            raise ArgumentError("{calibration} needs {skip}")
        if self.baud is not None and (self.port is None or self.baud < 1):
            raise ArgumentError("{baud} must be 1 or more, and needs {port}")
