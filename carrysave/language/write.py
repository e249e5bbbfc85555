"""A language model answers a prompt: what is asked, checked before anything is computed."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.errors import UsageError, check_choice, needs
from carrysave.weights.gguf import read_gguf
from hw.catalog import Design

from .decoder import CACHE_BITS, Decoder
from .model import load
from .simulate import SIMULATIONS, Simulation
from .tokens import Vocabulary
from .units import GOLDEN
from .watch import watched

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
    simulate : jobs that also run on the simulated block: none, a sample, all.
    design : the block; None if nothing is simulated.
    seed : of the sample, 0 or more.
    folder : for the simulation.
    """

    model: Path
    prompt: str
    tokens: int
    cache: int
    bits: int
    simulate: str = "none"
    design: Design | None = None
    seed: int = 0
    folder: Path = Path("build")

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.tokens < 1:
            raise UsageError(f"--tokens must be 1 or more, not {self.tokens}")
        if self.bits not in CACHE_BITS:
            raise UsageError(f"--kv must be 8 or 4 bits, not {self.bits}")
        if not 1 <= self.cache <= 4096:
            raise UsageError(f"--cache must be 1..4096 tokens, not {self.cache}")
        check_choice("--simulate", self.simulate, SIMULATIONS)
        if self.seed < 0:
            raise UsageError(f"--seed must be 0 or more, not {self.seed}")


def write(
    request: WriteRequest, tell: Callable[[str], None], note: Callable[[str], None]
) -> dict[str, Any]:
    """Answer a prompt by the likeliest token each time, until the model ends, or the room does.

    Parameters
    ----------
    request : what is asked.
    tell : takes pieces of the answer as they come.
    note : takes what is being done besides.

    Returns
    -------
    ``text``, ``prompt_tokens``, ``tokens``, why it ended: ``end``, ``tokens`` or ``cache``; and
    seconds, without those of a simulation: ``load_seconds``, ``prompt_seconds`` (until the first
    token), ``seconds``.
    ``simulation``, if there was one: see :meth:`Simulation.facts`.
    """
    needs("tokenizers")
    start = time.monotonic()
    file = read_gguf(request.model)
    model = load(file)
    vocabulary = Vocabulary(file, model.shape.words)
    most = min(request.cache, model.shape.context)
    simulation, units = None, GOLDEN
    if request.simulate != "none":
        assert request.design is not None
        simulation = Simulation(
            request.design, model, length=most, every=request.simulate == "all", seed=request.seed,
            folder=request.folder / "runs", tell=note,
        )  # fmt: skip
        model, units = watched(model, simulation.take)
    decoder = Decoder(model, cache=most, bits=request.bits, units=units)
    prompt = vocabulary.question(request.prompt)
    if not 1 <= len(prompt) < decoder.cache:
        raise UsageError(
            f"--prompt must be 1..{decoder.cache - 1} tokens, so that the cache of {decoder.cache} "
            f"holds it and an answer, not {len(prompt)}"
        )

    def now() -> float:
        """Return the time, without what the simulation has taken."""
        return time.monotonic() - (0.0 if simulation is None else simulation.seconds)

    loaded = now()
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
            seconds.append(now())
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
    found: dict[str, Any] = {
        "text": "".join(pieces),
        "prompt_tokens": len(prompt),
        "tokens": len(written),
        "ended": ended[0],
        "load_seconds": round(loaded - start, 3),
        "prompt_seconds": round(seconds[0] - loaded, 3),
        "seconds": round(seconds[-1] - loaded, 3),
    }
    if simulation is not None:
        simulation.run()
        found["simulation"] = simulation.facts()
    return found
