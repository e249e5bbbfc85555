"""What a program is, node by node."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from onnx import NodeProto

from carrysave.compiler.graph.names import quoted
from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.dataflows import dataflow_facts
from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.parts import bound_of, losses, parts_of
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move, Start
from carrysave.compiler.program.traffic import traffic_of
from carrysave.compiler.target.memory import memory_facts

__all__ = ["facts", "name_of", "packed_remark"]


def facts(program: Program, command: str, model: str) -> dict[str, Any]:
    """Return what the program is, node by node.

    Returns
    -------
    ``command model design parameters memory bytes filled_bytes jobs moves float_steps host_segments
    cycles losses schedule dataflow nodes``, `memory` as
    :func:`carrysave.compiler.target.memory.memory_facts` has it; of each node ``node operator
    runs_on jobs moves float_steps numbers moved_bytes bus_bytes cycles macs bound utilisation
    reasons``: `runs_on` is the block, the processor (moves, and steps on floats, which compute
    `numbers` at most), or the host; cycles, and bytes on the bus, are of its jobs by the cost
    model, at the greatest values of parameters, and `bound` is what takes most of its cycles.
    `losses` are the largest ones in words, `bytes` those of memory, `filled_bytes` those that are
    there before it runs: weights, tables, steps. `reasons` say why the host has it, or why its
    bytes are moved. ``schedule``: its `way`, `bytes` on the bus, `compulsory_bytes` and
    `excess_bytes`, None if not known, and of an ILP `greedy_bytes`, `bound_bytes`, `seconds` of the
    solver and whether it is `taken`. ``dataflow``: see :func:`.dataflows.dataflow_facts`.
    """
    target = program.target
    nodes = list(_nodes(program))
    return {
        "command": command,
        "model": model,
        "design": target.design.module,
        "parameters": dict(target.design.parameters),
        "memory": memory_facts(target.memory, target.spec),
        "bytes": program.image.end,
        "filled_bytes": sum(map(len, program.image.parts.values())),
        "jobs": sum(one["jobs"] for one in nodes),
        "moves": sum(one["moves"] for one in nodes),
        "float_steps": sum(one["float_steps"] for one in nodes),
        "host_segments": len(program.host),
        "cycles": sum(one["cycles"] for one in nodes),
        "losses": losses([
            parts_of(step, target) for step in program.steps if isinstance(step, Start)
        ]),
        "schedule": _schedule(program, sum(one["bus_bytes"] for one in nodes)),
        "dataflow": dataflow_facts(program),
        "nodes": nodes,
    }


def _schedule(program: Program, moved: int) -> dict[str, Any]:
    """Return what is moved, what has to be, and what the solver says of it."""
    traffic, solved = traffic_of(program), program.solved
    made: dict[str, Any] = {
        "way": "greedy" if solved is None else "ilp",
        "bytes": moved,
        "compulsory_bytes": None if traffic is None else traffic.compulsory,
        "excess_bytes": None if traffic is None else traffic.excess,
    }
    if solved is not None:
        made |= {
            "greedy_bytes": solved.greedy,
            "bound_bytes": solved.bound,
            "seconds": round(solved.seconds, 2),
            "taken": solved.taken,
        }
    return made


def _nodes(program: Program) -> Iterator[dict[str, Any]]:
    peak = program.target.peak(None)
    steps = [step for step in program.steps if not isinstance(step, HostStep) or step.reasons]
    for (node, operator), some in groupby(steps, name_of):
        group = list(some)
        starts = [step for step in group if isinstance(step, Start)]
        moves = [step for step in group if isinstance(step, Move)]
        floats = [step for step in group if isinstance(step, Floats)]
        cycles, macs = (sum(getattr(step, name) for step in starts) for name in ("cycles", "macs"))
        yield {
            "node": node,
            "operator": operator,
            "runs_on": "block" if starts else "processor" if moves or floats else "host",
            "jobs": sum(len(step.jobs) for step in starts),
            "moves": len(moves),
            "float_steps": len(floats),
            "numbers": sum(step.numbers for step in floats),
            "moved_bytes": sum(step.bytes for step in moves),
            "bus_bytes": sum(_bus_bytes(step, program) for step in starts),
            "cycles": cycles,
            "macs": macs,
            "bound": bound_of([parts_of(step, program.target) for step in starts]),
            "utilisation": macs / (peak * cycles) if cycles else None,
            "reasons": [*dict.fromkeys(reason for step in group for reason in _reasons(step))],
        }


def _reasons(step: SectionStep | HostStep) -> tuple[str, ...]:
    """Say why a step is no job."""
    if isinstance(step, HostStep):
        return step.reasons
    if not isinstance(step, Move) or not step.reason:
        return ()
    return (f"{step.operator} {quoted(step.node)}: {step.bytes:,} bytes moved: {step.reason}",)


def _bus_bytes(step: Start, program: Program) -> int:
    """Count bytes on the bus, of jobs as large as parameters make them."""
    ranges = {one.name: one.high - one.low for one in program.parameters}
    groups = list(step.groups)
    for way in step.varies:
        group = groups[way.job]
        job: Any = group.job
        grown = getattr(job, way.field) + way.factor * ranges[way.parameter]
        groups[way.job] = replace(group, job=replace(job, **{way.field: grown}))
    return sum(one.count * spent(one.job, program.target).moved for one in groups)


def packed_remark(program: Program) -> str:
    """Return of how many products B is without its zeros; empty: the build knows of none."""
    if "sparse" not in program.target.info.features:
        return ""
    starts = [step for step in program.steps if isinstance(step, Start)]
    products = [job.packed for one in starts for job in one.jobs if job.vector is None]
    return (
        f"sparse=true: B of {sum(products):,} of {len(products):,} products is in memory without"
        " its zeros; others would be no shorter, or are no weights"
    )


def name_of(step: SectionStep | HostStep) -> tuple[str, str]:
    """Return the node of the model, and its operator, for which a step is."""
    if isinstance(step, HostStep):
        first: NodeProto = step.nodes[0]
        return first.name or next(iter(first.output), ""), first.op_type
    return step.node, step.operator
