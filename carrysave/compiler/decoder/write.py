"""A language model answers a prompt: what is asked, checked before anything is computed."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.decoder.attention import Blocks
from carrysave.compiler.decoder.compile import LOGITS, ProgramDecoder, compile_decoder
from carrysave.compiler.decoder.cores import CORES, core_block
from carrysave.compiler.decoder.folder import load_model, load_program
from carrysave.compiler.decoder.recurrent import Recurrent, decoder_of
from carrysave.compiler.front.gguf import CACHE_BITS
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError, check_choice

__all__ = ["SIMULATIONS", "WriteRequest", "write"]

SIMULATIONS = ("none", "sample", "all")


@dataclass(frozen=True, kw_only=True)
class WriteRequest:
    """A prompt for a model.

    Parameters
    ----------
    model : a .gguf file, or an .npz file of characters; or the folder of a program.
    prompt : text.
    tokens : the most that are written, 1 at least.
    cache : tokens that are taken, prompt and answer; those that a cache holds.
    bits : of the cache's keys and values, 8 or 4; None: for which the model was made, 8 of .gguf.
    simulate : jobs that also run on the simulated block: none, a sample, all.
    core : the block's engine.
    parameters : of the block; after the core's own.
    seed : of the sample, 0 or more.
    folder : for the simulation.
    """

    model: Path
    prompt: str
    tokens: int
    cache: int
    bits: int | None = None
    simulate: str = "none"
    core: str = "lut_core"
    parameters: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    folder: Path = Path("build")

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.tokens < 1:
            raise UsageError(f"--tokens must be 1 or more, not {self.tokens}")
        if self.bits not in (None, *CACHE_BITS):
            raise UsageError(f"--kv must be 8 or 4 bits, not {self.bits}")
        if not 1 <= self.cache <= 4096:
            raise UsageError(f"--cache must be 1..4096 tokens, not {self.cache}")
        check_choice("--simulate", self.simulate, SIMULATIONS)
        check_choice("--core", self.core, tuple(CORES))
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
    ``simulation``, if there was one: see :meth:`Sample.facts`.
    """
    start = time.monotonic()
    decoder, vocabulary, simulation = _decoder(request, note)
    prompt = vocabulary.question(request.prompt)
    if not 1 <= len(prompt) < decoder.cache:
        holds = f"the cache of {decoder.cache} holds"
        if isinstance(decoder, Recurrent):
            holds = f"{decoder.cache} hold"
        raise UsageError(
            f"--prompt must be 1..{decoder.cache - 1} tokens, so that {holds} it and an answer, "
            f"not {len(prompt)}"
        )

    def now() -> float:
        """Return the time, without what the simulation has taken."""
        return time.monotonic() - (0.0 if simulation is None else simulation.seconds)

    loaded = now()
    seconds: list[float] = []
    written: list[int] = []
    ended = ["tokens"]

    def numbers() -> Iterator[int]:
        tokens = prompt
        while len(written) < request.tokens:
            if decoder.length + len(tokens) > decoder.cache:
                ended[0] = "cache"
                return
            number = int(np.argmax(decoder.step(tokens)[-1]))
            seconds.append(now())
            if number == vocabulary.end:
                ended[0] = "end"
                return
            written.append(number)
            yield number
            tokens = np.array([number])

    pieces = []
    for piece in vocabulary.words(numbers()):
        tell(piece)
        pieces.append(piece)
    facts: dict[str, Any] = {
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
        facts["simulation"] = simulation.facts()
    return facts


def _decoder(
    request: WriteRequest, note: Callable[[str], None]
) -> tuple[Blocks | ProgramDecoder, Vocabulary | Characters, Sample | None]:
    """Return what answers, its vocabulary, and what runs its jobs on the block, too."""
    if request.model.is_dir():
        if request.bits is not None or request.simulate != "none":
            raise UsageError("--kv and --simulate must be left out: the program is compiled")
        return *load_program(request.model, request.cache), None
    model, vocabulary, _ = load_model(request.model)
    if request.bits is not None and model.form != "attention":
        raise UsageError(f"--kv must be left out, as the model has no cache, not {request.bits}")
    most = min(request.cache, model.shape.context)
    if request.simulate == "none":
        return decoder_of(model, cache=most, bits=request.bits), vocabulary, None
    bits = model.weight_format[0] if model.weight_format else 4
    try:
        target = Target(core_block(request.core, request.parameters, bits))
        program = compile_decoder(model, target, cache=most, bits=request.bits)
    except ValueError as error:
        raise UsageError(str(error)) from None
    sample = Sample(
        program,
        every=request.simulate == "all",
        seed=request.seed,
        folder=request.folder / "runs",
        tell=note,
    )
    memory, (section,) = program.memory, program.sections
    decoder = ProgramDecoder(
        program.parameters,
        memory,
        program.results[LOGITS].view(memory),
        lambda: sample.execute(memory, section.start),
        most,
    )
    return decoder, vocabulary, sample
