"""Language models and text encoders, where a command takes models of every kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from carrysave.compiler.decoder.chat_options import ATTENTION
from carrysave.compiler.program.head_ways import AUTO
from carrysave.compiler.target.memory import memory_of
from carrysave.errors import UsageError, check_choice

if TYPE_CHECKING:
    from carrysave.compiler.program.program import Program

__all__ = [
    "BY_DEFAULT",
    "TextFlags",
    "TextProgram",
    "check_decoder",
    "check_no_text",
    "is_decoder",
    "is_text",
    "text_program",
]

_LANGUAGE = (".gguf", ".npz")
"""Suffixes of language models."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """Flags of a language model, and of a text encoder."""

    cache_: Annotated[
        int, Parameter(name="--cache", help="Of a language model: tokens, at most its context.")
    ] = 1024
    kv: Annotated[
        int | None,
        Parameter(help="Of a language model: bits of a key or value, 8, 4. [default: as `chat`]"),
    ] = None
    skip: Annotated[
        float, Parameter(help="Of a language model: as `chat`; with -p lists=N, rows are not read.")
    ] = 0.0
    calibration: Annotated[
        Path | None,
        Parameter(
            help="Of a text encoder: text, a sentence in each line, that steps are chosen for. Of"
            " a language model: a text for --skip."
        ),
    ] = None
    tokens: Annotated[int, Parameter(help="Of a text encoder: tokens of a sentence, at most.")] = (
        128
    )


BY_DEFAULT = TextFlags()


@dataclass(frozen=True)
class TextProgram:
    """The program of a text model.

    Members
    -------
    program : of one token, or of one sentence.
    more : what its manifest has besides.
    files : what its folder has besides, by name.
    """

    program: "Program"
    more: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def remark(self) -> str:
        """What is to be said of it; empty: nothing."""
        from carrysave.compiler.program.facts import packed_remark  # as in is_decoder

        return packed_remark(self.program)


def check_no_text(options: TextFlags, model: Path) -> None:
    """Refuse flags of text models for another model."""
    if options != BY_DEFAULT:
        raise UsageError(
            f"--cache, --kv, --skip, --calibration and --tokens must be left out of {model.name}"
        )


def is_text(model: Path) -> bool:
    """Return whether a path is a language model, or the folder of one, or of a text encoder."""
    return model.suffix in _LANGUAGE or (model / "config.json").exists()


def is_decoder(model: Path) -> bool:
    """Return whether a path of :func:`is_text` is a language model."""
    # Slow to load, and not needed for networks.
    from carrysave.compiler.front import checkpoint

    return model.suffix in _LANGUAGE or checkpoint.is_decoder(model)


def check_decoder(model: Path) -> None:
    """Refuse a text encoder, where a board runs the model."""
    if not is_decoder(model):
        raise UsageError(
            f"--model must be an ONNX model or a language model, not {model.name}: text encoders"
            " take sentences, which no program of a board does"
        )


def text_program(
    model: Path,
    options: TextFlags,
    parameters: Mapping[str, str],
    memory: str | None,
    attention: str = AUTO,
) -> TextProgram:
    """Compile a language model, or a text encoder.

    Parameters
    ----------
    model : a path that :func:`is_text` knows.
    parameters : of the co-processor.
    memory : behind it, as a user names it; None: nothing is known of it.
    attention : of a language model: `one-pass`, whose block must have `group_scales=fp16`; or
        `host`, which is `auto`, too.
    """
    timing = None if memory is None else memory_of(memory)
    if is_decoder(model):
        from carrysave.compiler.decoder.compile import block_of
        from carrysave.compiler.decoder.program_folder import compile_file, tokens_of
        from carrysave.compiler.target.target import Target

        check_choice("attention", attention, (AUTO, *ATTENTION))
        tokens = tokens_of(model, options.cache_)
        target = Target(block_of(parameters, tokens, attention), timing=timing)
        program, more = compile_file(
            model,
            target,
            cache=options.cache_,
            bits=options.kv,
            skip=options.skip,
            text=options.calibration if options.skip else None,
        )
        return TextProgram(program, more=more)
    if attention != AUTO:
        raise UsageError(f"--attention must be left out of {model.name}")
    if options.calibration is None:
        raise UsageError(f"--calibration must be given for {model.name}")
    from carrysave.compiler.encoder.folder import compile_folder

    program, files = compile_folder(
        model, options.calibration, parameters, tokens=options.tokens, timing=timing
    )
    return TextProgram(program, files=files)
