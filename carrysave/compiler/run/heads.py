"""Heads of attention as they run: their jobs by golden, one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.lowered.heads import Heads
from carrysave.compiler.program.head_jobs import HeadRooms, add_head, rooms_of
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.alone import Alone, of_job
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver.job import Job
from golden.soc.coprocessor import coprocessor
from golden.soc.job_check import matrices
from golden.soc.memory import Space

__all__ = ["HeadsRun", "macs_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Built:
    """The jobs of a head, and where its operands are."""

    image: Image
    rooms: HeadRooms
    jobs: list[Job]

    def memory(self) -> np.ndarray:
        """Return the memory before the jobs run."""
        memory = np.zeros(self.image.end, np.uint8)
        for at, data in self.image.parts.items():
            memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        return memory


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadsRun:
    """Heads of a node on some operands.

    Parameters
    ----------
    target : the co-processor.
    heads : how they are computed.
    queries : integers of the engine, batch x heads x rows x width.
    others : keys, and values beside them, batch x heads of keys x keys x both.
    """

    target: Target
    heads: Heads
    queries: np.ndarray
    others: np.ndarray

    def run(self) -> Iterator[tuple[np.ndarray, list[tuple[Alone, np.ndarray]]]]:
        """Yield the results of each head, and its jobs with the bytes of C of each."""
        heads, sizes = self.heads, self.heads.sizes(self.queries, self.others)
        group = self.queries.shape[1] // heads.key_heads
        built: dict[bytes, _Built] = {}
        for batch, head in np.ndindex(*self.queries.shape[:2]):
            mask = heads.mask_of(batch, head)
            key = b"" if mask is None else mask.tobytes()
            if key not in built:
                image = Image(self.target)
                rooms = rooms_of(image, heads, sizes)
                add_head(image, heads, rooms, mask)
                built[key] = _Built(
                    image=image,
                    rooms=rooms,
                    jobs=[
                        job for step in image.steps if isinstance(step, Start) for job in step.jobs
                    ],
                )
            one, memory = built[key], built[key].memory()
            both = self.others[batch, head // group]
            one.rooms.queries.write(memory, self.queries[batch, head])
            one.rooms.keys.write(memory, both[:, : sizes.width].T)
            one.rooms.values.write(memory, both[:, sizes.width :])
            done = [self._done(job, memory) for job in one.jobs]
            yield one.rooms.context.read(memory)[:, : sizes.value_width], done

    def _done(self, job: Job, memory: np.ndarray) -> tuple[Alone, np.ndarray]:
        """Run a job; return it with its operands, and the bytes of C."""
        spec, name = self.target.spec, self.heads.name
        space = Space(memory=memory, scratch=np.zeros(0, np.uint8), base=spec.scratch_base)
        alone, placed = of_job(name, job, space, self.target), golden_job(job, spec)
        if error := coprocessor(spec, memory, placed):
            raise ValueError(
                f"the co-processor cannot do {job.vector or 'a product'}: {error.name}"
            )
        return alone, memory[matrices(spec, placed)["c"].places()]


def macs_of(heads: Heads, queries: np.ndarray, others: np.ndarray) -> int:
    """Return the products that heads need: of each query with the keys that it sees, and values."""
    sizes = heads.sizes(queries, others)
    pairs = queries.shape[0] * queries.shape[1] * sizes.rows * sizes.keys
    if heads.mask is not None:
        pairs = pairs * int(np.isfinite(heads.mask).sum()) // heads.mask.size
    return pairs * (sizes.width + sizes.value_width)
