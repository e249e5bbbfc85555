"""Flags that say how the next token of an answer is chosen."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from carrysave.compiler.decoder.sampling import Sampling

__all__ = ["SamplingFlags"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SamplingFlags(Sampling):
    """Flags of the choice of a token; defaults are those of the options."""

    temp: Annotated[
        float, Parameter(help="Temperature of draws, 0 to 100; 0: the likeliest token each time.")
    ]
    top_k: Annotated[int, Parameter(help="Draw among so many likeliest tokens; 0: among all.")]
    top_p: Annotated[
        float, Parameter(help="Draw among the likeliest tokens that have this share together.")
    ]
    min_p: Annotated[
        float, Parameter(help="Draw among tokens with this share, relative to the likeliest's.")
    ]
    repeat_penalty: Annotated[
        float, Parameter(help="Divides the logits of tokens that were there, 0.01 to 100.")
    ]
    repeat_last_n: Annotated[
        int, Parameter(help="Last tokens that were there, for penalties; 0: none; -1: all.")
    ]
    presence_penalty: Annotated[
        float, Parameter(help="Subtracted from logits of tokens that were there, -100 to 100.")
    ]
    frequency_penalty: Annotated[
        float, Parameter(help="Subtracted as often as tokens were there, -100 to 100.")
    ]
    seed: Annotated[int, Parameter(help="Seed of draws, and of the simulated sample.")]
