"""A program as text: a step a line."""

from collections.abc import Iterator

from carrysave.compiler.program.facts import name_of
from carrysave.compiler.program.floats import Floats, SectionStep
from carrysave.compiler.program.groups import ADDRESSES, JobGroup
from carrysave.compiler.program.manifest import layout
from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.program.steps import HostStep, Move, Start, Varies
from carrysave.driver.job import Job
from carrysave.driver.operations import MAPS
from carrysave.driver.window import Window
from hw.emit.user_files import shown

__all__ = ["text"]


def text(program: Program) -> str:
    """Return the program as text: a step a line, in the order in which they run."""
    jobs = sum(len(step.jobs) for step in program.steps if isinstance(step, Start))
    moves = sum(isinstance(step, Move) for step in program.steps)
    lines = [
        f"# {program.target.design.module}: {jobs} jobs, {moves} moves,"
        f" {len(program.host)} host segments, {program.image.end:,} bytes"
    ]
    lines += [
        f"parameter {shown(one.name, 100)} {one.low}..{one.high} at {one.address:#x}"
        for one in program.parameters
    ]
    for name in program.inputs:
        one = layout(program, name)
        shape = "x".join(map(str, one["shape"]))
        lines.append(f"input {shown(name, 100)} {one['type']}[{shape}]@{one['address']:#x}")
    for part in program.parts:
        if isinstance(part, Section):
            lines.append(f"section at {part.start:#x}")
        for step in part.steps if isinstance(part, Section) else (part,):
            lines += _lines(step)
    return "\n".join([*lines, ""])


def _lines(step: SectionStep | HostStep) -> Iterator[str]:
    node, operator = (shown(one, 100) for one in name_of(step))
    if isinstance(step, HostStep):
        where = "host" if step.reasons else "edge"
        yield f"{where} {', '.join(one.op_type for one in step.nodes)}" + "".join(
            f" {verb} {', '.join(shown(name, 100) for name in names)}"
            for verb, names in (("reads", step.reads), ("writes", step.writes))
            if names
        )
    elif isinstance(step, Move):
        table = f" by table {step.table:#x}" if step.table else " greatest" * (step.taps > 1)
        yield (
            f"move {node} {operator} {step.bytes} bytes to {step.to:#x}: {step.words} words"
            f" of {step.taps} at {step.at:#x}{table}"
        )
        yield from map(_varies, step.varies)
    elif isinstance(step, Floats):
        yield f"floats {node} {operator} {_floats(step)}"
        yield from map(_varies, step.varies)
    else:
        yield f"start {node} {operator} {step.cycles} cycles"
        yield from (f"  {_job(group.job)}{_more(group)}" for group in step.groups)
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


def _more(group: JobGroup) -> str:
    """Say how the jobs of a group go on."""
    if group.count == 1:
        return ""
    steps = ((name, getattr(group, name)) for name in ADDRESSES)
    further = ", ".join(f"{name}{step:+}" for name, step in steps if step)
    return f"; {group.count} groups, {further}"


def _job(job: Job) -> str:
    requantisation = job.requantisation
    scale = "sums"
    if requantisation is not None:
        scale = (
            f"records {job.records:#x}"
            if job.records is not None and job.vector not in MAPS
            else f"{requantisation.multiplier}/2^{requantisation.shift}+{requantisation.zero_point}"
        )
        scale += f", {requantisation.low}..{requantisation.high}"
        if job.table:
            scale += ", table" + f" {job.records:#x}" * (job.vector in MAPS)
    if job.vector is not None:
        b = f", b@{job.b:#x}+{job.ldb}" if job.b else ""
        if job.vector in MAPS:
            zeros, factors = (", ".join(map(str, one)) for one in (job.zeros, job.factors))
            b += f", zeros {zeros}, factors {factors}"
        a = f"a[{job.m}x{job.n}]@{job.a:#x}+{job.lda}"
        if job.window is not None:
            bias = "" if job.bias is None else f" + {job.bias:#x}"
            a = f"{_window(job.window)}@{job.a:#x}+{job.lda}, b[{job.k}]@{job.b:#x}{bias}"
            b = ""
        return f"c[{job.m}x{job.n}]@{job.c:#x}+{job.ldc} = {job.vector} {a}{b}; {scale}"
    bias = "" if job.bias is None else f" + {job.bias:#x}"
    order = " by columns" if job.by_columns else ""
    windows = "" if job.window is None else f" of {_window(job.window)}"
    packed = " packed" if job.packed else ""
    scale = (
        f"groups by {job.a_scales:#x}+{job.ldsa}, {job.b_scales:#x}+{job.ldsb}"
        if (job.ldsb)
        else scale
    )
    return (
        f"c[{job.m}x{job.n}]@{job.c:#x}+{job.ldc} = a[{job.m}x{job.k}]{windows}@{job.a:#x}"
        f"+{job.lda} x b[{job.k}x{job.n}]@{job.b:#x}+{job.ldb}{packed}{bias}; {scale};"
        f" blocks {job.block_m}x{job.block_n}x{job.block_k}{order}"
    )


def _window(window: Window) -> str:
    """Say of what windows a matrix is made."""
    parts = [
        f"{window.height}x{window.width}x{window.channels}+{window.pixel}",
        f"kernel {_two(window.kernel)}",
        *(
            f"{name} {_two(values)}"
            for name, values, usual in (
                ("strides", window.strides, (1, 1)),
                ("dilations", window.dilations, (1, 1)),
                ("pads", window.first, (0, 0)),
            )
            if values != usual
        ),
    ]
    return " ".join([*parts, *([f"fill {window.fill}"] if window.fill else [])])


def _two(values: tuple[int, int]) -> str:
    return f"{values[0]}x{values[1]}"
