"""Steps of a section, from its words in memory and what these do not say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from carrysave.driver.system import Parameter

__all__ = ["decoded"]

_KINDS = {"move": Kind.MOVE, "start": Kind.START, "floats": Kind.FLOATS}


class _Words:
    """Words from an address on."""

    def __init__(self, memory: np.ndarray, start: int) -> None:
        if start % 4 or not 0 <= start < len(memory):
            raise ValueError(f"a section must begin at a word of memory, not at {start}")
        self._start = start
        self._words = memory[start : start + (len(memory) - start) // 4 * 4].view("<i4")
        self._place = 0

    @property
    def address(self) -> int:
        """Address of the next word."""
        return self._start + 4 * self._place

    def take(self, count: int) -> list[int]:
        """Return the next words."""
        words: list[int] = self._words[self._place : self._place + count].tolist()
        if count < 0 or len(words) < count:
            raise ValueError("a section ends beyond the memory")
        self._place += count
        return words


def decoded(
    memory: np.ndarray,
    start: int,
    steps: Sequence[Mapping[str, Any]],
    parameters: Sequence[Parameter] = (),
) -> tuple[SectionStep, ...]:
    """Return the steps at an address.

    Parameters
    ----------
    steps : of each its kind, node and operator; and of moves their bytes, of starts cycles and
        products of codes, of steps on floats how many numbers they compute.
    parameters : by which words of steps vary.

    Raises
    ------
    ValueError
        Words of other steps, or beyond the memory.
    """
    words = _Words(memory, start)
    count = words.take(HEAD_WORDS)[0]
    if count != len(steps):
        raise ValueError(f"the section at {start} must have {len(steps)} steps, not {count}")
    ways: dict[int, list[tuple[str, int]]] = {}
    for parameter in parameters:
        for address, factor in parameter.words:
            ways.setdefault(address, []).append((parameter.name, factor))
    found = []
    for one in steps:
        first = words.address
        step = _step(words, one, len(memory))
        varies = [
            _way(step, (address - first) // 4, *way)
            for address in range(first, words.address, 4)
            for way in ways.get(address, ())
        ]
        found.append(replace(step, varies=tuple(varies)))
    return tuple(found)


def _way(step: SectionStep, place: int, parameter: str, factor: int) -> Varies:
    """Say which word of a step varies."""
    head = 3 if isinstance(step, Start) else 1
    fields: Sequence[str] = JOB_FIELDS if isinstance(step, Start) else MOVE_FIELDS
    if isinstance(step, Floats):
        fields = step.fields
    job, field = divmod(place - head, len(fields))
    if place < head:
        raise ValueError(f"parameter {parameter!r} must be in a job, move or step on floats")
    return Varies(parameter=parameter, field=fields[field], factor=factor, job=job)


def _step(words: _Words, one: Mapping[str, Any], size: int) -> SectionStep:
    (kind,) = words.take(1)
    if _KINDS.get(str(one["kind"])) != kind:
        raise ValueError(f"a step must be a {one['kind']}, not of kind {kind}")
    node, operator = str(one["node"]), str(one["operator"])
    if kind == Kind.MOVE:
        fields: dict[str, Any] = dict(zip(MOVE_FIELDS, words.take(len(MOVE_FIELDS)), strict=True))
        return Move(node=node, operator=operator, bytes=int(one["bytes"]), **fields)
    if kind == Kind.FLOATS:
        return _floats(words, node, operator, int(one["numbers"]))
    groups, counters = words.take(2)
    if not 1 <= groups <= JOBS or not 0 <= counters < size:
        raise ValueError(f"a start must have 1..{JOBS} groups of jobs, not {groups}")
    return Start(
        node=node,
        operator=operator,
        cycles=int(one["cycles"]),
        macs=int(one["macs"]),
        groups=tuple(group_of(words.take(JOB_WORDS)) for _ in range(groups)),
        counters=counters,
    )


def _floats(words: _Words, node: str, operator: str, numbers: int) -> Floats:
    head = words.take(FLOAT_WORDS)
    operation = Operation(head[0])
    operands = {}
    for name in OPERANDS[operation]:
        address, kind, row, column = words.take(OPERAND_WORDS)
        if kind:
            operands[name] = Operand(address=address, format=Format(kind), row=row, column=column)
    rows, columns, shift, width, low, high, around = head[1:]
    if not 0 <= around <= LOOPS:
        raise ValueError(f"a step on floats must have 0..{LOOPS} loops around it, not {around}")
    loops = [words.take(1 + len(OPERANDS[operation])) for _ in range(around)]
    return Floats(
        node=node, operator=operator, operation=operation, rows=rows, columns=columns,
        operands=operands, shift=shift, width=width, low=low, high=high, numbers=numbers,
        loops=tuple((one[0], tuple(one[1:])) for one in loops),
    )  # fmt: skip
