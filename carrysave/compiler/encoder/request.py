"""Vectors of sentences as they are asked for, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, check_choice
from carrysave.keywords import Options
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design

__all__ = [
    "ATTENTION",
    "PARAMETERS",
    "SIMULATIONS",
    "UNIT",
    "EmbedOptions",
    "EmbedRequest",
    "asked",
    "parameters",
    "unit_of",
]

UNIT = (
    "vector_unit(width=16,scale_width=8,out_width=16,signed=true,norm_fraction=8,length=1024,"
    "quotient_bits=4,operations=softmax,layer_norm,gelu,add,multiply,scale)"
)
"""The vector unit, if the design has none."""
SIMULATIONS = ("layer", "sample", "none")
"""Simulate the first layer in full, and a part of a job of each kind of each other; parts alone."""
ATTENTION = ("auto", ONE_PASS, ROWS)
"""Ways of attention."""
PARAMETERS = {"vector": UNIT, "code_bytes": "2", "transpose": "true", "gather": "true"}
"""Of the co-processor, unless given."""


def parameters(given: Mapping[str, str], attention: str = "auto") -> dict[str, str]:
    """Return the co-processor's parameters: those given, and of the others an encoder's."""
    one_pass = {}
    if attention == ONE_PASS:
        one_pass = {"vector": UNIT[:-1] + ",exps,divide)", "shares": "true"}
    # Without a unit there is nothing of it either, and it is the unit that is missing.
    missing = {}
    if given.get("vector") == "none":
        missing = {"transpose": "false", "gather": "false"}
    return {**PARAMETERS, **one_pass, **missing, **given}


@dataclass(frozen=True, kw_only=True, repr=False)
class EmbedOptions(Options):
    """How vectors are made.

    Parameters
    ----------
    calibration : file of sentences that steps are chosen for; None: those whose vectors are made.
    batch : sentences in a program.
    simulate : one of :data:`SIMULATIONS`.
    attention : one of :data:`ATTENTION`; auto: whichever takes fewer cycles by the cost model.
    """

    calibration: Path | None = None
    batch: int = 32
    simulate: str = "none"
    attention: str = "auto"

    def check(self) -> None:
        """Check the number and the choice."""
        check_choice("simulate", self.simulate, SIMULATIONS)
        check_choice("attention", self.attention, ATTENTION)
        if not 1 <= self.batch <= 4096:
            text = "{batch} must be 1..4096 sentences, not {_given}"
            raise ArgumentError(text, _given=self.batch)


@dataclass(frozen=True, kw_only=True)
class EmbedRequest:
    """A request for vectors of sentences.

    Parameters
    ----------
    model : folder of a text encoder.
    text : file, a sentence in each line.
    design : a co-processor with a vector unit.
    options : how they are made.
    """

    model: Path
    text: Path
    design: Design
    options: EmbedOptions

    def __post_init__(self) -> None:
        """Check options and the unit."""
        self.options.check()
        unit_of(Target(self.design))


def asked(options: EmbedOptions) -> str | None:
    """Return the way of attention that is asked for, if any is."""
    return None if options.attention == "auto" else options.attention


def unit_of(target: Target) -> VectorUnitSpec:
    """Return the vector unit of a design; ValueError if encoders cannot run on it."""
    unit = target.spec.vector
    if unit is None:
        raise ValueError("vector must be a vector unit, not none")
    if unit.width != 16:
        raise ValueError(f"width of the vector unit must be 16, not {unit.width}")
    if not unit.signed:
        raise ValueError("signed of the vector unit must be true: shares are signed operands")
    if not target.spec.sizes:
        raise ValueError("code_bytes must be 2, not 1: most products make codes of 16 bits")
    return unit
