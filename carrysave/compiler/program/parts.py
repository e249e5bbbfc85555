"""What each start of a program takes, part by part, by the cost model."""

from collections.abc import Iterator
from dataclasses import dataclass

from carrysave.compiler.program.cost import Spent, spent
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from golden.soc.job_check import matrices

__all__ = ["PARTS", "StartParts", "bound_of", "losses", "parts_of"]

PARTS = ("loader", "array", "vector", "writer")
"""Of a co-processor: each is busy for some cycles of a start."""
_LARGEST = 3


@dataclass(frozen=True, kw_only=True)
class StartParts:
    """A start, and the cycles for which each part of the co-processor is busy.

    Members
    -------
    node, operator : of the model.
    cycles : of all, by the cost model.
    begin : of these, what passes before the first row.
    busy : of each of :data:`PARTS`, at least.
    padding : of the array, for rows, columns and depth that fill up tiles.
    bytes : on the bus.
    """

    node: str
    operator: str
    cycles: int
    begin: int
    busy: dict[str, float]
    padding: float
    bytes: int


def parts_of(start: Start, target: Target) -> StartParts:
    """Return what a start takes."""
    took, written, rows, begins = Spent(), 0, 0, 0
    wait = target.start
    rate = target.info.stores.data_width // 8 / target.info.stores.beat
    chip = target.spec.scratch_base
    for group in start.groups:
        one = spent(group.job, target)
        took += one.times(group.count)
        c = matrices(target.spec, golden_job(group.job, target.spec))["c"]
        written += group.count * c.rows * c.row_bytes * (c.address < chip)
        if group.job.vector is None:
            begins += 1
        else:
            begins += group.count
            rows += group.count * (one.cycles - wait)
    peak = target.peak(None)
    begin = min(begins * wait, start.cycles)
    busy = (
        max(took.moved - written, 0) / rate,
        took.slots / peak,
        min(rows, start.cycles - begin),
        written / rate,
    )
    return StartParts(
        node=start.node,
        operator=start.operator,
        cycles=start.cycles,
        begin=begin,
        busy=dict(zip(PARTS, busy, strict=True)),
        padding=max(took.slots - took.macs, 0) / peak,
        bytes=took.moved,
    )


def bound_of(starts: list[StartParts]) -> str | None:
    """Name what takes most cycles of some starts; None: there are none."""
    if not starts:
        return None
    takes = {name: sum(one.busy[name] for one in starts) for name in PARTS}
    takes["memory"] = takes.pop("loader") + takes.pop("writer")
    takes["start"] = sum(one.begin for one in starts)
    return max(takes, key=lambda name: takes[name])


def losses(starts: list[StartParts]) -> list[str]:
    """Say where most cycles go that make no product, the three largest of all nodes."""
    lost: dict[tuple[str, str], float] = {}
    for one in starts:
        for what, cycles in _lost(one):
            key = one.node, what
            lost[key] = lost.get(key, 0.0) + cycles
    whole = sum(one.cycles for one in starts) or 1
    largest = sorted(lost.items(), key=lambda item: -item[1])[:_LARGEST]
    return [
        f"{node}: {cycles:,.0f} cycles, {cycles / whole:.0%} of all, {what}"
        for (node, what), cycles in largest
        if cycles >= 1
    ]


def _lost(one: StartParts) -> Iterator[tuple[str, float]]:
    yield "from starts to first rows", one.begin
    yield "for what fills up tiles of the array", one.padding
    yield "in the vector unit", one.busy["vector"]
    busy = one.busy["array"] + one.busy["vector"]
    yield (
        "for operands and results that memory is waited for",
        max(one.cycles - one.begin - busy, 0.0),
    )
