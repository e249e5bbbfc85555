"""Jobs of an encoder for the simulated block: a layer in full, and a part of each other one."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.blocks import planned
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.cost import cycles_of
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.driver.system import counters_of
from golden.soc.coprocessor import coprocessor
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix, Space

__all__ = ["SIMULATIONS", "Part", "parts", "simulated"]

SIMULATIONS = ("layer", "sample", "none")
"""Simulate the first layer in full, and a part of a job of each kind of each other; parts alone."""
_LAYER = "0"
_ROWS = 8
_COLUMNS = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A job, or some rows and columns of one.

    Members
    -------
    layer : of the job.
    c : where its codes go in the program of parts.
    expected : bytes of them that golden made, by rows.
    modelled : cycles of a job, see :func:`carrysave.compiler.program.cost.cycles_of`; of a part
        None.
    """

    layer: str
    c: Buffer
    expected: np.ndarray
    modelled: int | None = None


def parts(program: Program, simulation: str) -> tuple[Program, list[Part]]:
    """Run a program by golden; return a program of what of it is simulated.

    Parameters
    ----------
    program : without steps of the host.
    simulation : one of :data:`SIMULATIONS` but none.
    """
    target, spec = program.target, program.target.spec
    space = Space(
        memory=program.memory.copy(),
        scratch=np.zeros(spec.scratch, np.uint8),
        base=spec.scratch_base,
    )
    image = Image(target)
    found: list[Part] = []
    seen: set[tuple[str, str]] = set()
    for step in program.steps:
        assert isinstance(step, Start)
        whole = simulation == "layer" and step.node.partition(".")[0] == _LAYER
        for job in step.jobs:
            chosen = whole or (step.node, step.operator) not in seen
            seen.add((step.node, step.operator))
            own = job if whole else _less(job, target)
            if chosen:
                copied, c = _copied(image, step.node, own, space, target)
            error = coprocessor(spec, space.memory, golden_job(job, spec), space.scratch)
            assert not error, f"{step.node}: {error.name}"
            if not chosen:
                continue
            expected = _bytes(space, matrices(spec, golden_job(own, spec))["c"])
            modelled = cycles_of(job, target) if whole else None
            found.append(Part(layer=step.node, c=c, expected=expected, modelled=modelled))
            image.steps.append(Start(
                node=step.node, operator=step.operator, groups=(JobGroup(job=copied),), macs=0,
                cycles=cycles_of(copied, target), counters=image.room(COUNTERS),
            ))  # fmt: skip
    return assembled(image, [image.steps]), found


def simulated(
    program: Program, found: list[Part], folder: Path
) -> tuple[list[dict[str, int]], list[str]]:
    """Run a program of parts on the simulated block.

    Returns
    -------
    Counters of each part, and the layers whose codes are not as expected, once each.
    """
    memory = program.memory.copy()
    by_block(program, memory, folder)(program.sections[0])
    starts: list[Any] = [*program.steps]
    counters = [counters_of(memory, [step.counters]) for step in starts]
    return counters, wrong(found, memory)


def wrong(parts: list[Part], memory: np.ndarray) -> list[str]:
    """Return the layers of parts whose codes in memory are not as expected, once each."""
    return list(
        dict.fromkeys(
            part.layer
            for part in parts
            if not np.array_equal(part.c.rows_of(memory), part.expected)
        )
    )


def _less(job: Job, target: Target) -> Job:
    """Take the first rows, of a product's weights the first columns."""
    less = replace(job, m=min(job.m, _ROWS))
    if job.vector is not None:
        return replace(less, ldb=0) if less.m == 1 and job.vector != "scale" else less
    less = replace(less, n=min(job.n, _COLUMNS))
    return planned(less, target)


def _copied(image: Image, name: str, job: Job, space: Space, target: Target) -> tuple[Job, Buffer]:
    """Return a job on copies of what it reads, and where its codes go."""
    operands = matrices(target.spec, golden_job(job, target.spec))
    copies: dict[str, Any] = {}
    if job.vector == "gather":
        # Of a table the rows that are taken.
        used, numbers = np.unique(space.load(operands["b"])[:, 0], return_inverse=True)
        b = image.place(f"{name}.b", numbers.reshape(-1, 1), 32)
        table = space.memory[operands["a"].places(used)]
        operands = {"c": operands["c"]}
        a = _put(image, f"{name}.a", table)
        copies = {"a": a.address, "lda": a.stride, "b": b.address, "ldb": b.stride, "k": len(used)}
    for side, matrix in operands.items():
        if side == "c":
            continue
        own = replace(matrix, rows=1) if side == "b" and not matrix.distance else matrix
        buffer = _put(image, f"{name}.{side}", _bytes(space, own))
        copies[side] = buffer.address
        if matrix.distance:
            copies[f"ld{side}"] = buffer.stride
    made = operands["c"]
    c = image.reserve(
        name, made.rows, made.columns, made.bits, stride=image.stride(made.bits, made.columns)
    )
    return replace(job, **copies, c=c.address, ldc=c.stride), c


def _bytes(space: Space, matrix: Matrix) -> np.ndarray:
    near = matrix.address >= space.base
    memory = space.scratch if near else space.memory
    return memory[matrix.places() - (space.base if near else 0)]


def _put(image: Image, name: str, data: np.ndarray) -> Buffer:
    return image.aligned(name, data.view(np.int8), 8)
