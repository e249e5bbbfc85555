"""A language model answers a prompt: what is asked, checked before anything is computed."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from carrysave.compiler.decoder.answer import Answer, behind
from carrysave.compiler.decoder.blocks import Blocks
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.decoder.recurrent import Recurrent, decoder_of
from carrysave.compiler.decoder.skip import with_skips
from carrysave.compiler.decoder.state import SUFFIX, Stopped, load, made_by, save
from carrysave.compiler.decoder.summary import summary
from carrysave.compiler.front.decoder import KEYS
from carrysave.compiler.front.text import Characters
from carrysave.compiler.front.text_tokens import Vocabulary
from carrysave.compiler.lowered.heads import HOST
from carrysave.compiler.program.names import is_program
from carrysave.errors import ArgumentError, refusal
from hw.emit.user_files import parsing

if TYPE_CHECKING:
    from carrysave.compiler.decoder.compile import ProgramDecoder
    from carrysave.compiler.run.sample import Sample

__all__ = ["WriteRequest", "write"]

Decoder = Union[Blocks, Recurrent, "ProgramDecoder"]


@dataclass(frozen=True, kw_only=True)
class WriteRequest:
    """A prompt for a model.

    Parameters
    ----------
    model : a .gguf file, an .npz file of characters, the folder of a checkpoint, or that of a
        program.
    prompt : text; None: a chat that stopped goes on.
    options : how it answers.
    parameters : of the block; after the core's own.
    folder : for the simulation.
    save, resume : files, .npz: where the chat is left, and from which it goes on.
    """

    model: Path
    prompt: str | None
    options: ChatOptions
    parameters: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path("build")
    save: Path | None = None
    resume: Path | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        self.options.check()
        if self.prompt is None and self.resume is None:
            raise ArgumentError("{prompt} must be given, or {resume}, or {perplexity} with a text")
        for name in ("save", "resume"):
            path = getattr(self, name)
            if path is None:
                continue
            if path.suffix != SUFFIX:
                text = f"{{{name}}} must be a file *{SUFFIX}, not {{_given}}"
                raise ArgumentError(text, _given=str(path))
            if self.options.simulate != "none" or is_program(self.model):
                text = f"{{{name}}} is of a model's file, without {{simulate}}, not of a program"
                raise ArgumentError(text)


def write(
    request: WriteRequest, tell: Callable[[str], None], note: Callable[[str], None]
) -> dict[str, Any]:
    """Answer a prompt token by token, until the model ends, or the room does.

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
    ``model``, but of a program's folder: see :func:`carrysave.compiler.decoder.summary.summary`.
    ``simulation``, if there was one: see :meth:`Sample.facts`.
    """
    with ExitStack() as opened:
        return _written(request, tell, note, opened)


def _written(
    request: WriteRequest,
    tell: Callable[[str], None],
    note: Callable[[str], None],
    opened: ExitStack,
) -> dict[str, Any]:
    start = time.monotonic()
    decoder, vocabulary, simulation, model = _decoder(request, note, opened)
    stopped, made = _stopped(request, decoder)
    asked = _asked(request, vocabulary, stopped)
    tokens = [*(stopped.tokens if stopped else ()), *asked]
    _check_room(len(tokens), decoder)

    def now() -> float:
        """Return the time, without what the simulation has taken."""
        return time.monotonic() - (0.0 if simulation is None else simulation.seconds)

    loaded = now()
    answer = Answer(decoder, tokens, request.options, vocabulary.ends, now)
    before = stopped.last if stopped and request.prompt is None else []
    pieces = []
    for piece in behind(vocabulary.words, before, answer.numbers()):
        tell(piece)
        pieces.append(piece)
    facts: dict[str, Any] = {
        "text": "".join(pieces),
        "prompt_tokens": len(asked),
        "tokens": len(answer.written),
        "ended": answer.ended,
        "load_seconds": round(loaded - start, 3),
        "prompt_seconds": round(answer.seconds[0] - loaded, 3),
        "seconds": round(answer.seconds[-1] - loaded, 3),
    }
    if model is not None:
        facts["model"] = model
    if simulation is not None:
        simulation.run()
        facts["simulation"] = simulation.facts()
    if request.save is not None:
        assert isinstance(decoder, Blocks)
        save(request.save, answer.stopped(decoder, len(before)), made)
    return facts


def _stopped(request: WriteRequest, decoder: Decoder) -> tuple[Stopped | None, dict[str, Any]]:
    """Return the chat that goes on, if one does, and what a state depends on."""
    if request.save is None and request.resume is None:
        return None, {}
    assert isinstance(decoder, Blocks)
    made = made_by(request.model, getattr(decoder, "scheme", 0), request.options.weights)
    if request.resume is None:
        return None, made
    stopped = load(request.resume, made, decoder.model.shape.words)
    if stopped.length > decoder.cache:
        raise ArgumentError(
            "{cache} must be above the {_count} tokens of {resume}, not {_given}",
            _count=stopped.length,
            _given=decoder.cache,
        )
    with parsing(request.resume, "arrays"):
        decoder.restore(stopped.length, stopped.arrays)
    return stopped, made


def _asked(
    request: WriteRequest, vocabulary: Vocabulary | Characters, stopped: Stopped | None
) -> list[int]:
    """Return the tokens of the prompt; none of a chat that goes on as it is."""
    if request.prompt is None:
        assert stopped is not None
        if stopped.ended == "end":
            raise ArgumentError("{prompt} must be given: the model had ended its answer")
        return []
    asked: list[int] = vocabulary.question(request.prompt, follows=stopped is not None).tolist()
    # A template ends the answer before; the model may have done so.
    ended = stopped is not None and stopped.ended == "end"
    return asked[1:] if ended and stopped and asked[:1] == stopped.tokens[-1:] else asked


def _check_room(count: int, decoder: Decoder) -> None:
    """Refuse tokens that leave no room for an answer."""
    if 1 <= count < decoder.cache:
        return
    holds = f"the cache of {decoder.cache} holds"
    if isinstance(decoder, Recurrent):
        holds = f"{decoder.cache} hold"
    raise ArgumentError(
        "{prompt} must be 1..{_most} tokens, so that {_holds} it and an answer, not {_count}",
        _most=decoder.cache - 1,
        _holds=holds,
        _count=count,
    )


def _decoder(
    request: WriteRequest, note: Callable[[str], None], opened: ExitStack
) -> tuple[Decoder, Vocabulary | Characters, "Sample | None", dict[str, Any] | None]:
    """Return what answers, its vocabulary, what runs its jobs on the block, too; its summary."""
    options = request.options
    if request.model.is_dir() and not (request.model / "config.json").exists():
        given = options.kv, options.keys, options.attention, options.simulate
        if given != (None, KEYS[0], HOST, "none"):
            text = "{kv}, {keys}, {attention} and {simulate} must be left out: the program is"
            raise ArgumentError(f"{text} compiled")
        # What runs programs takes as long to load as a small model, and much memory.
        from carrysave.compiler.decoder.program_answer import program_of

        return *program_of(request.model, options, opened), None, None
    if options.port is not None:
        raise ArgumentError("{port} is for a program of `carrysave build`, by its folder")
    loaded = load_model(request.model, options.weights)
    vocabulary = loaded.words
    model, skipped = with_skips(loaded.model, vocabulary, options.skip, options.calibration)
    if options.kv is not None and model.form != "attention":
        raise refusal("kv", "left out, as the model has no cache", str(options.kv))
    most = min(options.cache, model.shape.context)
    facts = summary(loaded, most, options.kv or model.cache_bits, skipped, options.attention)
    if options.simulate == "none":
        in_golden = decoder_of(
            model, cache=most, bits=options.kv, keys=options.keys, attention=options.attention
        )
        return in_golden, vocabulary, None, facts
    from carrysave.compiler.decoder.program_answer import simulated

    folder = request.folder / "runs"
    decoder, sample = simulated(model, most, options, request.parameters, folder, note)
    return decoder, vocabulary, sample, facts
