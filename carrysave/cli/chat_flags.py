"""Flags of ``carrysave chat``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.sampling_flags import SamplingFlags
from carrysave.compiler.decoder.chat_options import ChatOptions

__all__ = ["ChatFlags", "Task"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChatFlags(SamplingFlags, ChatOptions):
    """Flags of an answer; defaults are those of the options."""

    tokens: Annotated[int, Parameter(help="Most tokens of the answer.")]
    kv: Annotated[
        int | None,
        Parameter(
            help="Bits of a key or value in the cache: 8, 4. [default: the model's own; .gguf: 8]"
        ),
    ]
    keys: Annotated[
        str,
        Parameter(
            help="What has a step of keys of 4 bits: tokens; channels, of 32 tokens, with the last "
            "32 of 8 bits."
        ),
    ]
    attention: Annotated[
        str,
        Parameter(
            help="Attention: host (a softmax of whole rows), one-pass (shares by blocks of 32 keys;"
            " of programs, jobs of a block with -p group_scales=fp16)."
        ),
    ]
    cache: Annotated[
        int, Parameter(help="Tokens of prompt and answer together; at most the model's context.")
    ]
    simulate: Annotated[str, Parameter(help="Jobs to run on the block, too: all, sample, none.")]
    core: Annotated[
        str,
        Parameter(
            help="Engine of the block: lut_core, blocks (of multipliers), int8, ternary_core, "
            "shift_add_core."
        ),
    ]
    weights: Annotated[
        int | str,
        Parameter(
            help="Bits to which matrices of floats are rounded: 2 to 8; or a table: nf4, kmeans:4,"
            " kmeans:8, kmeans:16, mirrored:16."
        ),
    ]
    skip: Annotated[
        float,
        Parameter(
            help="Share of the inputs of a feed-forward's matrices that are skipped, the smallest "
            "of each layer, whose rows of weights are not read: 0.5."
        ),
    ]
    calibration: Annotated[
        Path | None,
        Parameter(help="A text, UTF-8, by which --skip knows them. [default: Python's own help]"),
    ]
    port: Annotated[
        str | None,
        Parameter(help="Serial port of the board for which `build --model` wrote the program."),
    ]
    baud: Annotated[
        int | None, Parameter(help="Baud rate of the port. [default: that of the board's build]")
    ]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Task:
    """What a model is to do."""

    prompt: Annotated[str | None, Parameter(help="What the model answers.")] = None
    perplexity: Annotated[
        Path | None,
        Parameter(
            help="A text, UTF-8, of which the model predicts each token, in place of a prompt."
        ),
    ] = None
    save: Annotated[
        Path | None, Parameter(help="Where the chat is left when it stops, for --resume: .npz.")
    ] = None
    resume: Annotated[
        Path | None,
        Parameter(help="A chat that was saved; without --prompt its last answer goes on."),
    ] = None
