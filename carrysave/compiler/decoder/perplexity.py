"""How well a language model foresees a text."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.blocks import Blocks
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.decoder.skip import with_skips
from carrysave.compiler.decoder.summary import summary
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.errors import ArgumentError
from carrysave.precision.intervals import ratio
from carrysave.progress import Tally
from golden.elementary import exp, log
from hw.emit.user_files import FileError, read_text

__all__ = ["PerplexityRequest", "losses", "measured", "window_losses"]

_CHUNK = 128
"""Tokens at once: a multiple of those that attend at once, so that it changes no number."""
_BLOCK = 32
"""Tokens whose loss counts as one for the interval: neighbours hang together."""


def losses(logits: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Return the bits that each token takes, by the logits before it.

    Parameters
    ----------
    logits : tokens x words.
    tokens : the words that came.
    """
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    given = logits[np.arange(len(tokens)), tokens]
    return np.asarray((log(exp(logits).sum(axis=1)) - given) / log(2))


def window_losses(decoder: Blocks, tokens: np.ndarray) -> np.ndarray:
    """Return the bits of each token of a text but the first, by a decoder that has had none."""
    given, wanted = tokens[:-1], tokens[1:]
    made = [
        losses(decoder.step(given[start : start + _CHUNK]), wanted[start : start + _CHUNK])
        for start in range(0, len(given), _CHUNK)
    ]
    return np.concatenate(made)


@dataclass(frozen=True, kw_only=True)
class PerplexityRequest:
    """A text for a model.

    Parameters
    ----------
    model : a .gguf file, an .npz file of characters, or the folder of a checkpoint.
    text : file, UTF-8.
    options : `kv`, `keys`, `attention`, `weights`, `skip`, `calibration`, and
        `cache`: tokens of a window.
    """

    model: Path
    text: Path
    options: ChatOptions

    def __post_init__(self) -> None:
        """Check the options."""
        self.options.check()
        if self.options.cache < 2:
            raise ArgumentError(
                "{cache} must be 2 or more for a perplexity, not {_given}", _given=1
            )


def measured(request: PerplexityRequest, tell: Callable[[Tally], None]) -> dict[str, Any]:
    """Measure the perplexity of a text, in golden's arithmetic.

    The text is cut into windows of as many tokens as the cache holds, none of which sees another;
    the model's first token, if it has one, is before each. All tokens of a window but its first are
    predicted, the last one of the text in a window of its own not.

    Parameters
    ----------
    request : what is asked.
    tell : takes how far it is, window by window.

    Returns
    -------
    ``perplexity``: 2 to the power of ``bits``, the mean of a token. ``interval``: of it, 95 % by
    blocks of 32 tokens. ``bits_of_byte``: of the text. ``tokens`` that were predicted,
    ``windows``, and ``window``: tokens of each. ``seconds``, without those of loading; ``rate``:
    tokens a second. ``model``: see :func:`carrysave.compiler.decoder.summary.summary`.

    Raises
    ------
    FileError
        There are too few tokens to predict one, or some of none of the model's characters.
    """
    loaded = load_model(request.model, request.options.weights)
    bits, options = request.options.kv, request.options
    model, skipped = with_skips(loaded.model, loaded.words, options.skip, options.calibration)
    cache = min(request.options.cache, model.shape.context)
    size, windows = _windows(request.text, loaded.words, cache)
    tell(Tally(running=1, total=len(windows)))
    start, made = time.monotonic(), list[np.ndarray]()
    for number, window in enumerate(windows, 1):
        decoder = decoder_of(
            model, cache=cache, bits=bits, keys=options.keys, attention=options.attention
        )
        made.append(window_losses(decoder, window))
        so_far = 2 ** float(np.concatenate(made).mean())
        said = f"window {number}: perplexity {so_far:.4f} so far"
        tell(Tally(done=number, running=1, total=len(windows), text=said))
    seconds = time.monotonic() - start
    every = np.concatenate(made)
    mean = float(every.mean())
    parts, wholes = _blocks(made)
    span = (mean, mean) if len(parts) < 2 else ratio(parts, wholes)
    return {
        "perplexity": 2**mean,
        "interval": [2**one for one in span],
        "bits": mean,
        "bits_of_byte": float(every.sum()) / size,
        "tokens": len(every),
        "windows": len(windows),
        "window": cache,
        "seconds": round(seconds, 3),
        "rate": round(len(every) / max(seconds, 1e-3), 2),
        "model": summary(loaded, cache, bits or model.cache_bits, skipped, options.attention),
    }


def _windows(
    path: Path, words: Vocabulary | Characters, cache: int
) -> tuple[int, list[np.ndarray]]:
    """Return the bytes of a text, and its tokens, cut into windows."""
    text = read_text(path)
    try:
        tokens = words.tokens(text)
    except ArgumentError as error:
        raise FileError(path, str(error).removeprefix("prompt ")) from None
    first = words.first if isinstance(words, Vocabulary) else None
    before = np.array([] if first is None else [first], np.int64)
    size = cache - len(before)
    windows = [
        np.concatenate([before, tokens[start : start + size]])
        for start in range(0, len(tokens), size)
    ]
    windows = [one for one in windows if len(one) > 1]
    if not windows:
        raise FileError(path, f"must be of tokens to predict, not {len(tokens)}")
    return len(text.encode()), windows


def _blocks(windows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Add up the bits of blocks of tokens; return sums, and how many tokens each has."""
    parts = [one[start : start + _BLOCK] for one in windows for start in range(0, len(one), _BLOCK)]
    return np.array([one.sum() for one in parts]), np.array([len(one) for one in parts])
