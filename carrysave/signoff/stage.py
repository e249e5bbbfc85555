"""Stages of a design, by rule: which evidence each one takes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from carrysave.errors import check_choice
from carrysave.signoff.part import IMPOSSIBLE, NOT_RUN, PASSED, Part

__all__ = [
    "MUTANTS",
    "PARTS",
    "RULES",
    "SHARE",
    "STAGES",
    "Demand",
    "check_stage",
    "lacking",
    "reached",
]

SHARE = 0.9
"""Of the lines, of the branches and of the toggles that V2 takes, those that are constant apart."""
MUTANTS = 100
"""Mutants that V2 takes, or as many as a design has places."""
PARTS = {
    "generate": "the Verilog is made",
    "lint": "Verilator, Icarus, Yosys and slang find nothing",
    "bench": "the design's bench against its numpy twin, of each seed",
    "coverage": "lines, branches and toggles that the bench reached",
    "unknowns": "no x comes out from power-up, in Icarus, with x on what is not offered",
    "crossings": "registers that read those of another clock",
    "gates": "the same bench on the mapped netlist, without delays",
    "mutants": "mutants of the Verilog that the bench kills, or that are proven to be none",
    "proof": "the algebraic proof of an element",
    "timing": "what timing depends on, each input decided",
    "requirements": "what the docstring and the ports promise, each with what covers it",
}
"""Evidence, in the order in which it is shown."""


class Demand(NamedTuple):
    """What a stage takes of a part.

    Members
    -------
    part : one of :data:`PARTS`.
    text : the demand in words.
    met : whether a part meets it.
    """

    part: str
    text: str
    met: Callable[[Part], bool]


def _passed(part: Part) -> bool:
    return part.outcome == PASSED


def _decided(part: Part) -> bool:
    """Not of a design that it is not for: the reason is on the page then."""
    return part.outcome in (PASSED, IMPOSSIBLE)


def _share(part: Part) -> bool:
    kinds = part.facts.get("kinds", {})
    return bool(kinds) and all(one["hit"] >= SHARE * one["total"] for one in kinds.values())


def _argued(part: Part) -> bool:
    return bool(part.facts.get("kinds")) and not part.facts.get("open", True)


def _enough(part: Part) -> bool:
    facts = part.facts
    asked, made = facts.get("asked", 0), facts.get("made", 0)
    return asked >= MUTANTS and made >= min(asked, facts.get("places", asked)) and made > 0


def _none_lives(part: Part) -> bool:
    facts = part.facts
    return facts.get("made", 0) > 0 and not facts["alive"] and not facts["undecided"]


def _kills(part: Part) -> bool:
    return part.facts.get("killed", 0) > 0


RULES: dict[str, tuple[Demand, ...]] = {
    "D1": (
        Demand("generate", "Verilog is generated", _passed),
        Demand("lint", "lint of all tools that are here is clean", _passed),
    ),
    "D2": (
        Demand("unknowns", "no x comes out from power-up", _passed),
        Demand("crossings", "one clock, or every crossing is between related clocks", _passed),
    ),
    "D3": (
        Demand("gates", "the bench passes on the mapped netlist", _passed),
        Demand("timing", "each input is decided: it moves a handshake, or never does", _decided),
    ),
    "V1": (
        Demand("bench", "the bench passes against the numpy twin", _passed),
        Demand("mutants", "the bench can fail: it kills a mutant", _kills),
    ),
    "V2": (
        Demand("coverage", f"{SHARE:.0%} of lines, of branches and of toggles", _share),
        Demand("mutants", f"{MUTANTS} mutants, or as many as there are places", _enough),
        Demand("mutants", "none alive, none undecided", _none_lives),
    ),
    "V3": (
        Demand("coverage", "every hole is argued", _argued),
        Demand("requirements", "every requirement is covered", _passed),
        Demand("proof", "proven, where an element can be", _decided),
    ),
}
"""What each stage takes beside those of :data:`_BEFORE`."""
_BEFORE = {"D2": ("D1",), "D3": ("D2",), "V1": ("D1",), "V2": ("V1", "D2"), "V3": ("V2", "D3")}
STAGES = tuple(RULES)


def check_stage(stage: str | None) -> None:
    """Refuse what is no stage."""
    if stage is not None:
        check_choice("stage", stage, STAGES)


def lacking(stage: str, parts: Mapping[str, Part]) -> list[str]:
    """Return what a stage still takes, in words; none if it is reached."""
    lacks = [text for before in _BEFORE.get(stage, ()) for text in lacking(before, parts)]
    for demand in RULES[stage]:
        part = parts.get(demand.part, Part(demand.part, NOT_RUN))
        if not demand.met(part):
            said = f": {part.why}" if part.why else ""
            lacks.append(f"{stage}: {demand.text} ({demand.part} {part.outcome}{said})")
    return list(dict.fromkeys(lacks))


def reached(parts: Mapping[str, Part]) -> tuple[str, str]:
    """Return the stages of design and of verification, ``D0`` and ``V0`` if there are none."""
    best = {"D": "D0", "V": "V0"}
    for stage in STAGES:
        if not lacking(stage, parts):
            best[stage[0]] = stage
    return best["D"], best["V"]
