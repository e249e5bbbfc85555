"""Drawing orders: from bins of coverage to jobs in memory, and what is wrong with them."""

import random
from dataclasses import replace
from typing import Any

import numpy as np

from golden.soc.coprocessor import CoprocessorSpec, Job, matrices
from verif.soc.uvm.coverage import Values
from verif.soc.uvm.modes import MODES
from verif.soc.uvm.orders import DESCRIPTOR, MEMORY, Order, Task, moved
from verif.soc.uvm.place import PAGE, Placer, placing_of
from verif.soc.uvm.points import FAULTS, shapes_of
from verif.soc.uvm.predictor import WAYS, first_fault
from verif.soc.uvm.refusals import REFUSALS, RING_REFUSALS, bad_rings, refused

__all__ = ["Drawer"]


class Drawer:
    """Draws orders.

    Parameters
    ----------
    spec : the build.
    seed : of all that is random.
    """

    def __init__(self, spec: CoprocessorSpec, seed: int) -> None:
        self.spec = spec
        self.rng = np.random.default_rng(seed)
        self.choice = random.Random(seed)

    def order(self, values: Values) -> Order:
        """Draw an order that is in all of these bins."""
        while True:
            order = self._order(values)
            found = matrices(self.spec, moved(order.good, -order.base))
            if placing_of(self.spec, [found[name] for name in "abc"]) == values["placing"]:
                return order

    def job(self, values: Values, placer: Placer) -> Job:
        """Draw a good job of these bins, at addresses from 0 on."""
        shape = (values[name] for name in ("blocks", "m", "n", "k"))
        (m, n, k), blocks = shapes_of(self.spec).draw(self.choice, *shape)
        more: dict[str, Any] = MODES[values["mode"]].fields(self.rng)
        more |= dict(zip(("block_m", "block_n", "block_k"), blocks, strict=True))
        job = Job(
            a=0,
            b=0,
            c=0,
            m=m,
            n=n,
            k=k,
            lda=0,
            ldb=0,
            ldc=0,
            by_columns=values["order"] == "columns",
            **more,
        )
        return placer.job(job, values["placing"])

    def base(self, region: str) -> int:
        """First address of memory in a region."""
        width = self.spec.address_width
        border = 1 << (32 if width > 32 else width - 1)
        bases = {"low": 0, "border": border - MEMORY // 2, "top": (1 << width) - MEMORY}
        return bases[region]

    def _order(self, values: Values) -> Order:
        placer = Placer(self.rng, self.spec)
        others = self.choice.randrange(3) if values["start"] == "ring" else 0
        easy = values | {"m": "one", "k": "one", "mode": "sums", "placing": "bytes"}
        jobs = [self.job(easy, placer) for _ in range(others)]
        # What is about memory's first descriptor has no other job before it.
        failing = 0 if values["error"] in RING_REFUSALS else self.choice.randint(0, others)
        jobs.insert(failing, self.job(values, placer))
        ring = placer.ring(len(jobs), DESCRIPTOR) if values["start"] == "ring" else None
        assert placer.free <= MEMORY, "the matrices do not fit into the memory"
        start = self._shift(values, jobs, placer.free)
        jobs = [moved(job, start) for job in jobs]
        if ring is not None:
            ring += start
        return self._spoil(
            Order(
                tasks=tuple(map(Task, jobs)),
                good=jobs[failing],
                mode=values["mode"],
                error=values["error"],
                failing=failing,
                ring=ring,
                base=self.base(values["region"]),
                speed=values["speed"],
            )
        )

    def _shift(self, values: Values, jobs: list[Job], free: int) -> int:
        """Choose by how much all is moved: across the border, or up to the last byte."""
        step = {"pages": PAGE, "beats": self.spec.bytes}.get(values["placing"], 1)
        if values["start"] == "ring":
            step = max(step, self.spec.bytes)
        most = MEMORY - free
        if values["region"] == "border":
            most = min(most, MEMORY // 2)
            least = max(MEMORY // 2 - free, 0)
            return self.choice.randint(-(-least // step), most // step) * step
        return (
            self.choice.choice((0, 1)) * (most // step * step) if values["region"] == "top" else 0
        )

    def _spoil(self, order: Order) -> Order:
        """Move it to where memory is, and make go wrong what shall."""
        spec, rng, error = self.spec, self.choice, order.error
        tasks = [Task(moved(task.job, order.base)) for task in order.tasks]
        good = tasks[order.failing].job
        ring = None if order.ring is None else order.ring + order.base
        order = replace(order, tasks=tuple(tasks), good=good, ring=ring)
        if error in REFUSALS:
            tasks[order.failing] = rng.choice(refused(spec, good, error))
            return replace(order, tasks=tuple(tasks))
        if error in RING_REFUSALS:
            assert ring is not None
            return replace(order, ring=rng.choice(bad_rings(spec, ring, len(tasks), error)))
        if error in FAULTS:
            way, response = FAULTS[error]
            while True:
                address = self._address(order, way)
                faults = {"w" if way == "write" else "r": {address: response}}
                order = replace(order, faults=faults)
                # The beat may be one of another job's too.
                if first_fault(spec, order) == (order.failing, WAYS[way]):
                    return order
        return order

    def _address(self, order: Order, way: str) -> int:
        """Choose a beat of what is on its way."""
        rng, beat = self.choice, self.spec.bytes
        if way == "ring":
            assert order.ring is not None
            return (
                order.ring + DESCRIPTOR * order.failing + beat * rng.randrange(DESCRIPTOR // beat)
            )
        found = matrices(self.spec, order.good)
        names = ["c"] if way == "write" else [name for name in found if name != "c"]
        matrix = found[rng.choice(names)]
        address = matrix.address + rng.randrange(matrix.rows) * matrix.distance
        return (address + rng.randrange(matrix.row_bytes)) // beat * beat
