"""Replays a program's jobs byte by byte: who wrote what is read. Has nothing of the planner."""

from typing import Any

import numpy as np
import onnx

from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.driver.job import Job

__all__ = ["replay"]

CHIP = 1 << 31
_NOBODY, _BEFORE = -1, 0


def _places(address: int, rows: int, stride: int, size: int) -> np.ndarray:
    return (address + stride * np.arange(rows)[:, None] + np.arange(size)).reshape(-1)


def _read(job: Job) -> dict[str, np.ndarray]:
    """Return the bytes of A and B of a job of int8 codes."""
    if job.vector in (None, "depthwise"):
        deep = (1, job.k) if job.vector else (job.k, job.n)
        read = {"b": _places(job.b, deep[0], job.ldb, deep[1])}
        if job.window is None:
            return read | {"a": _places(job.a, job.m, job.lda, job.k)}
        window = job.window
        pixels = job.a + window.pixel * np.arange(window.width)[:, None]
        across = (pixels + np.arange(window.channels)).reshape(-1)
        lines = job.lda * np.arange(window.height)[:, None] + across
        return read | {"a": lines.reshape(-1)}
    read = {"a": _places(job.a, job.m, job.lda, job.n * (job.a_format + 1))}
    if job.ldb:
        read["b"] = _places(job.b, job.m, job.ldb, job.n * (job.a_format + 1))
    return read


def replay(program: Program, model: onnx.ModelProto) -> int:
    """Check each byte that a job reads or writes; return how many were read.

    It has to be on chip, or in memory; and its last writer is a node whose output the model's node
    takes, the node itself, or nobody if it is memory's from the begin. On chip that is nothing.
    """
    size = program.target.design.parameters["scratch"]
    chip = np.full(int(size), _NOBODY)
    memory = np.full(program.image.end, _BEFORE)
    numbers = {node.name or node.output[0]: at for at, node in enumerate(model.graph.node, 1)}
    makes = {to: at for at, node in enumerate(model.graph.node, 1) for to in node.output}
    takes = {
        at: {makes[name] for name in node.input if name in makes}
        for at, node in enumerate(model.graph.node, 1)
    }
    count = 0

    def of(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near = places >= CHIP
        assert near.all() or not near.any(), "a matrix is in part on chip"
        where = chip if near.all() else memory
        at = places - CHIP * near
        assert at.min() >= 0
        assert at.max() < len(where), "a matrix is beyond what there is"
        return where, at

    for step in program.steps:
        assert isinstance(step, Start)
        node = numbers[step.node]
        for job in step.jobs:
            read = _read(job)
            for name, places in read.items():
                where, at = of(places)
                legal = {node, *takes[node], *({_BEFORE} if where is memory else ())}
                writers = {int(one) for one in np.unique(where[at])}
                assert writers <= legal, f"{step.node}: {name} is of {writers - legal}"
                count += at.size
            wide = 1 if job.requantisation is not None else 4
            made = _places(job.c, job.m, job.ldc, job.n * (job.c_bytes or wide))
            if job.vector is None:
                for places in read.values():
                    assert not np.intersect1d(made, places).size, "a product overlaps what it reads"
            where, at = of(made)
            where[at] = node
    for name in program.outputs:
        sources: Any = program.tensors[name].sources
        assert set(np.unique(memory[sources]).tolist()) == {makes[name]}
    return count
