"""What passes need to know besides the model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from carrysave.compiler.lowered.encoded import Choice
from carrysave.compiler.lowered.heads import Choose
from carrysave.compiler.target.target import Target

__all__ = ["Setting"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What passes need to know besides the model.

    Members
    -------
    target : the co-processor.
    choices : formats of float products, by node.
    fallback : nodes that can run neither on the block nor on the host go to onnxruntime.
    without : products that go there, too, by name, with reasons: a run has shown that the block
        cannot run them.
    program : the model becomes a program, which keeps attention whole: its scores are no job, and
        a file for the host has no products of the block.
    attention : chooses how attention of codes is computed; None: scores are products, the rest is
        in floats.
    """

    target: Target
    choices: Mapping[str, Choice] = field(default_factory=dict)
    fallback: bool = False
    without: Mapping[str, str] = field(default_factory=dict)
    program: bool = False
    attention: Choose | None = None
