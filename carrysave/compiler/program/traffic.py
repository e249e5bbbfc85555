"""Bytes that a program's jobs move on the bus, and those that any schedule of them has to."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import HostStep, Move, Start
from carrysave.compiler.timing.golden_job import CHIP, golden_job
from carrysave.driver.system import Tensor
from golden.soc.job_check import matrices

__all__ = ["Traffic", "traffic_of"]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes on the bus, by the cost model; none of descriptors or records.

    Members
    -------
    bytes : of all jobs.
    compulsory : of these, what comes from no job, each byte once, and what others than jobs read:
        outputs of the program, and what host segments take.
    """

    bytes: int
    compulsory: int

    @property
    def excess(self) -> int:
        """Bytes that a schedule with enough on chip would not move."""
        return self.bytes - self.compulsory


def traffic_of(program: Program) -> Traffic | None:
    """Return the bytes of a program; None: a parameter changes its jobs.

    A program with steps that are no jobs has none, either: which bytes these read is not counted.
    """
    steps = list(program.steps)
    if any(isinstance(one, Move | Floats) or getattr(one, "varies", ()) for one in steps):
        return None
    spec, tensors = program.target.spec, program.tensors
    written, taken, left = np.zeros((3, program.image.end), bool)
    moved = 0
    for step in steps:
        if isinstance(step, HostStep):
            for name in tensors.keys() & set(step.reads):
                left[_inside(tensors[name])] = True
            for name in tensors.keys() & set(step.writes):
                written[_inside(tensors[name])] = False
            continue
        assert isinstance(step, Start)
        moved += sum(one.count * moved_bytes(one.job, program.target) for one in step.groups)
        for job in step.jobs:
            there = matrices(spec, golden_job(job, spec))
            for name, one in there.items():
                if name in ("c", "records") or one.address >= spec.scratch_base:
                    continue
                rows = np.arange(min(one.rows, job.m)) if job.vector == "gather" else None
                places = one.places(rows if name == "a" else None)
                taken[places[~written[places]]] = True
            if there["c"].address < spec.scratch_base:
                written[there["c"].places()] = True
    for name in tensors.keys() & set(program.outputs):
        left[_inside(tensors[name])] = True
    made = int(np.count_nonzero(left & written))
    return Traffic(bytes=moved, compulsory=int(np.count_nonzero(taken)) + made)


def _inside(tensor: Tensor) -> np.ndarray:
    """Return where the codes of a tensor are in memory; none: it is on chip, or known."""
    places = tensor.sources.reshape(-1)
    return places[(places >= 0) & (places < CHIP)]
