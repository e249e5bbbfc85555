"""Steps of a section, from its words in memory and what these do not say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from carrysave.compiler.program.floats import (
    FLOAT_WORDS,
    LOOPS,
    OPERAND_WORDS,
    OPERANDS,
    Floats,
    Format,
    Operand,
    Operation,
    SectionStep,
)
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.image import DESCRIPTOR
from carrysave.compiler.program.program import Section
from carrysave.compiler.program.rings import Ring, ring_of
from carrysave.compiler.program.steps import Move, Start, Varies
from carrysave.compiler.program.words import (
    HEAD_WORDS,
    JOB_FIELDS,
    JOB_WORDS,
    JOBS,
    MOVE_FIELDS,
    Kind,
    group_of,
)
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.driver.system import Parameter

__all__ = ["Words", "decoded", "step_of", "unsaid"]

_NAMES: dict[str, type] = {"node": str, "operator": str}
_KINDS: dict[str, tuple[type, int, dict[str, type]]] = {
    "move": (Move, Kind.MOVE, {**_NAMES, "bytes": int, "reason": str}),
    "start": (Start, Kind.START, {**_NAMES, "cycles": int, "macs": int}),
    "floats": (Floats, Kind.FLOATS, {**_NAMES, "numbers": int}),
}
"""Kinds of steps, and what their words do not say."""


class Words:
    """Words from an address on."""

    def __init__(self, memory: np.ndarray, start: int) -> None:
        if start % 4 or not 0 <= start < len(memory):
            raise ValueError(f"a section must begin at a word of memory, not at {start}")
        self._start = start
        self.size = len(memory)
        self._words = memory[start : start + (len(memory) - start) // 4 * 4].view("<i4")
        self._word = 0

    @property
    def address(self) -> int:
        """Address of the next word."""
        return self._start + 4 * self._word

    def peek(self) -> int:
        """Return the next word, 0 if there is none."""
        return int(self._words[self._word]) if self._word < len(self._words) else 0

    def rest(self) -> np.ndarray:
        """Return all words from the next on."""
        return self._words[self._word :]

    def take(self, count: int) -> list[int]:
        """Return the next words."""
        words: list[int] = self._words[self._word : self._word + count].tolist()
        if count < 0 or len(words) < count:
            raise ValueError("a section ends beyond the memory")
        self._word += count
        return words


def decoded(
    memory: np.ndarray,
    start: int,
    steps: Sequence[Mapping[str, Any]],
    parameters: Sequence[Parameter] = (),
    chip: int = CHIP,
) -> Section:
    """Return the section at an address.

    Parameters
    ----------
    steps : of each its kind, node and operator; and of moves their bytes and reason, of starts
        cycles and products of codes, of steps on floats how many numbers they compute.
    parameters : by which words of steps vary.
    chip : first address on chip, to the hardware.

    Raises
    ------
    ValueError
        Words of other steps, or beyond the memory.
    """
    words = Words(memory, start)
    left = words.take(HEAD_WORDS)[0]
    rings: list[Ring] = []
    ways: dict[int, list[tuple[str, int]]] = {}
    for parameter in parameters:
        for address, factor in parameter.words:
            ways.setdefault(address, []).append((parameter.name, factor))
    result: list[SectionStep] = []
    while left > 0 and len(result) < len(steps):
        left -= 1
        first, said = words.address, steps[len(result)]
        _, kind, _ = _KINDS.get(str(said["kind"]), (object, 0, {}))
        if words.peek() not in (kind, Kind.RING):
            raise ValueError(f"a step must be a {said['kind']}, not of kind {words.peek()}")
        step = step_of(words)
        if isinstance(step, Ring):
            rings.append(step)
            result += _starts(step, steps[len(result) :], memory, chip)
            continue
        varies = [
            _way(step, (address - first) // 4, *way)
            for address in range(first, words.address, 4)
            for way in ways.get(address, ())
        ]
        result.append(replace(step, varies=tuple(varies), **_said(said)))
    if left or len(result) < len(steps):
        raise ValueError(f"the section at {start} must have {len(steps)} steps, not {len(result)}")
    return Section(tuple(result), start, tuple(rings))


def unsaid(step: SectionStep) -> dict[str, Any]:
    """Return the kind of a step, and what its words do not say."""
    kind, names = next((one, more) for one, (of, _, more) in _KINDS.items() if isinstance(step, of))
    return {"kind": kind, **{name: getattr(step, name) for name in names}}


def _said(one: Mapping[str, Any]) -> dict[str, Any]:
    """Read what words of a step do not say."""
    return {name: kind(one[name]) for name, kind in _KINDS[one["kind"]][2].items()}


def _starts(
    ring: Ring, steps: Sequence[Mapping[str, Any]], memory: np.ndarray, chip: int
) -> list[Start]:
    """Return the starts of a ring."""
    places = [ring.counters, *(counters for _, counters in ring.starts)]
    ends = [ring.at + DESCRIPTOR * ring.count, *(first + size for first, size in ring.written)]
    starts_of = (ring.at, *(first for first, _ in ring.written))
    if not all(0 <= at < len(memory) for at in (*places, *starts_of)) or max(ends) > len(memory):
        raise ValueError("a ring must be of memory alone")
    if base := ring.base(memory):
        raise ValueError(f"a ring must be written for memory from address 0 on, not {base:#x}")
    if len(ring.starts) > len(steps):
        raise ValueError(f"a ring must have {len(steps)} starts at most, not {len(ring.starts)}")
    jobs = iter(ring.jobs(memory, chip))
    starts = []
    for (count, counters), one in zip(ring.starts, steps, strict=False):
        groups: tuple[JobGroup, ...] = ()
        for job in islice(jobs, count):
            groups = appended(groups, JobGroup(job=job))
        if one["kind"] != "start":
            raise ValueError(f"a step must be a {one['kind']}, not a start")
        starts.append(Start(groups=groups, counters=counters, **_said(one)))
    return starts


def _way(step: SectionStep, word: int, parameter: str, factor: int) -> Varies:
    """Say which word of a step varies."""
    head = 3 if isinstance(step, Start) else 1
    fields: Sequence[str] = JOB_FIELDS if isinstance(step, Start) else MOVE_FIELDS
    if isinstance(step, Floats):
        fields = step.fields
    job, field = divmod(word - head, len(fields))
    if word < head:
        raise ValueError(f"parameter {parameter!r} must be in a job, move or step on floats")
    return Varies(parameter=parameter, field=fields[field], factor=factor, job=job)


def step_of(words: Words) -> SectionStep | Ring:
    """Read a step, without what words do not say.

    Raises
    ------
    ValueError
        Words of no step.
    """
    (kind,) = words.take(1)
    if kind == Kind.MOVE:
        fields: dict[str, Any] = dict(zip(MOVE_FIELDS, words.take(len(MOVE_FIELDS)), strict=True))
        return Move(node="", operator="", bytes=0, **fields)
    if kind == Kind.START:
        count, counters = words.take(2)
        if not 1 <= count <= JOBS or not 0 <= counters < words.size:
            raise ValueError(f"a start must have 1..{JOBS} groups of jobs, not {count}")
        groups = tuple(group_of(words.take(JOB_WORDS)) for _ in range(count))
        return Start(node="", operator="", cycles=0, macs=0, groups=groups, counters=counters)
    if kind == Kind.RING:
        ring, size = ring_of(words.rest(), words.address)
        words.take(size)
        return ring
    if kind == Kind.FLOATS:
        return _floats(words)
    raise ValueError(f"a step must be of kind 1..{max(Kind)}, not {kind}")


def _floats(words: Words) -> Floats:
    head = words.take(FLOAT_WORDS)
    if head[0] not in OPERANDS:
        raise ValueError(f"an operation on floats must be 1..{len(OPERANDS)}, not {head[0]}")
    operation = Operation(head[0])
    operands = {}
    for name in OPERANDS[operation]:
        address, kind, row, column = words.take(OPERAND_WORDS)
        if kind:
            operands[name] = Operand(address=address, format=Format(kind), row=row, column=column)
    if operation == Operation.LOOK_UP:
        _check_look_up(operands)
    rows, columns, shift, width, low, high, around = head[1:]
    if not 0 <= around <= LOOPS:
        raise ValueError(f"a step on floats must have 0..{LOOPS} loops around it, not {around}")
    loops = [words.take(1 + len(OPERANDS[operation])) for _ in range(around)]
    return Floats(
        node="", operator="", operation=operation, rows=rows, columns=columns, operands=operands,
        shift=shift, width=width, low=low, high=high,
        loops=tuple((one[0], tuple(one[1:])) for one in loops),
    )  # fmt: skip


def _check_look_up(operands: Mapping[str, Operand]) -> None:
    out, a, b = (
        operands[name].format if name in operands else Format.NONE
        for name in OPERANDS[Operation.LOOK_UP]
    )
    if a != Format.I8 or b not in (Format.I8, Format.F32) or out != b:
        raise ValueError(
            "a look-up must be of codes of 8 bits, in a table of I8 or F32 as its results,"
            f" not of {a.name} in {b.name} to {out.name}"
        )
