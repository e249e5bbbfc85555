"""A network from inputs to outputs: computed, simulated, compared, measured."""

import time
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.front.samples import Samples
from carrysave.compiler.graph.tensors import let_go
from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.evaluate import evaluate
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Compiled, Operands
from carrysave.compiler.program.cost import spent_by_all
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.run.alone import Alone, Block, of_work, product_job
from carrysave.compiler.run.compare import Comparison
from carrysave.compiler.run.results import ProductRun, Run
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.packed import packs
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.errors import installed
from carrysave.progress import Steps

__all__ = ["SIMULATIONS", "RunSettings", "run"]

SIMULATIONS = ("all", "sample", "none")
"""Simulate every product of every input; some rows of each product of the first batch; none."""

_CYCLES = 6_000
"""Approximate cycles of a sample."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a network runs.

    Members
    -------
    batch : inputs of one batch.
    simulation : one of :data:`SIMULATIONS`.
    in_hardware : the co-processor requantises; else the host, as onnxruntime does.
    block : what part of the products runs on, besides the golden model.
    compare : with onnxruntime, which takes the whole model into memory.
    """

    batch: int
    simulation: str
    in_hardware: bool
    block: Block
    compare: bool = True


def run(
    lowered: Lowered,
    target: Target,
    inputs: dict[str, np.ndarray],
    samples: Samples,
    settings: RunSettings,
    steps: Steps,
    whole: Lowered | None = None,
) -> Run:
    """Run a network.

    Parameters
    ----------
    lowered, target : the network, compiled for a co-processor.
    inputs : by name, and the first of each state.
    samples : where samples are in inputs and outputs.
    settings, steps : how it runs, and progress.
    whole : the same before operators became tables, for the comparison of each; None: there are
        no tables.
    """
    count, batch, simulation = samples.count(inputs), settings.batch, settings.simulation
    compare = settings.compare and installed("onnxruntime")
    comparison = Comparison(whole or lowered) if compare else None
    machine = _Machine(target, settings.in_hardware, simulation, remember=compare)
    made: list[dict[str, np.ndarray]] = []
    expected: list[dict[str, np.ndarray]] = []
    states: dict[str, np.ndarray] = {}
    expected_states: dict[str, np.ndarray] = {}
    host: Counter[str] = Counter()
    seconds = dict.fromkeys(("golden", "oracle", "simulation"), 0.0)
    for start in range(0, count, batch):
        steps.step(f"compute inputs {start + 1} to {min(start + batch, count)} of {count}")
        part = samples.part(inputs, start, batch) | states
        began = time.monotonic()
        keep = start == 0 or simulation == "all"
        machine.begin(first=start == 0)
        counts = host if start == 0 else None
        multiply = machine.keep if keep else machine.multiply
        made.append(evaluate(lowered, part, multiply, host=counts))
        middle = time.monotonic()
        samples.check(made[-1], min(batch, count - start))
        states = samples.after(part, made[-1])
        if comparison is not None:
            # Its states are not those of the golden model.
            expected.append(comparison.run(part | expected_states, machine.again))
            expected_states = samples.after(part, expected[-1])
        seconds["golden"] += middle - began
        seconds["oracle"] += time.monotonic() - middle

    began = time.monotonic()
    wrong = _on_block(machine, settings.block, steps)
    seconds["simulation"] = time.monotonic() - began
    layers = list(machine.layers.values())
    outputs = samples.joined(made)
    reference = samples.joined(expected) if comparison is not None else None
    return Run(
        outputs, reference, layers, comparison, count, batch, simulation, wrong, dict(host),
        seconds, samples.outputs,
    )  # fmt: skip


class _Machine:
    """Multiplies by the golden model, and records the works to simulate.

    Members
    -------
    layers : products of the first batch, by name.
    jobs : those to simulate, whose `kind` is the name of the product, with their results.
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
        return self._multiply(product, a, b)[2]

    def again(self, product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        """Return y, which has been computed if the codes are those of before.

        A recurrent layer has as many products of a name as steps, in the same order each time.
        """
        made = self._made.get(product.name)
        if not made:
            return self._multiply(product, a, b, remember=False)[2]
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
        return y if same else self._multiply(product, a, b, remember=False)[2]

    def keep(self, product: Operands, a: np.ndarray, b: np.ndarray | None) -> np.ndarray:
        """Compute y, and record its works."""
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
            self.jobs.append((one, result[: one.job.m]))
        return y

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


def _on_block(machine: _Machine, block: Block, steps: Steps) -> list[str]:
    """Run jobs on the block, through its driver; return the wrong products."""
    target, some = machine.target, machine.jobs
    if not some:
        return []
    steps.step(f"run {len(some)} products on {target.design.module}")
    jobs = [(one.job, one.rows) for one, _ in some]
    made = block(jobs, lambda done: steps.advance(done, len(jobs)))
    wrong: dict[str, None] = {}
    for (one, result), (c, counters) in zip(some, made, strict=True):
        layer = machine.layers[one.kind]
        layer.simulated += one.job.m
        layer.modelled += cycles_of(one.job, target)
        layer.cycles += counters.cycles
        if not np.array_equal(c, one.bytes_of(result, target)):
            wrong[one.kind] = None
    return list(wrong)
