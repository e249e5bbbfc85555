"""Jobs in slots of memory: rings of them are run, and every byte is compared with the twin's."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.host import Host, descriptors
from carrysave.sim.cocotb.streams import SCHEDULES, generator, schedule
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from verif.soc.benches.jobs import any_job
from verif.soc.uvm.orders import moved

__all__ = ["Slots"]


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Memory of a bench: a slot for each job of a ring, and one for their descriptors.

    Members
    -------
    spec : of the co-processor.
    slot : bytes of one.
    jobs : most of a ring.
    likely : share of options that a job has.
    seed : of what is drawn; stalls have the next one.
    """

    spec: CoprocessorSpec
    slot: int
    jobs: int
    likely: float
    seed: int

    @property
    def size(self) -> int:
        """Bytes of the memory."""
        return self.slot * (self.jobs + 1)

    async def start(
        self, dut: Any, kind: str, number: int
    ) -> tuple[Host, Memory, np.random.Generator]:
        """Reset the system, behind a memory with a latency and stalls of a kind."""
        rng = generator(self.seed + number, list(SCHEDULES).index(kind))
        stalls = {
            channel: schedule(kind, generator(self.seed + 1, i))
            for i, channel in enumerate(CHANNELS)
        }
        latency = int(rng.integers(40))
        host, memory = await system.start(dut, size=self.size, latency=latency, stalls=stalls)
        return host, memory, rng

    def job(self, rng: np.random.Generator, slot: int) -> Job:
        """Draw any product of the build that a slot has room for."""
        while True:
            job = any_job(self.spec, rng, self.likely)
            if max(matrix.end for matrix in matrices(self.spec, job).values()) <= self.slot:
                return moved(job, slot * self.slot)

    async def begin(self, host: Host, memory: Memory, jobs: list[Job]) -> None:
        """Start jobs as a ring, or the one there is in the registers."""
        if not self.spec.follows_ring:
            await host.start(jobs[0])
            return
        image = np.frombuffer(descriptors(jobs, self.spec.sum_bytes), np.uint8)
        memory.data[-len(image) :] = image
        await host.start_ring(self.size - len(image), len(jobs))

    async def run(self, host: Host, memory: Memory, jobs: list[Job]) -> None:
        """Run jobs that are right."""
        expected = memory.data[: self.jobs * self.slot].copy()
        assert not any(coprocessor(self.spec, expected, job) for job in jobs)
        await self.begin(host, memory, jobs)
        code = await host.wait()
        assert code == Error.NONE, (code, jobs)
        wrong = np.flatnonzero(memory.data[: self.jobs * self.slot] != expected)
        assert not len(wrong), (jobs, wrong[:8], expected[wrong[:8]], memory.data[wrong[:8]])
