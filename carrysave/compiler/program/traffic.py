"""Bytes that a program's jobs move on the bus, and those that any schedule of them has to."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Move, Start
from carrysave.compiler.timing.golden_job import golden_job
from golden.soc.job_check import matrices

__all__ = ["Traffic", "traffic_of"]


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes on the bus, by the cost model; none of descriptors or records.

    Members
    -------
    bytes : of all jobs.
    compulsory : of these, what comes from no job, each byte once, and what others than jobs read:
        outputs of the program.
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
    spec = program.target.spec
    starts = [one for one in steps if isinstance(one, Start)]
    written, taken = np.zeros((2, program.image.end), bool)
    moved = 0
    for group in (group for start in starts for group in start.groups):
        moved += group.count * moved_bytes(group.job, program.target)
        for job in group.jobs:
            there = matrices(spec, golden_job(job, spec))
            for name, one in there.items():
                if name in ("c", "records") or one.address >= spec.scratch_base:
                    continue
                rows = np.arange(min(one.rows, job.m)) if job.vector == "gather" else None
                places = one.places(rows if name == "a" else None)
                taken[places[~written[places]]] = True
            if there["c"].address < spec.scratch_base:
                written[there["c"].places()] = True
    ends = [program.tensors[name].sources for name in program.outputs if name in program.tensors]
    made = sum(int(np.unique(places[places >= 0]).size) for places in ends)
    return Traffic(bytes=moved, compulsory=int(np.count_nonzero(taken)) + made)
