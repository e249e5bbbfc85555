"""A language model answers a prompt: what is asked, checked before anything is computed."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.errors import UsageError, needs
from carrysave.weights.gguf import read_gguf

from .decoder import CACHE_BITS, Decoder
from .model import load
from .tokens import Vocabulary

__all__ = ["WriteRequest", "write"]


@dataclass(frozen=True, kw_only=True)
class WriteRequest:
    """A prompt for a model.

    Parameters
    ----------
    model : a .gguf file.
    prompt : text.
    tokens : the most that are written, 1 at least.
    cache : tokens that the cache holds, prompt and answer.
    bits : of the cache's keys and values, 8 or 4.
    """

    model: Path
    prompt: str
    tokens: int
    cache: int
    bits: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.tokens < 1:
            raise UsageError(f"--tokens must be 1 or more, not {self.tokens}")
        if self.bits not in CACHE_BITS:
            raise UsageError(f"--kv must be 8 or 4 bits, not {self.bits}")
        if not 1 <= self.cache <= 4096:
            raise UsageError(f"--cache must be 1..4096 tokens, not {self.cache}")


def write(request: WriteRequest, tell: Callable[[str], None]) -> dict[str, Any]:
    """Answer a prompt by the likeliest token each time, until the model ends, or the room does.

    Parameters
    ----------
    request : what is asked.
    tell : takes pieces of the answer as they come.

    Returns
    -------
    ``text``, ``prompt_tokens``, ``tokens``, why it ended: ``end``, ``tokens`` or ``cache``; and
    seconds: ``load_seconds``, ``prompt_seconds`` (until the first token), ``seconds``.
    """
    needs("tokenizers")
    start = time.monotonic()
    file = read_gguf(request.model)
    model = load(file)
    vocabulary = Vocabulary(file, model.shape.words)
    decoder = Decoder(model, cache=min(request.cache, model.shape.context), bits=request.bits)
    prompt = vocabulary.question(request.prompt)
    if not 1 <= len(prompt) < decoder.cache:
        raise UsageError(
            f"--prompt must be 1..{decoder.cache - 1} tokens, so that the cache of {decoder.cache} "
            f"holds it and an answer, not {len(prompt)}"
        )
    loaded = time.monotonic()
    seconds: list[float] = []
    written: list[int] = []
    ended = ["tokens"]

    def numbers() -> Iterator[int]:
        own = prompt
        while len(written) < request.tokens:
            if decoder.length + len(own) > decoder.cache:
                ended[0] = "cache"
                return
            number = int(np.argmax(decoder.step(own)[-1]))
            seconds.append(time.monotonic())
            if number == vocabulary.end:
                ended[0] = "end"
                return
            written.append(number)
            yield number
            own = np.array([number])

    pieces = []
    for piece in vocabulary.words(numbers()):
        tell(piece)
        pieces.append(piece)
    return {
        "text": "".join(pieces),
        "prompt_tokens": len(prompt),
        "tokens": len(written),
        "ended": ended[0],
        "load_seconds": round(loaded - start, 3),
        "prompt_seconds": round(seconds[0] - loaded, 3),
        "seconds": round(seconds[-1] - loaded, 3),
    }
