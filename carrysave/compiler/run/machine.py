"""What multiplies while a network runs: the golden model, which remembers what to simulate."""

from collections import deque

import numpy as np

from carrysave.compiler.graph.tensors import let_go
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.heads import Heads
from carrysave.compiler.lowered.operands import Compiled, Operands
from carrysave.compiler.program.cost import spent_by_all
from carrysave.compiler.run.alone import Alone, of_work, product_job
from carrysave.compiler.run.heads import HeadsRun, macs_of
from carrysave.compiler.run.results import ProductRun
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.packed import packs
from carrysave.driver.batch import Work
from carrysave.driver.job import Job

__all__ = ["Machine"]

_CYCLES = 6_000
"""Approximate cycles of a sample."""


class Machine:
    """Multiplies by the golden model, and records the works to simulate.

    Members
    -------
    layers : products of the first batch, by name.
    jobs : those to simulate, whose `kind` is the name of the product, with the bytes of their C.
    first : this is the first batch.
    """

    def __init__(
        self, target: Target, in_hardware: bool, simulation: str, *, remember: bool
    ) -> None:
        self.target = target
        self.simulation = simulation
        self.layers: dict[str, ProductRun] = {}
        self.jobs: list[tuple[Alone, np.ndarray]] = []
        self.first = True
        self._in_hardware = in_hardware
        self._remember = remember
        self._made: dict[str, deque[tuple[Operands, tuple[np.ndarray | None, ...], np.ndarray]]]
        self._made = {}

    def begin(self, *, first: bool) -> None:
        """Begin a batch."""
        self.first = first
        self._made.clear()

    def multiply(self, product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        """Make y."""
        return self._y(product, a, b)

    def _y(
        self, product: Operands, a: np.ndarray, b: np.ndarray | None, *, remember: bool = True
    ) -> np.ndarray:
        if isinstance(product, Heads) and b is not None:
            return self._heads(product, a, b, remember=remember)[0]
        return self._multiply(product, a, b, remember=remember)[2]

    def again(self, product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        """Return y, which has been computed if the codes are those of before.

        A recurrent layer has as many products of a name as steps, in the same order each time.
        """
        made = self._made.get(product.name)
        if not made:
            return self._y(product, a, b, remember=False)
        before, operands, y = made.popleft()
        same = all(
            getattr(before, name, 0) is getattr(product, name, 0)
            or np.array_equal(getattr(before, name, 0), getattr(product, name, 0))
            for name in ("a_zero", "b_zero", "weights", "first", "factors")
        )
        same = same and all(
            one is other or (one is not None and other is not None and np.array_equal(one, other))
            for one, other in zip(operands, (a, b), strict=True)
        )
        return y if same else self._y(product, a, b, remember=False)

    def keep(self, product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        """Compute y, and record its works."""
        if isinstance(product, Heads) and b is not None:
            return self._keep_heads(product, a, b)
        compiled, results, y = self._multiply(product, a, b)
        if not compiled.works:  # of no rows
            return y
        name, target = product.name, self.target
        if self.first or name not in self.layers:
            jobs = [product_job(work, target) for work in compiled.works]
            if packs(jobs[0], target):
                jobs = [of_work(name, work, target).packed(target).job for work in compiled.works]
            costs, peak = spent_by_all(jobs, target), target.peak(compiled.works[-1].mode)
            rows = sum(job.m for job in jobs)
            entry = ProductRun(
                product, _shapes(jobs, compiled.works), compiled.macs, peak, costs, rows
            )
            before = self.layers.get(name)
            # A recurrent layer multiplies at every step.
            self.layers[name] = entry if before is None else before.with_more(entry)
        # Works of a product are alike: sample the first, with one that goes on with its sums.
        goes_on = [work.goes_on for work in compiled.works[1:]]
        last = {"all": len(results), "sample": 1 + sum(goes_on[:1]), "none": 0}[self.simulation]
        existing: np.ndarray | None = None
        for work, result in zip(compiled.works[:last], results, strict=False):
            one, existing = of_work(name, work, target, existing), result
            one = one if self.simulation == "all" else one.within(_CYCLES, target)
            one = one.packed(target)
            self.jobs.append((one, one.bytes_of(result[: one.job.m], target)))
        return y

    def _keep_heads(self, product: Heads, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Compute heads of attention, and record their jobs."""
        y, done = self._heads(product, a, b)
        jobs = [one.job for one, _ in done]
        if self.first or product.name not in self.layers:
            # Those of what zero points add have no codes as results.
            products = [one for one in jobs if one.vector is None and one.requantisation]
            shapes = [(job.m, job.k, job.n) for job in products]
            macs, peak = macs_of(product, a, b), self.target.peak(None)
            rows = sum(job.m for job in jobs)
            costs = spent_by_all(jobs, self.target)
            entry = ProductRun(product, shapes, macs, peak, costs, rows)
            before = self.layers.get(product.name)
            self.layers[product.name] = entry if before is None else before.with_more(entry)
        # Heads are alike: sample the first job of each kind.
        kinds = {(one.job.vector, one.job.ldsa > 0): (one, made) for one, made in done[::-1]}
        some = {"all": done, "sample": list(kinds.values()), "none": []}[self.simulation]
        for one, made in some:
            short = one if self.simulation == "all" else one.within(_CYCLES, self.target)
            self.jobs.append((short, made[: short.job.m]))
        return y

    def _heads(
        self, product: Heads, a: np.ndarray, b: np.ndarray, *, remember: bool = True
    ) -> tuple[np.ndarray, list[tuple[Alone, np.ndarray]]]:
        made = list(HeadsRun(target=self.target, heads=product, queries=a, others=b).run())
        y = np.stack([results for results, _ in made]).reshape(*a.shape[:3], -1)
        if self._remember and remember:
            self._made.setdefault(product.name, deque()).append((product, (a, b), y))
        return y, [one for _, done in made for one in done]

    def _multiply(
        self, product: Operands, a: np.ndarray, b: np.ndarray | None, *, remember: bool = True
    ) -> tuple[Compiled, list[np.ndarray], np.ndarray]:
        compiled = product.compile(self.target, a, b, self._in_hardware)
        results = golden.run(self.target.spec, compiled.works)
        y = compiled.finish(results)
        if self._remember and remember:
            self._made.setdefault(product.name, deque()).append((product, (a, b), y))
        let_go(product.weights)
        return compiled, results, y


def _shapes(jobs: list[Job], works: list[Work]) -> list[tuple[int, int, int]]:
    """Return M, K and N of jobs; those that go on with another's sums count as one with it."""
    shapes: list[tuple[int, int, int]] = []
    for job, work in zip(jobs, works, strict=True):
        before = shapes.pop()[1] if work.goes_on else 0
        shapes.append((job.m, before + job.k, job.n))
    return shapes
