"""Puts steps into memory as words, with the places in them that parameters change."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.image import COUNTERS, DESCRIPTOR, Image
from carrysave.compiler.program.operands import rows
from carrysave.compiler.program.program import Layer, Program, Section
from carrysave.compiler.program.ring_cost import in_rings
from carrysave.compiler.program.rings import is_ready, ring_of, ring_words
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
    every: Sequence[Sequence[SectionStep]],
    scores: tuple[int, int, int],
    parameters: Sequence[Parameter] = (),
) -> tuple[list[Section], tuple[Parameter, ...]]:
    """Place sections as words.

    Parameters
    ----------
    image : of the program.
    every : steps of each.
    scores : room for descriptors, the codes of the last product, and their count.
    parameters : names and ranges; words of steps are those of the least value.

    Returns
    -------
    The sections, and parameters with the addresses of their values and places.

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
    varied = [way.parameter for steps in every for step in steps for way in step.varies]
    if unknown := set(varied) - known:
        raise ValueError(f"a step varies by {min(unknown)!r}, which is no parameter")
    if idle := known - set(varied):
        raise ValueError(f"parameter {min(idle)!r} must be in a step, or several")
    size = 1 + PARAMETER_WORDS * len(parameters) + 2 * len(varied)
    table = image.room(4 * size) if parameters else 0
    values = _values(table, parameters, varied)
    every = [[_settled(step, values) for step in steps] for steps in every]
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in known}
    sections = []
    for steps in every:
        parts = _parts(image, steps)
        words = [len(parts), *scores, table, 0]
        at = image.end
        rings = []
        for some, part in parts:
            for way in some[0].varies:
                word = at + 4 * (len(words) + _place(some[0], way))
                places[way.parameter].append((word, way.factor))
            if part[0] == Kind.RING:
                ours = np.array(part[1:], "<i8")
                rings.append(ring_of(ours, at + 4 * (len(words) + 1))[0])
            words += part
        assert image.put(_packed(words)) == at
        sections.append(Section(tuple(steps), at, tuple(rings)))
    if not parameters:
        return sections, ()
    placed, image.parts[table] = _table(table, parameters, places)
    return sections, placed


def _values(table: int, parameters: Sequence[Parameter], varied: Sequence[str]) -> dict[str, int]:
    """Return the address of each parameter's value in the table."""
    values, at = {}, table + 4
    for one in parameters:
        values[one.name] = at
        at += 4 * (PARAMETER_WORDS + 2 * varied.count(one.name))
    return values


def _settled(step: SectionStep, values: Mapping[str, int]) -> SectionStep:
    """Return a step that writes a parameter's value, with its address."""
    if not isinstance(step, Floats) or not step.sets:
        return step
    out = replace(step.operands["out"], address=values[step.sets])
    return replace(step, operands={**step.operands, "out": out}, sets="")


def _table(
    table: int, parameters: Sequence[Parameter], places: Mapping[str, list[tuple[int, int]]]
) -> tuple[tuple[Parameter, ...], bytes]:
    """Place parameters in their table, at an address; return them, and its bytes."""
    placed, words = [], [len(parameters)]
    for one in parameters:
        placed.append(replace(one, address=table + 4 * len(words), words=tuple(places[one.name])))
        words += [one.low, one.low, one.low, one.high, len(places[one.name])]
        words += [word for pair in places[one.name] for word in pair]
    return tuple(placed), _packed(words)


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
    whole = [
        one if isinstance(one, HostStep) else tuple(in_rings(one, image.target)) for one in parts
    ]
    last = max(at for at, one in enumerate(whole) if isinstance(one, tuple))
    more_steps = tuple(_carried(image, states))
    whole = [
        (*one, *more_steps) if at == last and isinstance(one, tuple) else one
        for at, one in enumerate(whole)
    ]
    ring = image.room(DESCRIPTOR * JOBS)
    every = [one for one in whole if isinstance(one, tuple)]
    sections, placed = assemble(image, every, (ring, *scores), parameters)
    left = iter(sections)
    return Program(
        target=image.target, image=image, ring=ring, scores=scores[0], classes=scores[1],
        parts=tuple(one if isinstance(one, HostStep) else next(left) for one in whole),
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


def _parts(
    image: Image, steps: Sequence[SectionStep]
) -> list[tuple[Sequence[SectionStep], list[int]]]:
    """Write steps as words; starts that follow each other, and whose jobs are ready, as a ring."""
    parts: list[tuple[Sequence[SectionStep], list[int]]] = []
    for ready, some in groupby(steps, lambda one: is_ready(one, image.target)):
        if not ready:
            parts += [((step,), _words(step)) for step in some]
            continue
        starts = [step for step in some if isinstance(step, Start)]
        counters = image.room(COUNTERS)
        at = image.room(DESCRIPTOR * sum(len(one.jobs) for one in starts), DESCRIPTOR)
        image.parts[at], words = ring_words(starts, image.target, at, counters)
        parts.append((starts, words))
    return parts


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


def scores_of(image: Image, layers: Sequence[Layer], samples: int) -> tuple[int, int]:
    """Return where the last product's codes lie one after the other, and how many; or none.

    Of several samples, or of a map, there is no class: the first code is all.
    """
    if not layers:
        return 0, 1
    end = layers[-1]
    last = end.y.sources.reshape(1, -1)
    if samples > 1 or sum(size > 1 for size in end.y.sources.shape) > 1:
        last = last[:, :1]
    return rows(image, (end.node, end.operator), last).address, last.size
