"""What the products of a program take with each dataflow, node by node."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.dataflow import ANY, DATAFLOWS, dataflow_of
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import dataflow_cycles
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.driver.job import Job

__all__ = ["dataflow_facts", "dataflow_lines"]


def dataflow_facts(program: Program) -> dict[str, Any] | None:
    """Return what products take with each dataflow; None: any was as good.

    Returns
    -------
    ``asked``, and ``layers``: of each node with products ``node``, ``chosen`` (dataflows of its
    jobs), ``cycles``, and cycles with ``rows``, ``columns``, ``sums``, None where a job cannot have
    that; job by job, by the cost model, where each operand is. ``cycles`` are the sum, and
    ``single`` those with one dataflow for all: a node that cannot have it is as it is here.
    """
    asked = program.target.dataflow
    if asked == ANY:
        return None
    starts = (step for step in program.steps if isinstance(step, Start) and not step.varies)
    layers = [
        made
        for node, some in groupby(starts, lambda step: step.node)
        if (made := _layer(node, list(some), program.target))
    ]
    return {
        "asked": asked,
        "cycles": sum(one["cycles"] for one in layers),
        "single": {
            name: sum(one["cycles"] if one[name] is None else one[name] for one in layers)
            for name in DATAFLOWS
        },
        "layers": layers,
    }


def _layer(node: str, starts: list[Start], target: Target) -> dict[str, Any] | None:
    """Return what a node's products take; None: it has none."""
    cycles, chosen = 0, set[str]()
    each: dict[str, int | None] = dict.fromkeys(DATAFLOWS, 0)
    groups = (one for step in starts for one in step.groups if one.job.vector is None)
    for group in groups:
        cycles += group.count * job_cycles(group.job, target)
        chosen.add(_of_job(group.job, target))
        for name, took in dataflow_cycles(group.job, target).items():
            before = each[name]
            each[name] = None if before is None or took is None else before + group.count * took
    if not chosen:
        return None
    return {"node": node, "chosen": sorted(chosen), "cycles": cycles, **each}


def _of_job(job: Job, target: Target) -> str:
    """Return the dataflow of a product."""
    stores, words = stores_of(job, target)
    depth = job.block_k * (1 if job.window is None else job.window.channels)
    whole = depth * (1 if job.window else stores.tile_k) >= words
    return dataflow_of(job.by_columns, whole=whole)


def dataflow_lines(facts: dict[str, Any] | None) -> Iterator[str]:
    """Say in sentences what :func:`dataflow_facts` has."""
    if facts is None:
        return
    least = min(facts["single"], key=facts["single"].__getitem__)
    most = facts["single"][least]
    singles = ", ".join(f"{name} {took:,}" for name, took in facts["single"].items())
    yield (
        f"dataflow: {facts['asked']}; products take {facts['cycles']:,} cycles, with one dataflow"
        f" for all {singles}: {most / facts['cycles']:.3f} times, by {least}"
    )
