"""The memory behind a co-processor, as a user names it, and as files and results have it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.boards import sdram
from carrysave.errors import ArgumentError, UsageError, refusal
from golden.check import parameters_of
from golden.soc.memory_timing import MEMORIES, MemoryTiming
from golden.soc.spec import CoprocessorSpec

__all__ = [
    "LEGAL",
    "LEGAL_RATE",
    "MemoryRate",
    "memory_behind",
    "memory_facts",
    "memory_line",
    "memory_of",
    "rate_of",
    "timing_of",
]

_FIELDS = parameters_of(MemoryTiming)
LEGAL = f"{', '.join(MEMORIES)}, or " + ",".join(
    f"{name}={kind.legal.split()[0]}" for name, kind in _FIELDS.items()
)
"""What a user may say."""
LEGAL_RATE = f"a rate above 0, such as 0.8GB/s or 800MB/s, or {LEGAL}"
"""The same, where bytes in a second matter and no latency."""
_RATE = re.compile(r"(.+?)\s*(GB/s|MB/s)")
_MOST = 1e6
"""GB/s."""


@dataclass(frozen=True)
class MemoryRate:
    """Bytes that a memory brings.

    Members
    -------
    name : as the user has it.
    gigabytes : in a second, 10^9; None: `bytes` pass in a cycle, whatever that takes.
    bytes : in a cycle; None: see `gigabytes`.
    """

    name: str
    gigabytes: float | None = None
    bytes: int | None = None

    def in_cycle(self, period_ns: float | None) -> float | None:
        """Return the bytes of a cycle of a clock; None if that is not known, and matters."""
        if self.gigabytes is None:
            return self.bytes
        return None if period_ns is None else self.gigabytes * period_ns


def memory_of(text: str) -> MemoryTiming:
    """Return the memory that a user names, or describes: ``latency=8,bytes=8``, or one of both.

    Raises
    ------
    UsageError
        There is none of that name; a figure out of its range.
    """
    if text in MEMORIES:
        return MEMORIES[text]
    figures: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name not in _FIELDS or name in figures:
            raise refusal("memory", LEGAL, repr(text))
        try:
            figures[name] = _FIELDS[name].parse(name, value)
        except ValueError as error:
            raise refusal("memory", LEGAL, f"{text!r}: {error}") from None
    try:
        return MemoryTiming(**figures)
    except ValueError as error:
        raise refusal("memory", LEGAL, f"{text!r}: {error}") from None


def rate_of(text: str) -> MemoryRate:
    """Return how fast a memory is, from a rate or as :func:`memory_of` has it.

    Raises
    ------
    UsageError
        Neither of both; a rate that is no number, or out of its range.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        try:
            return MemoryRate(text, bytes=memory_of(text).bytes)
        except UsageError:
            raise refusal("memory", LEGAL_RATE, repr(text)) from None
    try:
        rate = float(match[1]) * {"GB/s": 1.0, "MB/s": 1e-3}[match[2]]
    except ValueError:
        rate = 0.0
    if not 0 < rate <= _MOST:
        raise refusal("memory", f"{LEGAL_RATE}, up to {_MOST:,.0f} GB/s", repr(text))
    return MemoryRate(text, gigabytes=rate)


def memory_behind(
    text: str | None, board: str | None, spec: CoprocessorSpec
) -> MemoryTiming | None:
    """Return the memory behind a co-processor; None: its design says it, or nothing is known.

    Parameters
    ----------
    text : what a user says; None: nothing.
    board : name of the board that it is on; None: it is on none.
    """
    if board is None:
        return None if text is None else memory_of(text)
    if text is not None:
        raise ArgumentError("{memory} must be left out: {board} has a memory")
    return sdram.timing_of(board, spec)


def memory_facts(memory: MemoryTiming, spec: CoprocessorSpec) -> dict[str, Any]:
    """Return ``name latency bytes source`` of a co-processor's memory; no more than its bus has."""
    return {
        "name": memory.name,
        "latency": memory.latency,
        "bytes": min(memory.bytes, spec.bytes),
        "source": memory.source,
    }


def memory_line(facts: Mapping[str, Any]) -> str:
    """Say in a line what :func:`memory_facts` has."""
    return (
        f"memory: {facts['name']}, {facts['latency']} cycles from a row's request to its data,"
        f" {facts['bytes']} bytes a cycle; {facts['source']}"
    )


def timing_of(facts: Mapping[str, Any], spec: CoprocessorSpec) -> MemoryTiming:
    """Return the memory of a co-processor that :func:`memory_facts` describes.

    Raises
    ------
    ValueError
        Figures out of range, or other ones than those of the memory of that name.
    """
    said = {name: facts[name] for name in ("name", "latency", "bytes")}
    given = MemoryTiming(latency=said["latency"], bytes=said["bytes"])
    for one in (spec.memory_timing, *MEMORIES.values(), given):
        if said.items() <= memory_facts(one, spec).items():
            return one
    raise ValueError(f"memory must be {LEGAL}, with its figures, not {said}")
