"""What hardware counted of a program, beside its cost model."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from rich.table import Table

from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.driver.system import counters_of
from hw.emit.user_files import shown

__all__ = ["counted_facts", "counted_table", "deviation"]


def counted_facts(program: Program, memories: Sequence[np.ndarray]) -> dict[str, Any] | None:
    """Return cycles as they were counted, means of some batches, and by the cost model.

    Parameters
    ----------
    memories : of the program, after each batch.

    Returns
    -------
    ``cycles cycles_by_model deviation nodes``; of each node that has starts, ``node operator jobs
    cycles cycles_by_model deviation``: its cycles are those from the end of the node before to its
    end, so that they add up. Nodes are None if rings were counted as a whole alone; all is None if
    the build has no counters, or the program no start.
    """
    starts = [step for step in program.steps if isinstance(step, Start)]
    whole = _cycles(memories, [at for section in program.sections for at in section.counters])
    if not any(whole):
        return None
    model, cycles = sum(step.cycles for step in starts), float(np.mean(whole))
    apart = _cycles(memories, [step.counters for step in starts]) == whole
    return {
        "cycles": cycles,
        "cycles_by_model": model,
        "deviation": deviation(cycles, model),
        "nodes": list(_nodes(starts, memories)) if apart else None,
    }


def deviation(counted: float, model: float) -> float | None:
    """Return how far what was counted is from the model; None: the model has none."""
    return counted / model - 1 if model else None


def _nodes(starts: Sequence[Start], memories: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
    for (node, operator), some in groupby(starts, lambda one: (one.node, one.operator)):
        group = list(some)
        cycles = float(np.mean(_cycles(memories, [one.counters for one in group])))
        model = sum(one.cycles for one in group)
        yield {
            "node": node,
            "operator": operator,
            "jobs": sum(len(one.jobs) for one in group),
            "cycles": cycles,
            "cycles_by_model": model,
            "deviation": deviation(cycles, model),
        }


def _cycles(memories: Sequence[np.ndarray], places: Sequence[int]) -> list[int]:
    """Return what some counters have together in each memory."""
    return [counters_of(memory, places)["cycles"] if places else 0 for memory in memories]


def counted_table(facts: Mapping[str, Any], where: str) -> Table:
    """Return a table of nodes, with all of them below."""
    table = Table(title=f"cycles of a batch on {where}", title_justify="left")
    for head in ("node", "operator", "jobs", "cycles", "by the model", "apart"):
        table.add_column(head, justify="left" if head in ("node", "operator") else "right")
    nodes = facts["nodes"] or ()
    every = {"node": "all", "operator": "", "jobs": sum(one["jobs"] for one in nodes), **facts}
    for one in (*nodes, every):
        apart = one["deviation"]
        table.add_row(
            shown(one["node"], 40),
            shown(one["operator"], 30),
            f"{one['jobs']:,}" if one["jobs"] else "",
            f"{one['cycles']:,.0f}",
            f"{one['cycles_by_model']:,}",
            "" if apart is None else f"{apart:+.1%}",
        )
    return table
