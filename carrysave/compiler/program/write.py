"""A program as files: memory, manifest, text, a C header; and the facts of its table."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto

from carrysave import cache
from carrysave.compiler.program.array import TYPES, Array
from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import HostStep, Move, Start, Varies
from carrysave.driver.job import Job
from carrysave.driver.system import Tensor
from hw.emit.user_files import shown

__all__ = ["FORMAT", "facts", "text", "write"]

FORMAT = 3
"""Of the manifest and of the words in memory: a reader refuses any other."""
_FILES = {"memory": "memory.bin", "manifest": "program.json", "text": "program.txt",
          "header": "program.h"}  # fmt: skip


def facts(program: Program, command: str, model: str) -> dict[str, Any]:
    """Return what the program is, node by node.

    Returns
    -------
    ``command model design parameters bytes jobs moves float_steps host_segments cycles nodes``; of
    each node ``node operator runs_on jobs moves float_steps numbers moved_bytes cycles macs
    utilisation reasons``: `runs_on` is the block, the processor (moves, and steps on floats, which
    compute `numbers` at most), or the host; cycles are of its jobs by the cost model.
    """
    target = program.target
    nodes = list(_nodes(program))
    return {
        "command": command,
        "model": model,
        "design": target.design.module,
        "parameters": dict(target.design.parameters),
        "bytes": program.image.end,
        "jobs": sum(one["jobs"] for one in nodes),
        "moves": sum(one["moves"] for one in nodes),
        "float_steps": sum(one["float_steps"] for one in nodes),
        "host_segments": len(program.host),
        "cycles": sum(one["cycles"] for one in nodes),
        "nodes": nodes,
    }


def _nodes(program: Program) -> Iterator[dict[str, Any]]:
    peak = program.target.peak(None)
    steps = [step for step in program.steps if not isinstance(step, HostStep) or step.reasons]
    for (node, operator), some in groupby(steps, _name):
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
            "cycles": cycles,
            "macs": macs,
            "utilisation": macs / (peak * cycles) if cycles else None,
            "reasons": [r for step in group if isinstance(step, HostStep) for r in step.reasons],
        }


def _name(step: SectionStep | HostStep) -> tuple[str, str]:
    if isinstance(step, HostStep):
        first: NodeProto = step.nodes[0]
        return first.name or next(iter(first.output), ""), first.op_type
    return step.node, step.operator


def text(program: Program) -> str:
    """Return the program as text: a step a line, in the order in which they run."""
    jobs = sum(len(step.jobs) for step in program.steps if isinstance(step, Start))
    moves = sum(isinstance(step, Move) for step in program.steps)
    lines = [
        f"# {program.target.design.module}: {jobs} jobs, {moves} moves,"
        f" {len(program.host)} host segments, {program.image.end:,} bytes"
    ]
    names = {name: program.tensors[name] for name in program.inputs}
    lines += [f"parameter {shown(one.name, 100)} {one.low}..{one.high} at {one.address:#x}"
              for one in program.parameters]  # fmt: skip
    lines += [f"input {shown(name, 100)} {_tensor(one)}" for name, one in names.items()]
    for part in program.parts:
        if isinstance(part, Section):
            lines.append(f"section at {part.start:#x}")
        for step in part.steps if isinstance(part, Section) else (part,):
            lines += _lines(step)
    return "\n".join([*lines, ""])


def _lines(step: SectionStep | HostStep) -> Iterator[str]:
    node, operator = (shown(one, 100) for one in _name(step))
    if isinstance(step, HostStep):
        where = "host" if step.reasons else "edge"
        yield f"{where} {', '.join(one.op_type for one in step.nodes)}" + "".join(
            f" {verb} {', '.join(shown(name, 100) for name in names)}"
            for verb, names in (("reads", step.reads), ("writes", step.writes)) if names
        )  # fmt: skip
    elif isinstance(step, Move):
        table = f" by table {step.table:#x}" if step.table else " greatest" * (step.taps > 1)
        yield (
            f"move {node} {operator} {step.bytes} bytes to {step.to:#x}: {step.patterns} patterns"
            f" of {step.taps} at {step.at:#x}{table}"
        )
        yield from map(_varies, step.varies)
    elif isinstance(step, Floats):
        yield f"floats {node} {operator} {_floats(step)}"
        yield from map(_varies, step.varies)
    else:
        yield f"start {node} {operator} {step.cycles} cycles"
        yield from (f"  {_job(job)}" for job in step.jobs)
        yield from map(_varies, step.varies)


def _varies(way: Varies) -> str:
    name = shown(way.parameter, 100)
    return f"  {way.field} of job {way.job} varies by {way.factor} for each {name}"


def _floats(step: Floats) -> str:
    operands = (
        f"{name}[{one.format.name.lower()}]@{one.address:#x}+{one.row}+{one.column}"
        for name, one in step.operands.items()
    )
    more = f" width {step.width}" * bool(step.width) + f" shift {step.shift}" * bool(step.shift)
    return f"{step.operation.name.lower()} {step.rows}x{step.columns} {' '.join(operands)}{more}"


def _job(job: Job) -> str:
    how = job.requantisation
    scale = "sums"
    if how is not None:
        scale = (f"records {job.records:#x}" if job.records is not None
                 else f"{how.multiplier}/2^{how.shift}+{how.zero_point}")  # fmt: skip
        scale += f", {how.low}..{how.high}"
    if job.vector is not None:
        b = f", b@{job.b:#x}+{job.ldb}" if job.b else ""
        return (
            f"c[{job.m}x{job.n}]@{job.c:#x}+{job.ldc} = {job.vector}"
            f" a[{job.m}x{job.n}]@{job.a:#x}+{job.lda}{b}; {scale}"
        )
    bias = "" if job.bias is None else f" + {job.bias:#x}"
    order = " by columns" if job.by_columns else ""
    return (
        f"c[{job.m}x{job.n}]@{job.c:#x}+{job.ldc} = a[{job.m}x{job.k}]@{job.a:#x}+{job.lda}"
        f" x b[{job.k}x{job.n}]@{job.b:#x}+{job.ldb}{bias}; {scale};"
        f" blocks {job.block_m}x{job.block_n}x{job.block_k}{order}"
    )


def _tensor(tensor: Tensor) -> str:
    shape = "x".join(map(str, tensor.sources.shape))
    return f"{tensor.kind}[{shape}]@{tensor.span[0]:#x}, {tensor.span[1]} bytes"


def write(program: Program, folder: Path, found: dict[str, Any]) -> list[Path]:
    """Write a program into a folder; return the files."""
    outputs = [name for name in program.outputs if name in program.tensors]
    outputs += [
        name for part in program.parts if isinstance(part, HostStep) and not part.reasons
        for name in part.reads
    ]  # fmt: skip
    manifest = found | {
        "format": FORMAT,
        "sections": [section.start for section in program.sections],
        "inputs": [_layout(name, program.tensors[name]) for name in program.inputs],
        "outputs": [
            *(_layout(name, program.tensors[name]) for name in dict.fromkeys(outputs)),
            *(_of_array(name, one) for name, one in program.results.items()),
        ],
        "parameters": [asdict(one) for one in program.parameters],
        "states": [asdict(one) for one in program.states],
    }
    made: dict[str, str | bytes] = {
        "memory": program.memory.tobytes(),
        "manifest": json.dumps(manifest, indent=2) + "\n",
        "text": text(program),
        "header": _header(program, manifest),
    }
    return [cache.write(folder / _FILES[name], data) for name, data in made.items()]


def _layout(name: str, tensor: Tensor) -> dict[str, Any]:
    """Say where codes are: strides of the axes in bytes, or if they have none all addresses.

    A byte is a code less the offset, two's complement.
    """
    sources = tensor.sources
    first = int(sources.reshape(-1)[0])
    strides = [
        int(np.take(sources, 1, axis).reshape(-1)[0]) - first if size > 1 else 0
        for axis, size in enumerate(sources.shape)
    ]
    plain = first + sum(
        (stride * np.arange(size).reshape(-1, *[1] * (sources.ndim - axis - 1))
         for axis, (stride, size) in enumerate(zip(strides, sources.shape, strict=True))),
        np.zeros((), np.int64),
    )  # fmt: skip
    regular = bool(np.array_equal(plain, sources))
    return {
        "name": name,
        "type": str(tensor.kind),
        "shape": list(sources.shape),
        "address": first,
        "strides": strides if regular else None,
        "addresses": None if regular else sources.reshape(-1).tolist(),
        "offset": tensor.offset,
        "scale": None if tensor.scale is None else list(tensor.scale),
    }


def _of_array(name: str, of: Array) -> dict[str, Any]:
    """Say where numbers are."""
    return {
        "name": name,
        "type": str(np.dtype(TYPES[of.format])),
        "shape": [of.rows, of.columns],
        "address": of.address,
        "strides": [of.row, of.column],
        "addresses": None,
        "offset": 0,
        "scale": None,
    }


def _header(program: Program, manifest: dict[str, Any]) -> str:
    """Write C names of what a program that runs it has to know."""
    lines = [
        "/* A program of carrysave_program.h: memory.bin is its memory before it runs. */",
        "#ifndef PROGRAM_H", "#define PROGRAM_H", "",
        f"#define PROGRAM_FORMAT {FORMAT}u",
        f"#define PROGRAM_BYTES {program.image.end}u",
    ]  # fmt: skip
    lines += [
        f"#define PROGRAM_SECTION_{number} {start}u"
        for number, start in enumerate(manifest["sections"])
    ]
    for number, parameter in enumerate(program.parameters):
        lines += [
            f"/* parameter {shown(parameter.name, 100).replace('*/', '* /')}:"
            f" {parameter.low}..{parameter.high} */",
            f"#define PROGRAM_PARAMETER_{number}_ADDRESS {parameter.address}u",
        ]
    for side in ("input", "output"):
        for number, one in enumerate(manifest[f"{side}s"]):
            head = f"PROGRAM_{side.upper()}_{number}"
            lines += [
                f"/* {shown(one['name'], 100).replace('*/', '* /')}: {one['type']}"
                f" {' x '.join(map(str, one['shape']))};"
                f" a byte is a code less {one['offset']} */",
                f"#define {head}_ADDRESS {one['address']}u",
            ]
            if one["strides"] is not None:
                lines += [
                    f"#define {head}_STRIDE_{axis} {stride}u"
                    for axis, stride in enumerate(one["strides"])
                ]
    return "\n".join([*lines, "", "#endif", ""])
