"""When each part of the co-processor is busy: by the cost model, or as hardware counts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.parts import PARTS, parts_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.driver.system import counters_of

__all__ = ["LANES", "Span", "by_counters", "by_model"]

LANES = ("start", *PARTS, "bus")


@dataclass(frozen=True, kw_only=True)
class Span:
    """Cycles of a start, for a part of the co-processor.

    Members
    -------
    source : ``model`` or ``counted``.
    lane : of :data:`LANES`; ``start`` is all of it.
    node, operator : of the model.
    begin, cycles : when, and how long, from the first start on: starts follow each other.
    busy : of these cycles, those in which the part has something to do.
    """

    source: str
    lane: str
    node: str
    operator: str
    begin: int
    cycles: int
    busy: float


def by_model(program: Program) -> list[Span]:
    """Return the spans of all starts by the cost model."""
    spans: list[Span] = []
    for start in _starts(program):
        one = parts_of(start, program.target)
        busy = dict(one.busy)
        busy["bus"] = busy["loader"] + busy["writer"]
        spans += _spans("model", start, _begin(spans), one.cycles, busy)
    return spans


def by_counters(program: Program, memory: np.ndarray) -> list[Span]:
    """Return the spans of all starts, as they were counted.

    Counters know the array, and beats on the bus; what the vector unit does is not counted.

    Parameters
    ----------
    memory : of the program, afterwards.
    """
    spans: list[Span] = []
    for start in _starts(program):
        counted = counters_of(memory, [start.counters])
        busy = {
            "loader": counted["read_beats"],
            "array": counted["compute"],
            "writer": counted["write_beats"],
            "bus": counted["read_beats"] + counted["write_beats"],
        }
        spans += _spans("counted", start, _begin(spans), counted["cycles"], busy)
    return spans


def _starts(program: Program) -> list[Start]:
    return [step for step in program.steps if isinstance(step, Start)]


def _begin(spans: list[Span]) -> int:
    return spans[-1].begin + spans[-1].cycles if spans else 0


def _spans(
    source: str, start: Start, begin: int, cycles: int, busy: Mapping[str, float]
) -> list[Span]:
    """Return the spans of a start, one for each part that is busy."""
    return [
        Span(
            source=source, lane=lane, node=start.node, operator=start.operator, begin=begin,
            cycles=cycles, busy=cycles if lane == "start" else min(busy[lane], cycles),
        )
        for lane in LANES
        if lane == "start" or busy.get(lane, 0.0) > 0
    ]  # fmt: skip
