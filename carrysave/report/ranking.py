"""Which of several designs is the best for a period and a memory, who misses that, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console

from carrysave.report import tables
from carrysave.report.tables import Section

__all__ = ["MEASURES", "Question", "Rate", "answered", "lines", "show", "table"]

MEASURES = {
    "density": ("gops_per_mm2", "gops_per_1000_luts", -1),
    "period": ("period_ns", "period_ns", 1),
    "area": ("area_um2", "luts", 1),
    "energy": ("pj_per_mac", None, 1),
}
"""Objective -> its figure of cell libraries, and of FPGAs; 1 if less of it is better."""
_ROUNDING = 1e-9


class Rate(Protocol):
    """How fast a memory is: :class:`carrysave.compiler.target.memory.MemoryRate`."""

    @property
    def name(self) -> str:
        """As the user has it."""

    @property
    def gigabytes(self) -> float | None:
        """10^9 bytes in a second; None: it has so many bytes in a cycle."""

    def in_cycle(self, period_ns: float | None) -> float | None:
        """Return the bytes of a cycle."""


@dataclass(frozen=True)
class Question:
    """What a user has, and wants the best for.

    Members
    -------
    period_ns : clock period; None: each design has the least that it runs at.
    memory : that brings all operands; None: nothing waits for one.
    objective : of :data:`MEASURES`.
    """

    period_ns: float | None
    memory: Rate | None
    objective: str

    @property
    def text(self) -> str:
        """The constraints, as one says them."""
        parts = [] if self.period_ns is None else [f"{self.period_ns:g} ns"]
        return " and ".join([*parts, *([self.memory.name] if self.memory else [])])


def answered(
    names: Sequence[str],
    results: Sequence[Mapping[str, Any]],
    needed: Sequence[float | None],
    question: Question,
) -> dict[str, Any]:
    """Rank designs by a question.

    First are those that meet the period and whose operands the memory brings, the best first. Speed
    is what is left of it where the memory is too slow. A design without the figure has no rank.

    Parameters
    ----------
    names, results : of each design, as of :func:`carrysave.report.comparison.compared`.
    needed : bytes of operands of each in a cycle; None where there is no memory.

    Returns
    -------
    ``text period_ns memory objective measure best ranking``; of each of the ranking ``name rank
    meets misses period_ns clock_ns over_percent bytes_needed bytes_available gops value``.
    """
    rows = [_row(*each, question) for each in zip(names, results, needed, strict=True)]
    sign = MEASURES[question.objective][2]
    rows.sort(
        key=lambda row: (not row["meets"], row["value"] is None, sign * (row["value"] or 0.0))
    )
    for number, row in enumerate(rows, 1):
        row["rank"] = number if row["meets"] and row["value"] is not None else None
    memory = question.memory
    return {
        "text": question.text,
        "period_ns": question.period_ns,
        "memory": None
        if memory is None
        else {
            "name": memory.name,
            "gigabytes_per_s": memory.gigabytes,
        },
        "objective": question.objective,
        "measure": _measure(results[0], question),
        "best": rows[0]["name"] if rows[0]["rank"] else None,
        "ranking": rows,
    }


def _row(
    name: str, result: Mapping[str, Any], needed: float | None, question: Question
) -> dict[str, Any]:
    """Return what is known of a design under a question, but its rank."""
    least, asked, memory = result["period_ns"], question.period_ns, question.memory
    # Who misses the period has its own: that is as fast as it gets.
    clock = least if asked is None else max(asked, least)
    brought = None if memory is None else memory.in_cycle(clock)
    share = 1.0 if brought is None or not needed else min(1.0, brought / needed)
    gops = None if result["gops"] is None else result["gops"] * least / clock * share
    said = []
    over = None if asked is None else 100 * (least / asked - 1)
    if over is not None and over > 100 * _ROUNDING:
        said.append(f"its least period is {least:.3f} ns, {over:.1f} % more than {asked:g} ns")
    if memory is not None and share < 1 - _ROUNDING:
        said.append(
            f"bandwidth-bound: its operands are {needed:.4g} bytes a cycle, {memory.name} brings"
            f" {brought:.4g} at {clock:.4g} ns: {share:.1%} of its speed"
        )
    return {
        "name": name,
        "rank": None,
        "meets": not said,
        "misses": said,
        "period_ns": least,
        "clock_ns": clock,
        "over_percent": over,
        "bytes_needed": needed,
        "bytes_available": brought,
        "gops": gops,
        "value": _value(result, gops, question),
    }


def _measure(result: Mapping[str, Any], question: Question) -> str | None:
    cells, device, _ = MEASURES[question.objective]
    return cells if result.get("luts") is None else device


def _value(result: Mapping[str, Any], gops: float | None, question: Question) -> float | None:
    """Return the figure that a design is ranked by."""
    match _measure(result, question):
        case "gops_per_mm2":
            size = result["area_um2"] / 1e6
        case "gops_per_1000_luts":
            size = result["luts"] / 1e3
        case str(key):
            return result[key]
        case None:
            return None
    return gops / size if gops is not None and size else None


def table(answer: Mapping[str, Any]) -> Section:
    """Tabulate an answer, the best first."""
    columns = [
        "design",
        "rank",
        (str(answer["measure"]), "{:,.4g}"),
        ("GOPS", "{:,.4g}"),
        ("least ns", "{:.3f}"),
        ("over", "{:+.1f} %"),
        ("bytes a cycle", "{:.4g}"),
        ("brought", "{:.4g}"),
    ]
    rows = [
        (
            row["name"],
            (row["rank"] or "-") if row["meets"] else "misses",
            row["value"],
            row["gops"],
            row["period_ns"],
            row["over_percent"],
            row["bytes_needed"],
            row["bytes_available"],
        )
        for row in answer["ranking"]
    ]
    return Section(f"for {answer['text']}, by {answer['objective']}", columns, rows)


def lines(answer: Mapping[str, Any]) -> list[str]:
    """Say which is the best, who misses what was asked for, and why."""
    best, asked = answer["best"], answer["text"]
    first = f"{best} is the best by {answer['objective']}" if best else "no design"
    misses = (
        f"{row['name']} misses that: {'; '.join(row['misses'])}"
        for row in answer["ranking"]
        if row["misses"]
    )
    unranked = (
        f"{row['name']} meets that, and has no rank: its {answer['measure']} is not known"
        for row in answer["ranking"]
        if row["meets"] and row["value"] is None
    )
    return [f"for {asked}: {first}", *misses, *unranked]


def show(console: Console, answer: Mapping[str, Any]) -> None:
    """Print an answer."""
    tables.show(console, table(answer))
    tables.say(console, lines(answer))
