"""Puts steps into memory as words, with the places in them that parameters change."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.image import DESCRIPTOR, Image
from carrysave.compiler.program.operands import rows
from carrysave.compiler.program.program import Layer, Program, Section
from carrysave.compiler.program.steps import HostStep, Move, Start, State, Varies
from carrysave.compiler.program.words import (
    JOB_FIELDS,
    JOB_WORDS,
    JOBS,
    MOVE_FIELDS,
    PARAMETER_WORDS,
    Kind,
    group_words,
)
from carrysave.driver.system import Parameter

__all__ = ["assemble", "assembled", "scores_of"]


def assemble(
    image: Image,
    sections: Sequence[Sequence[SectionStep]],
    scores: tuple[int, int, int],
    parameters: Sequence[Parameter] = (),
) -> tuple[list[int], tuple[Parameter, ...]]:
    """Place sections as words.

    Parameters
    ----------
    image : of the program.
    sections : steps of each.
    scores : room for descriptors, the codes of the last product, and their count.
    parameters : names and ranges; words of steps are those of the least value.

    Returns
    -------
    The address of each section, and parameters with the addresses of their values and places.

    Raises
    ------
    ValueError
        A step varies by a parameter that is not there, or a parameter has no place or range.
    """
    known = {one.name for one in parameters}
    for one in parameters:
        if not -(1 << 31) <= one.low <= one.high < 1 << 31:
            raise ValueError(
                f"parameter {one.name!r} must have a range of 32 bits, not {one.low}..{one.high}"
            )
    varied = [way.parameter for steps in sections for step in steps for way in step.varies]
    if unknown := set(varied) - known:
        raise ValueError(f"a step varies by {min(unknown)!r}, which is no parameter")
    if idle := known - set(varied):
        raise ValueError(f"parameter {min(idle)!r} must be in a step, or several")
    size = 1 + PARAMETER_WORDS * len(parameters) + 2 * len(varied)
    table = image.room(4 * size) if parameters else 0
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in known}
    starts = []
    for steps in sections:
        words = [len(steps), *scores, table]
        firsts = []
        for step in steps:
            firsts.append(len(words))
            words += _words(step)
        starts.append(image.put(_packed(words)))
        for step, first in zip(steps, firsts, strict=True):
            for way in step.varies:
                word = starts[-1] + 4 * (first + _place(step, way))
                places[way.parameter].append((word, way.factor))
    if not parameters:
        return starts, ()
    placed, words = [], [len(parameters)]
    for one in parameters:
        placed.append(replace(one, address=table + 4 * len(words), words=tuple(places[one.name])))
        words += [one.low, one.low, one.low, one.high, len(places[one.name])]
        words += [word for pair in places[one.name] for word in pair]
    image.parts[table] = _packed(words)
    return starts, tuple(placed)


def assembled(
    image: Image,
    parts: Sequence[Sequence[SectionStep] | HostStep],
    *,
    scores: tuple[int, int] = (0, 1),
    parameters: Sequence[Parameter] = (),
    states: Sequence[State] = (),
    **more: Any,
) -> Program:
    """Return the program of some parts, whose steps are placed as words.

    Parameters
    ----------
    image : with all that steps work on.
    parts : steps of sections, and of the host.
    scores : codes of the last product, and their count.
    parameters, states, more : of the program.
    """
    whole = [one if isinstance(one, HostStep) else tuple(one) for one in parts]
    last = max(at for at, one in enumerate(whole) if isinstance(one, tuple))
    more_steps = tuple(_carried(image, states))
    whole = [
        (*one, *more_steps) if at == last and isinstance(one, tuple) else one
        for at, one in enumerate(whole)
    ]
    ring = image.room(DESCRIPTOR * JOBS)
    sections = [one for one in whole if isinstance(one, tuple)]
    starts, placed = assemble(image, sections, (ring, *scores), parameters)
    left = iter(starts)
    return Program(
        target=image.target, image=image, ring=ring, scores=scores[0], classes=scores[1],
        parts=tuple(
            one if isinstance(one, HostStep) else Section(one, next(left)) for one in whole
        ),
        parameters=placed, states=tuple(states), **more,
    )  # fmt: skip


def _carried(image: Image, states: Sequence[State]) -> list[Move]:
    """Return the steps that carry states to the next run; they are a program's last ones.

    Raises
    ------
    ValueError
        A state without bytes, or whose bytes overlap.
    """
    for one in states:
        if one.bytes < 1 or abs(one.output - one.input) < one.bytes:
            raise ValueError(
                f"state {one.name!r} must be of bytes that do not overlap, not {one.bytes} at"
                f" {one.output:#x} and {one.input:#x}"
            )
    return [
        Move(
            node=one.name, operator="State", to=one.input, bytes=one.bytes, taps=1, words=2,
            at=image.put(_packed([one.bytes, one.output])), table=0,
        )
        for one in states
    ]  # fmt: skip


def _words(step: SectionStep) -> list[int]:
    if isinstance(step, Move):
        return [Kind.MOVE, *(getattr(step, name) for name in MOVE_FIELDS)]
    if isinstance(step, Floats):
        return [Kind.FLOATS, *step.words]
    groups = [word for group in step.groups for word in group_words(group)]
    return [Kind.START, len(step.groups), step.counters, *groups]


def _place(step: SectionStep, way: Varies) -> int:
    """Return the place of a word among those of its step."""
    fields: Sequence[str] = JOB_FIELDS
    jobs = head = 1
    if isinstance(step, Start):
        jobs, head = len(step.groups), 3
    else:
        fields = step.fields if isinstance(step, Floats) else MOVE_FIELDS
    if way.field not in fields or not 0 <= way.job < jobs:
        raise ValueError(
            f"{step.node}: what varies must be one of {', '.join(fields)} of job 0..{jobs - 1},"
            f" not {way.field} of job {way.job}"
        )
    return head + way.job * JOB_WORDS + fields.index(way.field)


def _packed(words: Sequence[int]) -> bytes:
    return b"".join(struct.pack("<I", word & 0xFFFFFFFF) for word in words)


def scores_of(image: Image, layers: Sequence[Layer]) -> tuple[int, int]:
    """Return where the last product's codes lie one after the other, and how many; or none."""
    if not layers:
        return 0, 1
    end = layers[-1]
    last = end.y.sources.reshape(1, -1)
    return rows(image, (end.node, end.operator), last).address, last.size
